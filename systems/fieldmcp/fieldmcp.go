package fieldmcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/systems"
	"github.com/recoursehq/recourse/systems/internal/loopback"
)

// Options change a System. The zero value is a good one.
type Options struct {
	// Identity says whose tokens are accepted beside API keys; nil means nobody's.
	Identity *Identity
	// Organisation is who calls on stdio, where there are no credentials, and whose key
	// is that of Entrance; "" means willow.
	Organisation string
	// Quotas are what an organisation may use up; nil means 100 calls a minute and
	// 17,000 a calendar month.
	Quotas []mcptool.Policy
	// Proxies are the networks of proxies that tell the client's address, see
	// [mcptool.WithTrustedProxies]; nil: there are none.
	Proxies []netip.Prefix
	// Timeout is how long the provider may take for one answer; 0 means 5 s.
	Timeout time.Duration
	// Patience is how long a call may wait altogether until the provider is asked
	// again, before a failure surfaces; 0 means 20 s.
	Patience time.Duration
	// Logger gets a line for each failure, with its cause; nil means slog.Default.
	Logger *slog.Logger
	// Now is asked for the time of day; nil means time.Now.
	Now func() time.Time

	sleep func(context.Context, time.Duration) error // between repetitions
}

// Quotas returns those of an organisation: calls a minute and calls a calendar month, 0 for
// what they are in production.
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
	provider *provider
	backend  *loopback.Server
	deere    *deere
	auth     *authenticator
	self     string // who calls on stdio
}

var _ systems.System = (*System)(nil)

// headerOrganisation tells the tools who is calling. The guard sets it, and no client
// can.
const headerOrganisation = "Fieldmcp-Organisation"

// deadline is how long a call may take, all items of a batch together.
const deadline = 30 * time.Second

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
	c := contract.Builtin().MustGet("fieldmcp")
	s := &System{self: o.Organisation, auth: newAuthenticator(o.Identity, o.Now)}
	var err error
	if s.provider, err = newProvider(o.Now); err != nil {
		return nil, fmt.Errorf("fieldmcp: %w", err)
	}
	if s.backend, err = loopback.Serve(s.provider); err != nil {
		return nil, fmt.Errorf("fieldmcp: %w", err)
	}
	s.deere = newDeere(s.backend.URL, o)
	if err := s.connectAll(); err != nil {
		return nil, errors.Join(fmt.Errorf("fieldmcp: %w", err), s.Close())
	}
	s.server = mcp.NewServer(&mcp.Implementation{Name: "fieldmcp", Title: "FieldMCP", Version: "1.0.0"}, nil)
	s.addTools()
	// The guard charges the organisation; without one, on stdio, Use does.
	shared := []mcptool.CommonOption{
		mcptool.WithLogger(o.Logger), mcptool.WithClock(o.Now), mcptool.WithLimiter(mcptool.NewWindows(o.Now, o.Quotas...)),
	}
	guarding := []mcptool.GuardOption{
		mcptool.WithAuthenticator(s.auth), mcptool.WithCallerHeader(headerOrganisation), mcptool.WithLockout(25, 900*time.Second),
		mcptool.WithTrustedProxies(o.Proxies...),
	}
	using := []mcptool.Option{mcptool.WithDeadline(deadline)}
	for _, option := range shared {
		guarding, using = append(guarding, option), append(using, option)
	}
	mcptool.Use(s.server, c, using...)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /dashboard/{action}", s.dashboard)
	mux.Handle("/", mcptool.Guard(systems.MCPHandler(s.server), c, guarding...))
	s.handler = mux
	return s, nil
}

// connectAll makes the connections that the organisations begin with; new has none.
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

// Entrance returns what a client of Handler has to bring: an API key.
func (s *System) Entrance() systems.Entrance {
	return systems.Entrance{Path: "/mcp", Header: http.Header{"Authorization": {"Bearer " + APIKey(s.self)}}}
}

// Close ends the provider.
func (s *System) Close() error {
	s.deere.http.CloseIdleConnections()
	s.auth.close()
	return s.backend.Close()
}

// caller returns the organisation that a call is of.
func (s *System) caller(req *mcp.CallToolRequest) string {
	if extra := req.GetExtra(); extra != nil && extra.Header != nil {
		return extra.Header.Get(headerOrganisation)
	}
	return s.self
}

// Scenes returns calls to try.
func (s *System) Scenes() []systems.Scene {
	return []systems.Scene{
		{Title: "A list that works.", Tool: listResources, Arguments: `{"resourceType":"fields"}`},
		{Title: "A field that does not exist.", Tool: getField, Arguments: `{"fieldId":"FLD-999"}`},
		{Title: "Wrong arguments.", Tool: listResources, Arguments: `{"resourceType":"tractors"}`},
		{
			Title: "A batch of which a part fails: what there is can be used.", Tool: getFields,
			Arguments: `{"fieldIds":["FLD-101","FLD-999","fault-503"]}`,
		},
		{Title: "An analysis with what there is.", Tool: analyzeYield, Arguments: `{"fieldId":"FLD-103","season":2025}`},
		{Title: "An analysis that lacks its data.", Tool: analyzeYield, Arguments: `{"fieldId":"FLD-104","season":2025}`},
		{
			Title: "Nothing in the period.", Tool: searchOperations,
			Arguments: `{"fieldId":"FLD-101","startDate":"1999-01-01","endDate":"1999-12-31"}`,
		},
		{Title: "The provider limits requests.", Tool: getField, Arguments: `{"fieldId":"fault-429"}`},
		{Title: "The provider is down, whatever is tried.", Tool: getField, Arguments: `{"fieldId":"fault-502"}`},
	}
}
