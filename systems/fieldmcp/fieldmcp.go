package fieldmcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/systems"
	"github.com/recoursehq/recourse/systems/internal/loopback"
)

// Options change a System. The zero value is valid.
type Options struct {
	// Identity says whose tokens are accepted besides API keys; nil means nobody's.
	Identity *Identity
	// Provider is the URL of an external provider, for a system behind a gateway that keeps the accounts
	// there: each request has the access token of its caller's account in Authorization. Then there are no
	// API keys, quotas or dashboard, which the gateway provides; "" means that the system has a provider of
	// its own.
	Provider string
	// Organisation is the caller on stdio, where there are no credentials, and its key is that of Entrance;
	// "" means willow.
	Organisation string
	// Quotas are the quotas of an organisation; nil means 100 calls a minute and 17,000 a calendar month.
	Quotas []mcptool.Policy
	// Proxies are the networks of proxies that report the client's address, see [mcptool.WithTrustedProxies];
	// nil: none.
	Proxies []netip.Prefix
	// Timeout is how long the provider may take for one answer; 0 means 5 s.
	Timeout time.Duration
	// Patience is how long a call may wait in total for repetitions, before its failure is reported; 0 means
	// 20 s.
	Patience time.Duration
	// Logger gets a line for each failure, with its cause; nil means slog.Default.
	Logger *slog.Logger
	// Now returns the time of day; nil means time.Now.
	Now func() time.Time

	sleep func(context.Context, time.Duration) error // between repetitions
}

// Quotas returns an organisation's quotas: calls a minute and calls a calendar month, 0 for the production
// values.
func Quotas(minute, month int64) []mcptool.Policy {
	const inMinute, inMonth = 100, 17_000
	return []mcptool.Policy{
		{Name: "minute", Limit: cmp.Or(minute, inMinute), Window: time.Minute},
		{Name: "month", Limit: cmp.Or(month, inMonth)},
	}
}

// System is the server with its provider. Get one with New.
type System struct {
	server   *mcp.Server
	handler  http.Handler
	provider *StandIn        // nil: external
	backend  *loopback.Local // serves provider
	deere    *deere
	auth     *authenticator
	self     string // the caller on stdio
}

var _ systems.System = (*System)(nil)

// headerOrganisation tells the tools who is calling. Only the guard can set it.
const headerOrganisation = "Fieldmcp-Organisation"

// deadline is how long a call may take, including all items of a batch.
const deadline = 30 * time.Second

// serverOptions work out the schemas of the tools once: they are the same in every System.
var serverOptions = &mcp.ServerOptions{SchemaCache: mcp.NewSchemaCache()}

