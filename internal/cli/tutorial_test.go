//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A step is a command of the tutorial, with what it prints.
type step struct {
	line    int
	command string
	want    []string
}

// TestTutorial runs the commands of docs/tutorial.md in one shell, and compares what they print with what it shows. A
// line that is "..." stands for any lines, and "..." in a line for any text.
func TestTutorial(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "tutorial.md"))
	if err != nil {
		t.Fatal(err)
	}
	ports := freePorts(t, string(page))
	steps := tutorialSteps(string(page))
	if len(steps) < 10 {
		t.Fatalf("docs/tutorial.md has %d commands", len(steps))
	}
	var script strings.Builder
	for i, s := range steps {
		fmt.Fprintf(&script, "%s\nx=$?; echo '@@%d'; (exit $x)\n", ports.Replace(s.command), i)
	}
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "bin", "recourse"), "../../cmd/recourse")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sections := strings.Split(ports.back.Replace(runScript(t, dir, script.String())), "@@")
	if len(sections) != len(steps)+1 {
		t.Fatalf("the shell ended after %d of %d commands:\n%s", len(sections)-1, len(steps), strings.Join(sections, "@@"))
	}
	for i, s := range steps {
		printed := sections[i]
		if i > 0 { // behind the number of the step before
			_, printed, _ = strings.Cut(printed, "\n")
		}
		if !matches(s.want, printed) {
			t.Errorf("docs/tutorial.md:%d: %s\nshows:\n%s\nbut it prints:\n%s", s.line, s.command, strings.Join(s.want, "\n"), printed)
		}
	}
}

// tutorialSteps returns the commands in the blocks of a page that are of a console.
func tutorialSteps(page string) []step {
	var steps []step
	inside := false
	for i, line := range strings.Split(page, "\n") {
		switch {
		case line == "```console":
			inside = true
		case line == "```":
			inside = false
		case !inside:
		case strings.HasPrefix(line, "$ "):
			steps = append(steps, step{line: i + 1, command: line[2:]})
		case strings.HasPrefix(line, "> "):
			steps[len(steps)-1].command += "\n" + line[2:]
		default:
			last := &steps[len(steps)-1]
			last.want = append(last.want, line)
		}
	}
	return steps
}

// matches reports whether a text is what the lines show.
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

// runScript runs a script in bash and returns what it prints. Whatever it has started ends with the test.
func runScript(t *testing.T, dir, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "--norc")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(script)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // of what it starts, too
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what the script has left running
	}
	if err != nil {
		t.Fatalf("bash: %v\n%s", err, out.String())
	}
	return out.String()
}

// portMap replaces the ports of the page by free ones, and back.
type portMap struct {
	*strings.Replacer

	back *strings.Replacer
}

// freePorts finds a free port for each that the page names.
func freePorts(t *testing.T, page string) portMap {
	t.Helper()
	var there, back []string
	var listeners []net.Listener
	seen := map[string]bool{}
	for _, found := range regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(page, -1) {
		if seen[found] {
			continue
		}
		seen[found] = true
		ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, ln) // until all are found, so that none is found twice
		there, back = append(there, found, ln.Addr().String()), append(back, ln.Addr().String(), found)
	}
	for _, ln := range listeners {
		_ = ln.Close()
	}
	return portMap{strings.NewReplacer(there...), strings.NewReplacer(back...)}
}
