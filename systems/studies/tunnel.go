package studies

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
)

// tunnel is the only tunnel from the service to this machine. The zero value is down.
type tunnel struct {
	mu       sync.Mutex
	process  *tunnelProcess // nil: never started, or stopped
	port     int
	endpoint string // the alias of the endpoint at the service; "" for none
}

type startArgs struct {
	Port int `json:"port" jsonschema:"the port of this machine that the service is to reach, such as 3000"`
}

func (s *System) startTunnel(ctx context.Context, in startArgs) (object, error) {
	const maxPort = 65535
	if err := s.checkLocal(connectStart); err != nil {
		return nil, err
	}
	if in.Port < 1 || in.Port > maxPort {
		return nil, recourse.InvalidValue("port", "a port", in.Port).WithMessage("port must be between 1 and %d.", maxPort)
	}
	t := &s.tunnel
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.process.isUp() {
		if t.port != in.Port {
			return nil, recourse.Conflict("").WithMessage("A tunnel to port %d is up.", t.port)
		}
		return t.status(), nil
	}
	if err := s.drop(ctx); err != nil {
		return nil, err
	}
	program, err := exec.LookPath(s.options.Tunnel)
	if err != nil {
		return nil, tunnelFailure("cloudflared_missing", recourse.KindInvalidState, err, s.options.Tunnel+" is not on PATH.")
	}
	process, err := startProcess(ctx, program, in.Port, s.options.TunnelTimeout)
	if err != nil {
		return nil, tunnelFailure("tunnel_startup_failed", recourse.KindJobFailed, err,
			"The tunnel did not come up: "+strings.TrimSuffix(err.Error(), ".")+".")
	}
	out, err := s.api.do(ctx, http.MethodPost, "/endpoints", "endpoint", object{"url": process.url, "port": in.Port})
	if err != nil {
		process.stop()
		return nil, tunnelFailure("registration_failed", recourse.KindJobFailed, err,
			"The tunnel was not registered: "+recourse.From(err).Sentence())
	}
	t.endpoint, _ = out["id"].(string)
	t.process, t.port = process, in.Port
	return t.status(), nil
}

func (s *System) tunnelStatus(context.Context, struct{}) (object, error) {
	if err := s.checkLocal(connectStatus); err != nil {
		return nil, err
	}
	s.tunnel.mu.Lock()
	defer s.tunnel.mu.Unlock()
	return s.tunnel.status(), nil
}

func (s *System) stopTunnel(ctx context.Context, _ struct{}) (object, error) {
	if err := s.checkLocal("connect_stop"); err != nil {
		return nil, err
	}
	t := &s.tunnel
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := s.drop(ctx); err != nil {
		return nil, err
	}
	return t.status(), nil
}

// drop removes a tunnel: the program, which may have ended by itself, and the registration at the service.
// The tunnel's lock must be held.
func (s *System) drop(ctx context.Context) error {
	t := &s.tunnel
	if t.process != nil {
		t.process.stop()
		t.process = nil
	}
	if t.endpoint == "" {
		return nil
	}
	_, err := s.one(ctx, http.MethodDelete, "endpoint", "/endpoints", t.endpoint)
	if err != nil && !errors.Is(err, recourse.KindNotFound) {
		return err
	}
	t.endpoint = ""
	return nil
}

// checkLocal refuses the verb on a hosted server, whose machine is not its user's.
func (s *System) checkLocal(verb string) error {
	if !s.options.Hosted {
		return nil
	}
	return recourse.InvalidState(verb + " works on the user's own machine only: run the MCP server there.")
}

// tunnelFailure returns a failure that differs from others of its kind by its code only. What was started has
// been stopped: no tunnel is left.
func tunnelFailure(code string, kind recourse.Kind, cause error, message string) error {
	return recourse.New(kind, message).WithCode("studies", code).WithEffect(recourse.EffectNone).CausedBy(cause)
}

// status describes the tunnel. Its lock must be held.
func (t *tunnel) status() object {
	if !t.process.isUp() {
		return object{"up": false}
	}
	return object{"up": true, "port": t.port, "url": t.process.url, "endpoint_id": t.endpoint}
}

// close ends the tunnel.
func (t *tunnel) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.process != nil {
		t.process.stop()
	}
}

// tunnelProcess is the program that holds a tunnel.
type tunnelProcess struct {
	url   string
	kill  context.CancelFunc
	ended chan struct{}
}

// publicURL matches the tunnel's address in a line of the program's log.
var publicURL = regexp.MustCompile(`https://[a-z0-9.-]+\.trycloudflare\.com`)

// startProcess starts the program and waits until it reports the tunnel's address. ctx only limits the start.
func startProcess(ctx context.Context, program string, port int, timeout time.Duration) (*tunnelProcess, error) {
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	cmd := exec.CommandContext(life, program, "tunnel", "--url", fmt.Sprintf("http://127.0.0.1:%d", port))
	log := &tunnelLog{url: make(chan string, 1)}
	cmd.Stderr = log
	cmd.WaitDelay = time.Second // for child processes that hold the pipe
	if err := cmd.Start(); err != nil {
		kill()
		return nil, err
	}
	p := &tunnelProcess{kill: kill, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		defer kill()
		_ = cmd.Wait() // its status tells what the program does not
	}()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	var err error
	select {
	case p.url = <-log.url:
		return p, nil
	case <-p.ended:
		err = errors.New("the program has ended: " + cmp.Or(log.last(), cmd.ProcessState.String()))
	case <-timer.C:
		err = fmt.Errorf("no address came within %s", timeout)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	p.stop()
	return nil, err
}

// isUp reports whether the program is running.
func (p *tunnelProcess) isUp() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// stop ends the program.
func (p *tunnelProcess) stop() {
	p.kill()
	<-p.ended
}

// tunnelLog receives the program's standard error.
type tunnelLog struct {
	url chan string // receives the tunnel's address

	mu    sync.Mutex
	line  []byte // the current line, or the last
	ended bool   // the line is complete
	said  bool   // the address has been sent
}

// maxLine limits how much of a line is kept.
const maxLine = 4096

// Write looks for the address of the tunnel.
func (l *tunnelLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for part := range bytes.Lines(p) {
		if l.ended {
			l.line = l.line[:0]
		}
		l.line = append(l.line, part[:min(len(part), maxLine-len(l.line))]...)
		l.ended = bytes.HasSuffix(part, []byte("\n"))
		if url := publicURL.Find(l.line); url != nil && l.ended && !l.said {
			l.said = true
			l.url <- string(url)
		}
	}
	return len(p), nil
}

// last returns the last line.
func (l *tunnelLog) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(string(l.line))
}
