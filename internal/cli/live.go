package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/redact"
	"github.com/recoursehq/recourse/internal/visible"
)

// liveServer names an MCP server that a command is a client of.
type liveServer struct {
	Server string   `placeholder:"URL" help:"Endpoint of an MCP server over HTTP. One on stdio is named by its command, after --."`
	Header []string `placeholder:"HEADER" sep:"none" help:"Header for that server, as 'Name: value'."`
}

// connect opens a session with the server.
func (l *liveServer) connect(ctx context.Context, env *Environment, command serverCommand) (*liveSession, error) {
	stderr := visible.Lines(env.Stderr, func(line string) string { return redact.Log(visible.Escape(line)) })
	transport, err := l.transport(ctx, env, command, stderr)
	if err != nil {
		return nil, &usageError{err}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "recourse", Version: moduleVersion()}, nil).Connect(ctx, transport, nil)
	if err != nil {
		_ = stderr.Close() // what failed is said
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	return &liveSession{session, stderr}, nil
}

// A liveSession is a session with a server whose program may write to standard error.
type liveSession struct {
	*mcp.ClientSession

	stderr io.Closer
}

// Close ends the session and the program, and hands on what the program wrote last.
func (s *liveSession) Close() error {
	err := s.ClientSession.Close()
	return errors.Join(err, s.stderr.Close())
}

// transport returns the way to the server.
func (l *liveServer) transport(ctx context.Context, env *Environment, command serverCommand, stderr io.Writer) (mcp.Transport, error) {
	switch {
	case l.Server != "" && len(command) > 0:
		return nil, errors.New("--server and a command name two servers: choose one")
	case len(command) > 0:
		program := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // the user's own command
		program.Env = env.Environ
		program.Stderr = stderr
		return &mcp.CommandTransport{Command: program}, nil
	case l.Server == "":
		return nil, errors.New("no server is named: give --server URL, or a command after --")
	}
	headers := http.Header{}
	for _, line := range l.Header {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("%q is no header: write 'Name: value'", line)
		}
		headers.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return &mcp.StreamableClientTransport{
		Endpoint: l.Server, HTTPClient: &http.Client{Transport: &liveTransport{headers}},
		MaxRetries: -1, DisableStandaloneSSE: true,
	}, nil
}

// liveTransport adds headers to requests, and reads failures of which the SDK's client
// reports no more than the status.
type liveTransport struct{ headers http.Header }

// maxRefusal bounds how much of an answer that is a failure is read.
const maxRefusal = 64 << 10

// RoundTrip sends the request with the headers.
func (t *liveTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, t.headers)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		e := recourse.From(err)
		if e.Kind == recourse.KindInternal { // whatever it was, no answer came
			e = recourse.Unreachable("The server").CausedBy(err)
		}
		return nil, e
	}
	if !refuses(resp.StatusCode) {
		return resp, nil
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // a broken body says no more than the status
	reader := contract.Reader{Contracts: contract.Builtin().All()}
	if e := reader.HTTP(resp.StatusCode, resp.Header, body).Error(); e != nil {
		return nil, e
	}
	return nil, recourse.FromStatus("the server", resp.StatusCode)
}

// refuses reports whether an answer with that status ends a request. With any other, a
// server may be saying which era of MCP it speaks.
func refuses(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	default:
		return status >= http.StatusInternalServerError
	}
}
