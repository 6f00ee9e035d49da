package studies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/systems"
	"github.com/recoursehq/recourse/systems/internal/loopback"
)

// Token is what the service accepts. One that begins with staging_ was signed with
// the key of another environment, and any other has expired.
const Token = "prod_dana"

// Options change a System. The zero value is a good one.
type Options struct {
	// Logger gets a line for each failure, with its cause; nil means slog.Default.
	Logger *slog.Logger
	// Token is what the MCP server shows the service; "" means the one that is accepted.
	Token string
	// Timeout is how long the service may take to answer a request; 0 means 20 s.
	Timeout time.Duration
	// PollEvery is how often a call that waits asks; 0 means 1 s.
	PollEvery time.Duration
	// Hosted says that the MCP server does not run on its user's machine, so that there
	// can be no tunnel to it.
	Hosted bool
	// Tunnel is the program that makes tunnels, a name that is looked up on PATH, or a
	// path; "" means cloudflared.
	Tunnel string
	// TunnelTimeout is how long it may take to come up; 0 means 20 s.
	TunnelTimeout time.Duration
}

// System is the server with the service behind it. Get one with New.
type System struct {
	options  Options
	contract *contract.Contract
	server   *mcp.Server
	handler  http.Handler
	backend  *loopback.Server
	api      *client
	aliases  aliases
	tunnel   tunnel
}

var _ systems.System = (*System)(nil)

// New starts the service and returns the system; call Close when done.
func New(o Options) (*System, error) {
	c, ok := contract.Builtin().Get("studies")
	if !ok {
		return nil, errors.New("there is no contract studies")
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.Token = cmp.Or(o.Token, Token)
	o.Timeout = cmp.Or(o.Timeout, 20*time.Second)
	o.PollEvery = cmp.Or(o.PollEvery, time.Second)
	o.Tunnel = cmp.Or(o.Tunnel, "cloudflared")
	o.TunnelTimeout = cmp.Or(o.TunnelTimeout, 20*time.Second)
	service := newBackend()
	backend, err := loopback.Serve(service)
	if err != nil {
		return nil, fmt.Errorf("studies: %w", err)
	}
	s := &System{
		options: o, contract: c, backend: backend,
		server: mcp.NewServer(&mcp.Implementation{Name: "studies", Title: "Simulated studies", Version: "1.0.0"}, nil),
	}
	s.api = newClient(backend.URL, o, c, &s.aliases)
	for _, id := range service.ids() {
		s.aliases.of(id.typ, id.id)
	}
	s.addTools()
	log := mcptool.WithLogger(o.Logger)
	mcptool.Use(s.server, c, log)
	s.handler = mcptool.Guard(systems.MCPHandler(s.server), c, log)
	return s, nil
}

// MCPServer returns the server for stdio.
func (s *System) MCPServer() *mcp.Server { return s.server }

// Handler serves Streamable HTTP, to clients of both eras.
func (s *System) Handler() http.Handler { return s.handler }

// Entrance returns what a client of Handler has to bring: nothing.
func (s *System) Entrance() systems.Entrance { return systems.Entrance{Path: "/mcp"} }

// Close ends the tunnel, if there is one, and the service.
func (s *System) Close() error {
	s.tunnel.close()
	s.api.http.CloseIdleConnections()
	return s.backend.Close()
}

// add adds a tool whose handler returns an object.
func add[In any](s *System, tool *mcp.Tool, handler func(ctx context.Context, in In) (object, error)) {
	mcp.AddTool(s.server, tool, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		out, err := handler(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		return nil, out, nil
	})
}
