package testkit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A Program is the [Child] as a server's command: what befalls its processes, and what they have done. Both are files of
// one folder, since it outlives the processes. The test binary's TestMain has to run Child.
type Program struct {
	tb  testing.TB
	dir string
}

// The files of a Program's folder. A line each says that something has happened.
const (
	startsFile = "starts" // ids of processes
	callsFile  = "calls"  // names of tools
	ordersFile = "orders" // references

	releasedFile = "released"
)

// everyStart stands for the start of a process where a tool's name would.
const everyStart = "start"

// NewProgram returns a Program that behaves. When the test ends, and after its later cleanups, none of its processes may
// be left.
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

// Command returns the command line of a [Child] with these arguments.
func (p *Program) Command(args ...string) []string {
	return append([]string{os.Args[0], "dir=" + p.dir}, args...)
}

// Environ returns the environment that the command needs.
func (p *Program) Environ() map[string]string {
	return map[string]string{
		ChildVariable: "1",
		"GORACE":      "atexit_sleep_ms=0", // spares what was built with the race detector a second at its end
	}
}

// Next lets a fault befall the next call of a tool.
func (p *Program) Next(tool, fault string) { p.script("next", tool, fault) }

// Faults of a test's own: before members of the answer, such as "error":{"code":7}, they say whether the tool runs first.
const (
	replying = "reply:"
	refusing = "refuse:"
)

// Answering returns the fault that the tool is answered with members of the test's own after jsonrpc and the request's
// id, once it has run, or without that it has.
func Answering(members string, runs bool) string {
	if runs {
		return replying + members
	}
	return refusing + members
}

// Always lets a fault befall all further calls of a tool.
func (p *Program) Always(tool, fault string) { p.script("always", tool, fault) }

// Release lets the calls of the tool hold be answered, those to come too.
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
	if err == nil { // a process never finds it empty, and takes it for none
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
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a child may have taken it
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
	text, _ := os.ReadFile(filepath.Join(dir, file)) // what is not there has not happened
	return string(text)
}

// noted returns the lines of a file of its Program.
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
	_, _ = f.WriteString(line + "\n") // a test that looks for it fails
	return err == nil && info.Size() == 0
}

// scripted returns the fault that befalls target now; empty: none.
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
