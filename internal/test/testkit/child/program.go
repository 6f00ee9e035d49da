package child

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A Program is a child as a server's command: the faults of its processes, and what they have done. Both
// are kept in files of one folder, since they must survive the processes.
type Program struct {
	tb  testing.TB
	dir string
}

// The files of a Program's folder. Each line records one event.
const (
	startsFile = "starts" // ids of processes
	callsFile  = "calls"  // names of tools
	ordersFile = "orders" // references

	releasedFile = "released"
)

// everyStart replaces a tool's name for the start of a process.
const everyStart = "start"

// NewProgram returns a Program that behaves. When the test ends, and after its later cleanups, none of its
// processes may be left.
func NewProgram(tb testing.TB) *Program {
	tb.Helper()
	p := &Program{tb: tb, dir: tb.TempDir()}
	tb.Cleanup(func() {
		for _, pid := range p.Processes() {
			if GroupAlive(pid) {
				tb.Errorf("process group %d is left over", pid)
			}
		}
	})
	return p
}

// Command returns the command line of a child with these arguments. The package's TestMain has to be
// [testkit.Goroutines], which removes the program after the tests.
func (p *Program) Command(args ...string) []string {
	p.tb.Helper()
	program, err := built()
	if err != nil {
		p.tb.Fatalf("child: %v", err)
	}
	return append([]string{program}, p.Arguments(args...)...)
}

// Arguments returns the arguments with which [Main] becomes a child of p, followed by these.
func (p *Program) Arguments(args ...string) []string {
	return append([]string{"dir=" + p.dir}, args...)
}

// Next applies a fault to the next call of a tool.
func (p *Program) Next(tool, fault string) { p.script("next", tool, fault) }

// Faults from a test: a prefix to members of the answer, such as "error":{"code":7}, says whether the tool
// runs first.
const (
	replying = "reply:"
	refusing = "refuse:"
)

// Answering returns the fault that answers with members from the test after jsonrpc and the request's id,
// with or without running the tool first.
func Answering(members string, runs bool) string {
	if runs {
		return replying + members
	}
	return refusing + members
}

// Always applies a fault to all further calls of a tool.
func (p *Program) Always(tool, fault string) { p.script("always", tool, fault) }

// Release lets all calls of the tool hold be answered, including future ones, and continues large answers.
func (p *Program) Release() {
	p.tb.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, releasedFile), []byte("now\n"), 0o600); err != nil {
		p.tb.Fatal(err)
	}
}

// Die makes all further processes end at their start.
func (p *Program) Die() { p.script("always", everyStart, "die") }

func (p *Program) script(when, target, fault string) {
	p.tb.Helper()
	file := filepath.Join(p.dir, when+"-"+target)
	err := os.WriteFile(file+scriptSuffix, []byte(fault), 0o600)
	if err == nil { // a process never finds an empty file, which would mean no fault
		err = os.Rename(file+scriptSuffix, file)
	}
	if err != nil {
		p.tb.Fatal(err)
	}
}

// scriptSuffix ends the name of a fault that is being written.
const scriptSuffix = ".new"

// Behave forgets every fault.
func (p *Program) Behave() {
	p.tb.Helper()
	for _, when := range []string{"next", "always"} {
		files, err := filepath.Glob(filepath.Join(p.dir, when+"-*"))
		for _, file := range files {
			err = errors.Join(err, os.Remove(file))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a child may have used it up
			p.tb.Fatal(err)
		}
	}
}

// Calls returns how many calls of the tool the processes have read.
func (p *Program) Calls(tool string) int { return p.count(callsFile, tool) }

// Orders returns how many times the order was created.
func (p *Program) Orders(reference string) int { return p.count(ordersFile, reference) }

// Processes returns the ids of the processes that were started, in order.
func (p *Program) Processes() []int {
	var pids []int
	for line := range strings.Lines(readNotes(p.dir, startsFile)) {
		if pid, err := strconv.Atoi(strings.TrimSuffix(line, "\n")); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (p *Program) count(file, what string) int {
	n := 0
	for line := range strings.Lines(readNotes(p.dir, file)) {
		if line == what+"\n" {
			n++
		}
	}
	return n
}

func readNotes(dir, file string) string {
	text, _ := os.ReadFile(filepath.Join(dir, file)) // a missing file means that nothing has happened
	return string(text)
}

// awaitRelease waits until its Program is released.
func (c *child) awaitRelease() {
	for c.noted(releasedFile) == "" {
		time.Sleep(time.Millisecond)
	}
}

// noted returns the content of a file of its Program.
func (c *child) noted(file string) string { return readNotes(c.dir, file) }

// note adds a line to a file of its Program, and reports whether it is the first.
func (c *child) note(file, line string) (first bool) {
	if c.dir == "" {
		return false
	}
	f, err := os.OpenFile(filepath.Join(c.dir, file), os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	_, _ = f.WriteString(line + "\n") // a test that expects it fails
	return err == nil && info.Size() == 0
}

// scripted returns the current fault for target; empty: none.
func (c *child) scripted(target string) string {
	if c.dir == "" || strings.ContainsRune(target, filepath.Separator) {
		return ""
	}
	next := filepath.Join(c.dir, "next-"+target)
	if fault, err := os.ReadFile(next); err == nil && os.Remove(next) == nil {
		return string(fault)
	}
	return strings.TrimSpace(readNotes(c.dir, "always-"+target))
}
