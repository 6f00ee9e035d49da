package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/privacy/visible"
	"github.com/recoursehq/recourse/internal/upstream/process"
)

// A Location is where an MCP server is: a program to start, or a URL.
type Location struct {
	Command []string
	Env     []string // of the program, all of it
	Cwd     string
	URL     string
	Headers http.Header
}

// A Visit is what a server says of itself.
type Visit struct {
	Server *mcp.Implementation // nil: it did not get as far as that
	Tools  []*mcp.Tool
	Ahead  time.Duration // by how much its clock is ahead of ours, to a second; 0 if it does not say
}

// atOnce is how many servers are visited at a time.
const atOnce = 4

// Visits go on side by side, a few at a time. The zero value has none.
type Visits struct {
	all  sync.WaitGroup
	once sync.Once
	free chan struct{}
}

// Go makes a visit, as soon as there are few enough others.
func (v *Visits) Go(visit func()) {
	v.once.Do(func() { v.free = make(chan struct{}, atOnce) })
	v.all.Go(func() {
		v.free <- struct{}{}
		defer func() { <-v.free }()
		visit()
	})
}

// Wait returns when all visits are over.
func (v *Visits) Wait() { v.all.Wait() }

// Visit starts or reaches the server, asks for its tools, and leaves; nothing of the program is left running. The error says
// why that failed, for a program with what it wrote about it. The visit is never nil.
func (p *Location) Visit(ctx context.Context) (*Visit, error) {
	ctx, cancel := context.WithTimeout(ctx, ToolsTimeout)
	defer cancel()
	v := &Visit{}
	if len(p.Command) > 0 {
		return v, p.start(ctx, v)
	}
	way := &liveTransport{host: load.HostOf(p.URL), headers: p.Headers}
	err := v.look(ctx, endpoint(p.URL, way))
	v.Ahead = way.ahead()
	if err != nil && v.Server == nil {
		err = way.openFailure(err)
	}
	return v, err
}

// start looks at a program.
func (p *Location) start(ctx context.Context, v *Visit) error {
	if err := CheckProgram(p.Command); err != nil && p.Cwd == "" {
		return err
	}
	said := &telling{}
	stderr := visible.Lines(said, func(line string) string { return redact.Log(visible.Escape(line)) })
	cmd := exec.CommandContext(context.WithoutCancel(ctx), p.Command[0], p.Command[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = p.Cwd, p.Env, stderr
	to := &childServer{cmd: cmd}
	err := v.look(ctx, to)
	to.end()
	_ = stderr.Close() // what it wrote last
	if err != nil && v.Server == nil {
		return openError(p.Command[0], err, said.String())
	}
	return err
}

// look asks the server.
func (v *Visit) look(ctx context.Context, to mcp.Transport) error {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "recourse", Version: term.Version()}, nil).Connect(ctx, to, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	v.Server = cmp.Or(session.InitializeResult().ServerInfo, &mcp.Implementation{})
	if session.InitializeResult().Capabilities.Tools == nil {
		return nil
	}
	v.Tools, _, err = ListTools(ctx, session)
	return err
}

// A childServer is a server in a process group of its own, of which nothing is left when its connection is closed.
type childServer struct {
	cmd   *exec.Cmd
	group process.Group
	in    io.WriteCloser
	over  sync.Once
}

var _ mcp.Transport = (*childServer)(nil)

// leave is how long a program may take to end once its input has.
const leave = 2 * time.Second

// Connect starts the program.
func (p *childServer) Connect(ctx context.Context) (mcp.Connection, error) {
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.group.Start(p.cmd); err != nil {
		return nil, err
	}
	p.in = in
	context.AfterFunc(ctx, p.end) // a program that does not read would hold up its client for ever
	return (&mcp.IOTransport{Reader: out, Writer: p}).Connect(ctx)
}

// Write writes to the program's input.
func (p *childServer) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close ends the program.
func (p *childServer) Close() error {
	p.end()
	return nil
}

// end ends the program's input, and whatever of it does not leave then.
func (p *childServer) end() {
	p.over.Do(func() {
		if p.in == nil { // it has not been started
			return
		}
		_ = p.in.Close() // it may have ended already
		left := make(chan struct{})
		go func() {
			_ = p.cmd.Wait() // how it ended does not matter
			close(left)
		}()
		select {
		case <-left:
		case <-time.After(leave):
		}
		p.group.Kill()
		<-left
		p.group.Close()
	})
}

// openError returns why a program did not open a session; what it wrote may explain it best.
func openError(program string, err error, said string) error {
	if refused, ok := errors.AsType[*jsonrpc.Error](err); ok { // from the wrapper, in front of a server that does not start
		return errors.New(redact.Log(visible.Escape(strings.TrimSuffix(refused.Message, "."))))
	}
	err = StartFailure(program, err)
	if said == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, plain(said))
}

// plain returns a line of a log for people: of one in JSON only what happened.
func plain(line string) string {
	var entry struct {
		Msg   string `json:"msg"`
		Line  string `json:"line"`
		Cause string `json:"cause"`
		Err   string `json:"err"`
	}
	if json.Unmarshal([]byte(line), &entry) != nil || entry.Msg == "" {
		return line
	}
	said := []string{entry.Msg, entry.Line, entry.Cause, entry.Err}
	return strings.Join(slices.DeleteFunc(said, func(s string) bool { return s == "" }), ": ")
}

// A telling keeps the line that tells best why a program has failed: the last one that names an error, or else the last one.
type telling struct {
	mu          sync.Mutex
	line, error string
}

// namesError matches lines such as `Error: no token`, `KeyError: 'TOKEN'` and `npm error 404 Not Found`. Those of a stack trace are
// indented.
var namesError = regexp.MustCompile(`^(?:\S+ )?\w*(?i:error|exception)\b: \S|^npm (?i:error|err!) [0-9]+ `)

// Write keeps the line.
func (t *telling) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if line := strings.TrimSpace(string(p)); line != "" {
		t.line = line
		if first := namesError.Match(p); first && !strings.HasPrefix(t.error, "npm ") {
			t.error = line
		}
	}
	return len(p), nil
}

func (t *telling) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return cmp.Or(t.error, t.line)
}
