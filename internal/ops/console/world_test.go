package console_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/ops/console"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/privacy/seal"
	"github.com/recoursehq/recourse/internal/store"
)

// worldConfig has a server of each kind.
const worldConfig = `public_url: https://tools.example.com
store: sqlite:recourse.db
connection_keys: [a-key-of-at-least-32-characters-]
providers:
  deere:
    title: John Deere
    authorize_url: https://signin.example.com/authorize
    token_url: https://signin.example.com/token
    client_id: recourse
    client_secret: secret
access:
  team: {keys: [{name: ada, hash: "sha256:2d55155b85a1d99f898adec6cd93746c335da99bd18111d0cbb41310ca835850"}]}
servers:
  farm:
    title: Farm
    url: http://127.0.0.1:9101/mcp?secret=s3cr3t
    contract: fieldmcp
    connection: deere
    access: [team]
    breaker: {}
    concurrency: {max: 20}
    limits: {fair: {calls: 100/1m}, batch: {at_once: 4, tools: ["import_*"]}}
  shop:
    title: Shop
    url: https://shop.example.com/mcp
    contract: commerce
  notes:
    command: [notesd, --token, s3cr3t]
`

// A world is a gateway whose calls have failed in many ways, and its console.
type world struct {
	url      string
	last     string // the request id of the latest failed call
	doubted  string // and of one that is made once, and unknown
	sources  console.Sources
	store    *store.Store
	accounts *connection.Manager
	tally    *console.Tally
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{store: openStore(t), tally: console.NewTally()}
	w.connect(t)
	var g *gateway.Gateway
	g, w.accounts = newGateway(t, w.store)
	w.fail(t, g.Contracts())
	if _, err := w.store.Pins().Save(t.Context(), "notes", waiting()); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Journal().Note(t.Context(), &store.Action{
		Operator: "bob", From: "2001:db8::9f3c:1", What: "closed a breaker", On: map[string]string{"server": "farm", "tool": strings.Repeat("get_field_", 12)},
	}); err != nil {
		t.Fatal(err)
	}
	w.sources = console.Sources{Journal: w.store.Journal(), Once: w.store.Once(), Pins: w.store.Pins(), Gateway: g, Tally: w.tally, Accounts: w.accounts}
	w.url = serve(t, w.sources)
	return w
}

// newGateway returns the gateway of a world with a store, and its accounts.
func newGateway(t *testing.T, s *store.Store) (*gateway.Gateway, *connection.Manager) {
	t.Helper()
	set, quiet := contract.Builtin(), slog.New(slog.DiscardHandler)
	cfg, err := config.Parse("recourse.yaml", []byte(worldConfig), config.Options{KnownContracts: set.Names()})
	if err != nil {
		t.Fatal(err)
	}
	accounts := connection.NewManager(s.Connections(), seal.New(cfg.ConnectionKeys...), connection.NewClient(), quiet)
	t.Cleanup(accounts.Close)
	g, err := gateway.NewReaching(gateway.Reach{Connections: accounts}, cfg, set, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g, accounts
}

// connect connects three accounts, one of which then loses its access.
func (w *world) connect(t *testing.T) {
	t.Helper()
	now := time.Now()
	rows := w.store.Connections()
	for _, c := range []store.Connection{
		{Owner: "ada", By: "ada", State: connection.Connected, Scopes: []string{"ag1", "offline_access"}, Expires: now.Add(11 * time.Hour)},
		{Owner: "bob", By: "bob", State: connection.ReconnectNeeded, Reason: connection.Revoked, Scopes: []string{"ag1"}, Expires: now.Add(-3 * time.Hour)},
		{Owner: "acme", By: "carol", State: connection.Connected, Scopes: []string{"ag1", "ag3", "offline_access"}, Expires: now.Add(40 * time.Minute)},
	} {
		c.Provider, c.Sealed, c.KeyID = "deere", "sealed-s3cr3t", "k1"
		if err := rows.Put(t.Context(), &c); err != nil {
			t.Fatal(err)
		}
	}
}

// fail writes a day of failures, and lets the tally count the calls of the last minutes.
func (w *world) fail(t *testing.T, set *contract.Set) {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 5))
	now := time.Now()
	faults := []struct {
		server, tool, contract string
		often                  int
		e                      *recourse.Error
	}{
		{"farm", "get_field", "fieldmcp", 9, recourse.Timeout("John Deere", 20*time.Second).WithOrigin(recourse.OriginProvider)},
		{"farm", "list_fields", "fieldmcp", 5, recourse.RateLimited(30 * time.Second).WithOrigin(recourse.OriginGateway)},
		{"farm", "create_field", "fieldmcp", 3, recourse.Missing("orgId").WithOrigin(recourse.OriginCaller)},
		{"farm", "get_field", "fieldmcp", 4, recourse.TokenRevoked("John Deere").WithOrigin(recourse.OriginProvider)},
		{"farm", "get_field", "fieldmcp", 4, recourse.NotFound("field", "F-17").WithOrigin(recourse.OriginServer)},
		{"shop", "create-sales-order", "commerce", 6, recourse.Unavailable("Shop").WithOrigin(recourse.OriginServer).WithEffect(recourse.EffectUnknown)},
		{"shop", "get-orders", "commerce", 2, recourse.ServerError("Shop", 502).WithOrigin(recourse.OriginServer)},
		{"notes", "search", "recourse", 2, recourse.Unreachable("notes").WithOrigin(recourse.OriginServer)},
	}
	var calls []*journal.Row
	for hour := range 24 {
		for _, f := range faults {
			for n := random.IntN(f.often + 1); n > 0; n-- {
				if f.e.Effect == "" {
					f.e = f.e.WithEffect(recourse.EffectNone)
				}
				of, _ := set.Get(f.contract)
				c := failed(fmt.Sprintf("req-%024x", random.Uint64()), of.Write(f.e, &contract.Call{Method: "tools/call", Tool: f.tool}).Record)
				c.Server, c.Tool, c.Contract = f.server, f.tool, f.contract
				c.Caller, c.Org = []string{"ada", "bob", "carol", ""}[random.IntN(4)], []string{"acme", "acme", ""}[random.IntN(3)]
				c.Began = now.Add(-time.Duration(hour)*time.Hour - time.Duration(random.IntN(3600))*time.Second)
				calls = append(calls, c)
			}
		}
	}
	write(t, w.store, calls...)
	w.last = calls[0].RequestID
	w.doubted = calls[slices.IndexFunc(calls, func(c *journal.Row) bool { return c.Server == "shop" })].RequestID
	if _, err := w.store.Once().Begin(t.Context(), &once.Row{
		ID: once.ID(w.doubted), Fence: 1, State: once.Unknown, Note: "it failed, and may have happened", Server: "shop", Tool: "create-sales-order",
		RequestID: w.doubted, Created: now, Changed: now, Expires: now.Add(time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	for i := range 2000 {
		server := []string{"farm", "farm", "farm", "shop"}[i%4]
		o := &observe.Outcome{
			Server: server, Method: "tools/call", Began: now.Add(-time.Duration(2000-i) * time.Second), Sent: 1,
			Took:     time.Duration(20+random.ExpFloat64()*80) * time.Millisecond,
			Attempts: []observe.Attempt{{Status: 200}},
		}
		if i%40 == 0 || server == "shop" && i > 1900 {
			o.Record, o.Attempts[0] = recourse.Timeout("x", time.Second), observe.Attempt{Failure: recourse.KindTimeout}
		}
		w.tally.Ended(o)
	}
}
