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
)

// A step is a command on a page, with its expected output.
type step struct {
	line    int
	command string
	want    []string
}

// pagesThatRun are the pages with console blocks, and the minimum number of commands of each.
var pagesThatRun = map[string]int{
	"README.md":           4,
	"docs/tutorial.md":    10,
	"docs/many.md":        10,
	"docs/limits.md":      10,
	"docs/access.md":      10,
	"docs/http-apis.md":   8,
	"docs/connections.md": 12,
	"docs/console.md":     4,
}

// TestPages runs the commands of each page in its own shell, and compares their output with the page. There the line
// "..." stands for any lines, and "..." within a line for any text.
func TestPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "recourse"), "../../cmd/recourse")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, least := range pagesThatRun {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runPage(t, name, dir, least)
		})
	}
}

// runPage runs a page, and fails if it has fewer than least commands.
func runPage(t *testing.T, name, bin string, least int) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	ports := freePorts(t, string(page))
	steps := stepsOf(string(page))
	if len(steps) < least {
		t.Fatalf("%s has only %d commands", name, len(steps))
	}
	var script strings.Builder
	for i, s := range steps {
		fmt.Fprintf(&script, "%s\nx=$?; echo '@@%d'; (exit $x)\n", ports.Replace(s.command), i)
	}
	script.WriteString("exit 0\n")
	sections := strings.Split(ports.back.Replace(runScript(t, bin, script.String())), "@@")
	if len(sections) != len(steps)+1 {
		t.Fatalf("the shell ended after %d of %d commands:\n%s", len(sections)-1, len(steps), strings.Join(sections, "@@"))
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

// keepsRunning marks a command that does not end.
const keepsRunning = "# keeps running"

// stepsOf returns the commands in a page's console blocks, and the files in YAML blocks that begin with their name.
func stepsOf(page string) []step {
	var steps []step
	block, last := "", new(step)
	for i, line := range strings.Split(page, "\n") {
		name, isNamed := strings.CutPrefix(line, "# ")
		switch {
		case strings.HasPrefix(line, "```"):
			if strings.HasPrefix(last.command, "cat >") && block == "file" {
				last.command += "\nEND"
			}
			block = strings.TrimPrefix(line, "```")
			continue
		case block == "yaml" && isNamed && strings.HasSuffix(name, ".yaml"):
			block = "file"
			steps = append(steps, step{line: i + 1, command: "cat > " + name + " <<'END'"})
		case block == "yaml":
			block = ""
		case block == "file":
			last.command += "\n" + line
		case block != "console":
		case strings.HasPrefix(line, "$ ") && strings.Contains(line, keepsRunning):
			steps = append(steps, step{line: i + 1, command: line[2:strings.Index(line, keepsRunning)] +
				"> kept.log 2>&1 & until grep -qs serving kept.log; do sleep 0.1; done"})
		case strings.HasPrefix(line, "$ "):
			steps = append(steps, step{line: i + 1, command: line[2:]})
		case strings.HasPrefix(line, "> "):
			last.command += "\n" + line[2:]
		default:
			last.want = append(last.want, line)
		}
		if len(steps) > 0 {
			last = &steps[len(steps)-1]
		}
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

// runScript runs a script in bash and returns its output. All processes of the script end with the test.
func runScript(t *testing.T, bin, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "--norc")
	cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(script)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
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
