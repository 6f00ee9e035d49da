package testkit

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Service is another program's server, such as Redis, that a test runs against and may stop. It ends with
// its test, and with the test's process in any case.
type Service struct {
	URL string // it stays the same when the service starts again

	dir   string
	start []string               // the command
	ready func(s *Service) error // whether it answers
	guard *exec.Cmd              // nil: not running
	life  *os.File               // the guard ends the service when this is closed
}

// serviceGuard starts a server, and ends it as soon as the other end of its standard input is closed.
//
//go:embed service.sh
var serviceGuard string

// servicePatience is how long a service may take to start.
const servicePatience = 30 * time.Second

// newService returns a service that is not running yet, with a folder of its own.
func newService(name string) (*Service, error) {
	dir, err := os.MkdirTemp("", "recourse-"+name+"-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for %s: %w", name, err)
	}
	if err := giveAway(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("give the folder of %s away: %w", name, err), os.RemoveAll(dir))
	}
	return &Service{dir: dir}, nil
}

// begin starts the service, and waits until it answers. The files of a shared service are removed with the
// process.
func (s *Service) begin(shared bool) error {
	from, to, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", s.start[0], err)
	}
	keep := "keep"
	if shared {
		keep = ""
	}
	guard := exec.Command("/bin/sh", append([]string{"-c", serviceGuard, "guard", s.dir, keep}, s.start...)...)
	guard.Dir, guard.Stdin = s.dir, from
	asServiceUser(guard)
	err = guard.Start()
	if err = errors.Join(err, from.Close()); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", s.start[0], err), to.Close())
	}
	s.guard, s.life = guard, to
	for deadline := time.Now().Add(servicePatience); ; time.Sleep(5 * time.Millisecond) {
		err := s.ready(s)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(s.dir, "log")) // only for the message
			s.end()
			return fmt.Errorf("%s does not answer: %w\n%s", s.start[0], err, bytes.TrimSpace(log))
		}
	}
}

// end ends the service and waits for that.
func (s *Service) end() {
	if s.guard == nil {
		return
	}
	_ = s.life.Close()
	_ = s.guard.Wait() // the exit status does not matter
	s.guard = nil
}

// Stop stops the service, which keeps its data. The service is gone when Stop returns.
func (s *Service) Stop() { s.end() }

// Start starts it again.
func (s *Service) Start(tb testing.TB) {
	tb.Helper()
	if err := s.begin(false); err != nil {
		tb.Fatalf("testkit: %v", err)
	}
}

// Pause makes the service hang: it accepts connections, and does not answer. A database's work for an open
// connection continues.
func (s *Service) Pause(tb testing.TB) {
	tb.Helper()
	s.signal(tb, pauseProcess)
}

// Resume ends a pause.
func (s *Service) Resume(tb testing.TB) {
	tb.Helper()
	s.signal(tb, resumeProcess)
}

func (s *Service) signal(tb testing.TB, send func(pid int) error) {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "pid"))
	if err != nil {
		tb.Fatalf("testkit: find the service: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		tb.Fatalf("testkit: find the service: %v", err)
	}
	if err := send(pid); err != nil {
		tb.Fatalf("testkit: signal the service: %v", err)
	}
}

// own starts a service for one test.
func own(tb testing.TB, made func() (*Service, error)) *Service {
	tb.Helper()
	s, err := made()
	if errors.Is(err, errNoService) {
		leaveOut(tb, err)
	}
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	tb.Cleanup(func() {
		s.end()
		if err := os.RemoveAll(s.dir); err != nil {
			tb.Errorf("testkit: remove what the service has written: %v", err)
		}
	})
	if err := s.begin(false); err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	return s
}

// common returns the service that all tests of a process share; made is called once.
func common(tb testing.TB, made func() (*Service, error)) *Service {
	tb.Helper()
	s, err := made()
	if errors.Is(err, errNoService) {
		leaveOut(tb, err)
	}
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	return s
}

// starting returns made with the service started, for [common].
func starting(made func() (*Service, error)) func() (*Service, error) {
	return func() (*Service, error) {
		s, err := made()
		if err != nil {
			return nil, err
		}
		if err := s.begin(true); err != nil {
			return nil, err
		}
		shared.mu.Lock()
		defer shared.mu.Unlock()
		shared.services = append(shared.services, s)
		return s, nil
	}
}

// shared are the services that the tests of the process share.
var shared struct {
	mu       sync.Mutex
	services []*Service
}

// endServices ends them and waits for that. Without it they still end with the process.
func endServices() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	for _, s := range shared.services {
		s.end()
	}
	shared.services = nil
}

var errNoService = errors.New("not installed: run tools/install-services.sh, as .ci/run does")

// freePort returns a free port on loopback.
func freePort() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	_, port, err := net.SplitHostPort(ln.Addr().String())
	return port, errors.Join(err, ln.Close())
}
