//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

// A step is a block of commands on a page, with its expected output.
type step struct {
	line    int
	command string
	want    []string
}

// pagesThatRun are the pages with sh blocks, and the minimum number of blocks of each.
var pagesThatRun = map[string]int{
	"README.md":           2,
	"docs/serving.md":     4,
	"docs/stripe.md":      5,
	"docs/team.md":        8,
	"docs/tutorial.md":    8,
	"docs/many.md":        7,
	"docs/limits.md":      4,
	"docs/access.md":      9,
	"docs/http-apis.md":   8,
	"docs/connections.md": 12,
	"docs/console.md":     2,
}

// TestPages runs the commands of each page in its own shell, where recourse is this binary, and compares their output with
// the page. There the line "..." stands for any lines, and "..." within a line for any text.
func TestPages(t *testing.T) {
	t.Parallel()
	for name, least := range pagesThatRun {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runPage(t, name, least)
		})
	}
}

// runPage runs a page, and fails if it has fewer than least commands.
func runPage(t *testing.T, name string, least int) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	ports := freePorts(t, string(page))
	steps := stepsOf(string(page))
	if len(steps) < least {
		t.Fatalf("%s has only %d blocks", name, len(steps))
	}
	var script strings.Builder
	for i, s := range steps {
		fmt.Fprintf(&script, "%s\nx=$?; echo '@@%d'; (exit $x)\n", ports.Replace(s.command), i)
	}
	script.WriteString("exit 0\n")
	dir := t.TempDir()
	if strings.Contains(script.String(), "npx ") { // finds what is installed
		if err := os.Symlink(filepath.Join(sdk.Node(t), "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
	}
	sections := strings.Split(ports.back.Replace(runScript(t, dir, script.String())), "@@")
	if len(sections) != len(steps)+1 {
		t.Fatalf("the shell ended after %d of %d blocks:\n%s", len(sections)-1, len(steps), strings.Join(sections, "@@"))
	}
	for i, s := range steps {
		printed := sections[i]
		if i > 0 { // after the number of the previous step
			_, printed, _ = strings.Cut(printed, "\n")
		}
		if !matches(s.want, printed) {
			t.Errorf("%s:%d: %s\nwant:\n%s\ngot:\n%s", name, s.line, s.command, strings.Join(s.want, "\n"), printed)
		}
	}
}

// pageBlock matches a fenced block: its language, its title, and its text.
var pageBlock = regexp.MustCompile("(?m)^```(\\w+)(?: title=\"(.*)\")?\n((?:.*\n)*?)```$")

// keepsRunning is the title of a block whose command does not end.
const keepsRunning = "keeps running"

// stepsOf returns the sh blocks of a page, each with the text block right behind it, which is what it prints, and the files in
// YAML blocks that begin with their name.
func stepsOf(page string) []step {
	var steps []step
	end := 0
	for _, m := range pageBlock.FindAllStringSubmatchIndex(page, -1) {
		language, text := page[m[2]:m[3]], page[m[6]:m[7]]
		s := step{line: 1 + strings.Count(page[:m[0]], "\n"), command: strings.TrimSuffix(text, "\n")}
		name, file, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
		switch {
		case language == "sh" && m[4] >= 0 && page[m[4]:m[5]] == keepsRunning:
			s.command += " > kept.log 2>&1 & until grep -qs serving kept.log; do sleep 0.1; done"
			steps = append(steps, s)
		case language == "sh":
			steps = append(steps, s)
		case language == "yaml" && strings.HasSuffix(name, ".yaml"):
			s.command = "cat > " + name + " <<'END'\n" + file + "END"
			steps = append(steps, s)
		case language == "text" && len(steps) > 0 && strings.TrimSpace(page[end:m[0]]) == "":
			steps[len(steps)-1].want = strings.Split(s.command, "\n")
		}
		end = m[1]
	}
	return steps
}

// matches reports whether text matches the lines of a page.
func matches(lines []string, text string) bool {
	var pattern strings.Builder
	for _, line := range lines {
		if line == "..." {
			pattern.WriteString(`(.*\n)*`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, ".*") + `\n`)
	}
	return regexp.MustCompile("^" + pattern.String() + "$").MatchString(text)
}

// runScript runs a script in bash, in dir, and returns its output. All processes of the script end with the test.
func runScript(t *testing.T, dir, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "--norc")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its children are in the group, too
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // leftover processes of the script
	}
	if err != nil {
		t.Fatalf("bash: %v\n%s", err, out.String())
	}
	return out.String()
}

// portMap replaces the page's ports with free ones, and back.
type portMap struct {
	*strings.Replacer

	back *strings.Replacer
}

// freePorts finds a free port for each port on the page.
func freePorts(t *testing.T, page string) portMap {
	t.Helper()
	var there, back []string
	seen := map[string]bool{}
	for _, found := range regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(page, -1) {
		if seen[found] {
			continue
		}
		seen[found] = true
		address := freeAddress(t)
		there, back = append(there, found, address), append(back, address, found)
	}
	return portMap{strings.NewReplacer(there...), strings.NewReplacer(back...)}
}