// New starts the provider and returns the system; call Close when done.
func New(o Options) (*System, error) {
	o.Organisation = cmp.Or(o.Organisation, "willow")
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	o.Patience = cmp.Or(o.Patience, 20*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.sleep == nil {
		o.sleep = sleep
	}
	if o.Quotas == nil {
		o.Quotas = Quotas(0, 0)
	}
	s := &System{self: o.Organisation, auth: newAuthenticator(o.Identity, o.Now)}
	if o.Provider != "" {
		s.deere = newDeere(o.Provider, o)
		s.serveConnected(o)
		return s, nil
	}
	var err error
	if s.provider, err = NewStandIn(StandInOptions{Now: o.Now}); err != nil {
		return nil, fmt.Errorf("fieldmcp: %w", err)
	}
	if s.backend, err = loopback.Serve(s.provider); err != nil {
		return nil, fmt.Errorf("fieldmcp: %w", err)
	}
	s.deere = newDeere(s.backend.URL, o)
	if err := s.connectAll(); err != nil {
		return nil, errors.Join(fmt.Errorf("fieldmcp: %w", err), s.Close())
	}
	s.serve(o)
	return s, nil
}

// serve creates the server for clients with credentials.
func (s *System) serve(o Options) {
	// The guard charges the organisation; on stdio, without a guard, Use does.
	shared := []mcptool.CommonOption{
		mcptool.WithLogger(o.Logger), mcptool.WithClock(o.Now), mcptool.WithLimiter(mcptool.NewWindows(o.Now, o.Quotas...)),
	}
	guarding := []mcptool.GuardOption{
		mcptool.WithAuthenticator(s.auth), mcptool.WithCallerHeader(headerOrganisation), mcptool.WithLockout(25, 900*time.Second),
		mcptool.WithTrustedProxies(o.Proxies...),
	}
	using := []mcptool.Option{mcptool.WithTimeout(deadline)}
	for _, option := range shared {
		guarding, using = append(guarding, option), append(using, option)
	}
	c := s.newServer(using...)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /dashboard/{action}", s.dashboard)
	mux.Handle("/", mcptool.Guard(systems.MCPHandler(s.server), c, guarding...))
	s.handler = mux
}

// serveConnected creates the server for a gateway that identifies the clients, and keeps their accounts.
func (s *System) serveConnected(o Options) {
	s.newServer(mcptool.WithTimeout(deadline), mcptool.WithLogger(o.Logger), mcptool.WithClock(o.Now))
	s.handler = systems.MCPHandler(s.server)
}

// newServer makes the MCP server, and returns its contract.
func (s *System) newServer(using ...mcptool.Option) *contract.Contract {
	c := contract.MustBuiltin("fieldmcp")
	s.server = mcp.NewServer(&mcp.Implementation{Name: "fieldmcp", Title: "FieldMCP", Version: "1.0.0"}, serverOptions)
	s.addTools()
	mcptool.Use(s.server, c, using...)
	return c
}

// connectAll makes the organisations' initial connections; new has none.
func (s *System) connectAll() error {
	for _, organisation := range organisations {
		s.Connect(organisation)
	}
	s.Disconnect("new")
	return errors.Join(s.Lapse("lapsed"), s.Revoke("revoked"), s.Narrow("narrow", "ag1"))
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// MCPServer returns the server for stdio.
func (s *System) MCPServer() *mcp.Server { return s.server }

// Handler serves Streamable HTTP, to clients of both eras.
func (s *System) Handler() http.Handler { return s.handler }

// Entrance returns what a client of Handler must send: an API key. Behind a gateway that keeps the accounts,
// a client has nothing to send.
func (s *System) Entrance() systems.Entrance {
	if s.provider == nil {
		return systems.Entrance{Path: "/mcp"}
	}
	return systems.Entrance{Path: "/mcp", Header: http.Header{"Authorization": {"Bearer " + APIKey(s.self)}}}
}

// Close ends the provider.
func (s *System) Close() error {
	s.deere.http.CloseIdleConnections()
	s.auth.close()
	if s.backend == nil {
		return nil
	}
	return s.backend.Close()
}

// caller returns the organisation that makes a call; for a gateway that keeps the accounts, the access token
// of its account.
func (s *System) caller(req *mcp.CallToolRequest) string {
	extra := req.GetExtra()
	switch {
	case extra == nil || extra.Header == nil:
		return s.self
	case s.provider == nil:
		return strings.TrimPrefix(extra.Header.Get("Authorization"), "Bearer ")
	default:
		return extra.Header.Get(headerOrganisation)
	}
}

// Scenes returns calls to try.
func (s *System) Scenes() []systems.Scene {
	return []systems.Scene{
		{Title: "A list that works.", Tool: listResources, Arguments: `{"resourceType":"fields"}`},
		{Title: "A field that does not exist.", Tool: getField, Arguments: `{"fieldId":"FLD-999"}`},
		{Title: "Wrong arguments.", Tool: listResources, Arguments: `{"resourceType":"tractors"}`},
		{
			Title: "A batch of which a part fails: what there is can be used.", Tool: getFields,
			Arguments: `{"fieldIds":["FLD-101","FLD-999","fault-502"]}`,
		},
		{Title: "An analysis with what there is.", Tool: analyzeYield, Arguments: `{"fieldId":"FLD-103","season":2025}`},
		{Title: "An analysis that lacks its data.", Tool: analyzeYield, Arguments: `{"fieldId":"FLD-104","season":2025}`},
		{
			Title: "Nothing in the period.", Tool: searchOperations,
			Arguments: `{"fieldId":"FLD-101","startDate":"1999-01-01","endDate":"1999-12-31"}`,
		},
		{
			Title: "The provider limits requests, and after two repetitions still does.",
			Tool:  getField, Arguments: `{"fieldId":"fault-limited"}`,
		},
		{Title: "The provider is down, whatever is tried.", Tool: getField, Arguments: `{"fieldId":"fault-502"}`},
	}
}
