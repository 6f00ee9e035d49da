// Package service starts programs that tests run against, such as Redis. What is not installed is left out: see
// [testkit.LeaveOut].
package service

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A Process is another program's server, such as Redis, that a test runs against and may stop. It ends with
// its test, and with the test's process in any case.
type Process struct {
	URL string // it stays the same when the service starts again

	dir   string
	start []string               // the command
	ready func(p *Process) error // whether it answers
	guard *exec.Cmd              // nil: not running
	life  *os.File               // the guard ends the service when this is closed
}

// guardScript starts a server, and ends it as soon as the other end of its standard input is closed.
//
//go:embed guard.sh
var guardScript string

// patience is how long a service may take to start.
const patience = 30 * time.Second

// newProcess returns a service that is not running yet, with a folder of its own.
func newProcess(name string) (*Process, error) {
	dir, err := os.MkdirTemp("", "recourse-"+name+"-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for %s: %w", name, err)
	}
	if err := giveAway(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("give the folder of %s away: %w", name, err), os.RemoveAll(dir))
	}
	return &Process{dir: dir}, nil
}

// begin starts the service, and waits until it answers. The files of a shared service are removed with the
// process.
func (p *Process) begin(shared bool) error {
	from, to, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", p.start[0], err)
	}
	keep := "keep"
	if shared {
		keep = ""
	}
	guard := exec.Command("/bin/sh", append([]string{"-c", guardScript, "guard", p.dir, keep}, p.start...)...)
	guard.Dir, guard.Stdin = p.dir, from
	asUser(guard)
	err = guard.Start()
	if err = errors.Join(err, from.Close()); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", p.start[0], err), to.Close())
	}
	p.guard, p.life = guard, to
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		_, err := p.pid() // the guard may be slower than the service
		if err == nil {
			err = p.ready(p)
		}
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(p.dir, "log")) // only for the message
			p.end()
			return fmt.Errorf("%s does not answer: %w\n%s", p.start[0], err, bytes.TrimSpace(log))
		}
	}
}

// end ends the service and waits for that.
func (p *Process) end() {
	if p.guard == nil {
		return
	}
	_ = p.life.Close()
	_ = p.guard.Wait() // the exit status does not matter
	p.guard = nil
}

// Stop stops the service, which keeps its data. The service is gone when Stop returns.
func (p *Process) Stop() { p.end() }

// Kill kills it, and starts it again.
func (p *Process) Kill(tb testing.TB) {
	tb.Helper()
	p.signal(tb, killProcess)
	p.end()
	p.Start(tb)
}

// Start starts it again.
func (p *Process) Start(tb testing.TB) {
	tb.Helper()
	if err := p.begin(false); err != nil {
		tb.Fatalf("testkit: %v", err)
	}
}

// Pause makes the service hang: it accepts connections, and does not answer. A database's work for an open
// connection continues.
func (p *Process) Pause(tb testing.TB) {
	tb.Helper()
	p.signal(tb, pauseProcess)
}

// Resume ends a pause.
func (p *Process) Resume(tb testing.TB) {
	tb.Helper()
	p.signal(tb, resumeProcess)
}

func (p *Process) signal(tb testing.TB, send func(pid int) error) {
	tb.Helper()
	pid, err := p.pid()
	if err != nil {
		tb.Fatalf("testkit: find the service: %v", err)
	}
	if err := send(pid); err != nil {
		tb.Fatalf("testkit: signal the service: %v", err)
	}
}

// own starts a service for one test.
func own(tb testing.TB, made func() (*Process, error)) *Process {
	tb.Helper()
	p := installed(tb, made)
	tb.Cleanup(func() {
		p.end()
		if err := os.RemoveAll(p.dir); err != nil {
			tb.Errorf("testkit: remove what the service has written: %v", err)
		}
	})
	p.Start(tb)
	return p
}

// installed returns what made returns; the test is left out if that is not installed.
func installed(tb testing.TB, made func() (*Process, error)) *Process {
	tb.Helper()
	p, err := made()
	if errors.Is(err, errNotInstalled) {
		testkit.LeaveOut(tb, err)
	}
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	return p
}

// starting returns made with the service started, for what all tests of a process share.
func starting(made func() (*Process, error)) func() (*Process, error) {
	return func() (*Process, error) {
		p, err := made()
		if err != nil {
			return nil, err
		}
		if err := p.begin(true); err != nil {
			return nil, err
		}
		testkit.AtEnd(p.end) // without it, it still ends with the process
		return p, nil
	}
}

var errNotInstalled = errors.New("not installed: run tools/install-services.sh, as .ci/run does")

// pid is the process that the guard has started.
func (p *Process) pid() (int, error) {
	text, err := os.ReadFile(filepath.Join(p.dir, "pid"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}
