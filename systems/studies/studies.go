package studies

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/systems"
	"github.com/recoursehq/recourse/systems/internal/loopback"
)

// The tokens that the service accepts, of two of its users. A token that begins with staging_ was signed with
// the key of another environment, and any other has expired.
const (
	Token      = "prod_dana"
	OtherToken = "prod_rui"
)

// Options change a System. The zero value is valid.
type Options struct {
	// Logger gets a line for each failure, with its cause; nil means slog.Default.
	Logger *slog.Logger
	// Token is the MCP server's token for the service; "" means the accepted one. A hosted server uses its
	// clients' tokens.
	Token string
	// Timeout is how long the service may take to answer a request; 0 means 20 s.
	Timeout time.Duration
	// PollEvery is the interval at which a waiting call asks; 0 means 1 s.
	PollEvery time.Duration
	// Hosted says that the MCP server does not run on its user's machine, so that there can be no tunnel to
	// it, and that it has many users: each sends a token.
	Hosted bool
	// Tunnel is the program that makes tunnels: a name to be found on PATH, or a path; "" means cloudflared.
	Tunnel string
	// TunnelTimeout is how long the tunnel's start may take; 0 means 20 s.
	TunnelTimeout time.Duration
}

// cloudflared is the program that makes tunnels.
const cloudflared = "cloudflared"

func (o Options) withDefaults() Options {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.Token = cmp.Or(o.Token, Token)
	o.Timeout = cmp.Or(o.Timeout, 20*time.Second)
	o.PollEvery = cmp.Or(o.PollEvery, time.Second)
	o.Tunnel = cmp.Or(o.Tunnel, cloudflared)
	o.TunnelTimeout = cmp.Or(o.TunnelTimeout, 20*time.Second)
	return o
}

// System is the server with the service behind it. Get one with New.
type System struct {
	options  Options
	contract *contract.Contract
	server   *mcp.Server
	handler  http.Handler
	backend  *loopback.Local
	api      *apiClient
	aliases  aliases
	tunnel   tunnel
}

var _ systems.System = (*System)(nil)

// serverOptions work out the schemas of the tools once: they are the same in every System.
var serverOptions = &mcp.ServerOptions{SchemaCache: mcp.NewSchemaCache()}

// New starts the service and returns the system; call Close when done.
func New(o Options) (*System, error) {
	c := contract.MustBuiltin("studies")
	o = o.withDefaults()
	service := newBackend()
	backend, err := loopback.Serve(service)
	if err != nil {
		return nil, fmt.Errorf("studies: %w", err)
	}
	s := &System{
		options: o, contract: c, backend: backend,
		server: mcp.NewServer(&mcp.Implementation{Name: "studies", Title: "Simulated studies", Version: "1.0.0"}, serverOptions),
	}
	s.api = newClient(backend.URL, o, c, &s.aliases, &http.Transport{})
	for _, id := range service.ids() {
		s.aliases.of(id.typ, id.id)
	}
	s.addTools()
	log := mcptool.WithLogger(o.Logger)
	mcptool.Use(s.server, c, log)
	guarding := []mcptool.GuardOption{log}
	if o.Hosted {
		guarding = append(guarding, mcptool.WithAuthenticator(bringsToken{}))
	}
	s.handler = mcptool.Guard(systems.MCPHandler(s.server), c, guarding...)
	return s, nil
}

// MCPServer returns the server for stdio.
func (s *System) MCPServer() *mcp.Server { return s.server }

// Handler serves Streamable HTTP, to clients of both eras.
func (s *System) Handler() http.Handler { return s.handler }

// Entrance returns what a client of Handler must send: nothing, or the token of a user if the server is
// hosted.
func (s *System) Entrance() systems.Entrance {
	at := systems.Entrance{Path: "/mcp"}
	if s.options.Hosted {
		at.Header = http.Header{"Authorization": {"Bearer " + s.options.Token}}
	}
	return at
}

// bringsToken lets callers with a token in. The service checks whether it is valid, so that its reason
// reaches the caller.
type bringsToken struct{}

var _ authn.Authenticator = bringsToken{}

// Authenticate returns an error if there is no token.
func (bringsToken) Authenticate(r *http.Request) (who authn.Identity, err error) {
	if bearer(r.Header) == "" {
		return who, recourse.Unauthenticated().WithMessage("A token is required: Authorization: Bearer TOKEN.")
	}
	return who, nil
}

// Close stops the tunnel, if there is one, and the service.
func (s *System) Close() error {
	s.tunnel.close()
	s.api.http.CloseIdleConnections()
	return s.backend.Close()
}

// add adds a tool whose handler returns an object.
func add[In any](s *System, tool *mcp.Tool, handler func(ctx context.Context, in In) (object, error)) {
	if tool.Annotations == nil {
		tool.Annotations = creates
	}
	mcp.AddTool(s.server, tool, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		if err := refuseEmpty(req.Params.Arguments); err != nil {
			return nil, nil, err
		}
		if s.options.Hosted {
			token := ""
			if req.Extra != nil {
				token = bearer(req.Extra.Header)
			}
			ctx = context.WithValue(ctx, tokenKey{}, token)
		}
		out, err := handler(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		return nil, out, nil
	})
}

// refuseEmpty checks in advance that arguments are not empty: an id "" does not count as left out, and []
// does not mean everybody.
func refuseEmpty(arguments json.RawMessage) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &members); err != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if v := bytes.Join(bytes.Fields(members[name]), nil); string(v) == `""` || string(v) == `[]` {
			return recourse.InvalidValue(name, "something", nil).WithMessage("%s is empty: leave it out, or give something.", name)
		}
	}
	return nil
}
