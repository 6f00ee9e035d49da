package cli_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

var update = flag.Bool("update", false, "rewrite the stories' expected output")

// leaks runs the tests, then looks for leaked goroutines.
type leaks struct{ m *testing.M }

func (l leaks) Run() int {
	code := l.m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return code
}

func TestMain(m *testing.M) {
	testkit.Waiting()
	testscript.Main(leaks{m}, map[string]func(){
		"recourse": func() { os.Exit(cli.Main()) },
		"farmd":    func() { os.Exit(child.Main(os.Args[1:])) },
		"uvx":      func() { os.Exit(child.Main(os.Args[1:])) }, // no test gets a package from elsewhere
	})
}

// Stories are what users do, from the command line to the output.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Files: storyFiles(t, *update), UpdateScripts: *update,
		Setup: func(env *testscript.Env) error { return errors.Join(setFreeAddress(env), setRoot(env)) },
		Cmds:  map[string]func(*testscript.TestScript, bool, []string){"answers": answers, "oncerows": onceRows, "pinrows": pinRows},
	})
}

// Every command's help has an example, and a story runs it.
func TestHelpShowsAnExampleThatRuns(t *testing.T) {
	t.Parallel()
	stories := readStories(t)
	for _, command := range [][]string{
		{"init"},
		{"serve"},
		{"wrap"},
		{"install"},
		{"call"},
		{"inject"},
		{"inject", "run"},
		{"inject", "ls"},
		{"record"},
		{"replay"},
		{"tools"},
		{"failures"},
		{"once", "ls"},
		{"once", "show"},
		{"once", "settle"},
		{"explain"},
		{"config", "show"},
		{"schema"},
		{"completion"},
		{"demo"},
		{"version"},
		{"contract", "ls"},
		{"contract", "show"},
		{"contract", "lint"},
		{"contract", "schema"},
		{"contract", "diff"},
	} {
		t.Run(strings.Join(command, " "), func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			code := cli.Run(context.Background(), cli.Environment{Args: append(command, "--help"), Stdout: &out, Stderr: &out})
			if code != cli.ExitOK {
				t.Fatalf("exit code %d: %s", code, &out)
			}
			_, after, ok := strings.Cut(out.String(), "Example:\n\n    recourse ")
			if !ok {
				t.Fatalf("no example in:\n%s", &out)
			}
			example, _, _ := strings.Cut(after, "\n")
			if !strings.Contains(stories, "exec recourse "+example+"\n") && !strings.Contains(stories, "exec recourse "+example+" &") {
				t.Errorf("no story runs `recourse %s`", example)
			}
		})
	}
}

// storyFiles returns the names of the stories, or only of those that compare something with their own text.
func storyFiles(t *testing.T, comparing bool) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	return slices.DeleteFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return comparing && err == nil && !bytes.Contains(text, []byte("\ncmp "))
	})
}

func readStories(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, file := range storyFiles(t, false) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
