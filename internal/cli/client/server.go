// Package client holds the commands that talk to an MCP server, call and tools, and what other commands need to talk to one.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/privacy/visible"
)

// ServerFlags name the MCP server that a command connects to.
type ServerFlags struct {
	Server string   `placeholder:"URL" help:"${server_flags_server}"`
	Header []string `placeholder:"HEADER" sep:"none" help:"Header for that server, as 'Name: value'."`
}

// liveReader returns a reader for the failures of a server that the user has named. What it shows is in
// the server's own voice; a gateway has marked what comes from elsewhere.
func liveReader() *contract.Reader {
	return &contract.Reader{Contracts: contract.Builtin().All(), Trusted: true}
}

// connect opens a session with the server.
func (l *ServerFlags) connect(ctx context.Context, env *term.Environment, command term.ServerCommand) (*liveSession, error) {
	if err := l.check(command); err != nil {
		return nil, term.Usage(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "recourse", Version: term.Version()}, nil)
	if len(command) > 0 {
		stderr := Stderr(env)
		cmd := exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...)
		cmd.Env, cmd.Stderr = env.Environ, stderr
		session, err := client.Connect(ctx, &childServer{cmd: cmd}, nil)
		if err != nil {
			_ = stderr.Close() // the failure has been reported
			return nil, StartFailure(command[0], err)
		}
		return &liveSession{session, stderr}, nil
	}
	headers, err := l.headers()
	if err != nil {
		return nil, term.Usage(err)
	}
	way := &liveTransport{host: load.HostOf(l.Server), headers: headers}
	session, err := client.Connect(ctx, endpoint(l.Server, way), nil)
	if err != nil {
		return nil, way.openFailure(err)
	}
	return &liveSession{session, io.NopCloser(nil)}, nil
}

// endpoint returns the way to a server over HTTP.
func endpoint(address string, way *liveTransport) mcp.Transport {
	return &mcp.StreamableClientTransport{
		Endpoint: address, HTTPClient: &http.Client{Transport: way, CheckRedirect: staysHere}, MaxRetries: -1, DisableStandaloneSSE: true,
	}
}

// staysHere has a redirect be the answer: it neither repeats a call, nor takes credentials elsewhere.
func staysHere(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// check reports a command line that names no server, or an impossible one.
func (l *ServerFlags) check(command term.ServerCommand) error {
	switch {
	case l.Server != "" && len(command) > 0:
		return errors.New("--server and a command name two servers: give only one")
	case len(command) > 0:
		return CheckProgram(command)
	case l.Server == "":
		return errors.New("no server given: give --server URL, or a command after --")
	case load.HostOf(l.Server) == "":
		return term.Hint(
			errors.New("--server is not the URL of an MCP server"), "write it as http://127.0.0.1:8787/farm/mcp",
		)
	}
	return nil
}

// CheckProgram reports a command whose program does not exist.
func CheckProgram(command term.ServerCommand) error {
	if _, err := exec.LookPath(command[0]); err != nil {
		return term.Hint(
			fmt.Errorf("cannot start the program %q: %w", command[0], errors.Unwrap(err)),
			"install it, or give its whole path after --",
		)
	}
	return nil
}

// StartFailure returns the error for a program that did not open a session.
func StartFailure(program string, err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("connect to the server: %w", err)
	case errors.As(err, &syntax) || strings.Contains(err.Error(), "invalid character"):
		return term.Hint(
			fmt.Errorf("%s does not speak MCP: it wrote something else to standard output", program),
			"check that this command is the MCP server itself, and that it logs to standard error",
		)
	case hasEnded(err):
		return term.Hint(
			fmt.Errorf("%s ended before it answered", program), "see above for anything it wrote to standard error",
		)
	default:
		return fmt.Errorf("connect to the server: %w", err)
	}
}

// hasEnded reports whether an error means that a program has exited. The SDK only keeps the text of
// such causes.
func hasEnded(err error) bool {
	signs := []string{"EOF", "broken pipe", "file already closed", "pipe is being closed", "signal: "}
	return slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(err.Error(), sign) })
}

// A liveSession is a session with a server whose program may write to standard error.
type liveSession struct {
	*mcp.ClientSession

	stderr io.Closer
}

// Close ends the session and the program, and passes on what the program wrote last.
func (s *liveSession) Close() error {
	err := s.ClientSession.Close()
	return errors.Join(err, s.stderr.Close())
}

// Stderr shows what a program writes to standard error, with credentials masked.
func Stderr(env *term.Environment) io.WriteCloser {
	return visible.Lines(env.Stderr, func(line string) string { return redact.Log(visible.Escape(line)) })
}

// headers returns the headers from the command line.
func (l *ServerFlags) headers() (http.Header, error) { return Headers(l.Header) }

// Headers returns the headers that lines such as 'Name: value' give.
func Headers(lines []string) (http.Header, error) {
	headers := http.Header{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, errors.New("--header is not a header: write 'Name: value'") // it may be a secret
		}
		headers.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return headers, nil
}
