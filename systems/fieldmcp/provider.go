package fieldmcp

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse/systems/internal/loopback"
)

// farms are the provider's data.
//
//go:embed farms.json
var farms []byte

// An organization is a farming business, as the provider knows it.
type organization struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// A farm is a part of an organization.
type farm struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	OrgID string `json:"orgId"`
}

// A field is a piece of land.
type field struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	OrgID  string `json:"orgId"`
	FarmID string `json:"farmId"`
	Area   area   `json:"area"`
}

type area struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"` // the provider's: ha or ac
}

// A boundary is the outline of a field.
type boundary struct {
	ID      string       `json:"id"`
	FieldID string       `json:"fieldId"`
	OrgID   string       `json:"orgId"`
	Ring    [][2]float64 `json:"ring"` // longitude and latitude
}

// An equipment is a machine.
type equipment struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	OrgID string `json:"orgId"`
}

// An operation is something that was done on a field.
type operation struct {
	ID      string  `json:"id"`
	FieldID string  `json:"fieldId"`
	OrgID   string  `json:"orgId"`
	Type    string  `json:"type"` // seeding, application or harvest
	Date    string  `json:"date"`
	Crop    string  `json:"crop,omitempty"`
	Tonnes  float64 `json:"tonnes,omitempty"` // of a harvest
}

// A StandIn is a stand-in for John Deere: an API with an OAuth authorization server (RFC 6749). A System has
// one of its own unless a gateway in front of it keeps the accounts, see Options.Provider.
//
// With a Client, a person grants access at /oauth/authorize, and revokes it on the page at /.
type StandIn struct {
	o   StandInOptions
	mux http.ServeMux

	data struct {
		Organizations []organization `json:"organizations"`
		Farms         []farm         `json:"farms"`
		Fields        []field        `json:"fields"`
		Boundaries    []boundary     `json:"boundaries"`
		Equipment     []equipment    `json:"equipment"`
		Operations    []operation    `json:"operations"`
	}

	mu       sync.Mutex
	accounts map[string]*account // by organisation
	codes    map[string]code     // not exchanged yet
	tokens   map[string]grant
	asked    map[string]int // requests by path
}

// StandInOptions change a StandIn. The zero value is valid.
type StandInOptions struct {
	// Now returns the time of day; nil means time.Now.
	Now func() time.Time
	// Client may ask people for access; nil: nobody may.
	Client *Application
	// Introspect returns the scopes of another authorization server's access tokens; nil: the provider issues
	// its own.
	Introspect func(ctx context.Context, token string) (scopes []string, active bool)
}

// NewStandIn returns a provider without any grants.
func NewStandIn(o StandInOptions) (*StandIn, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &StandIn{o: o, accounts: map[string]*account{}, codes: map[string]code{}, tokens: map[string]grant{}, asked: map[string]int{}}
	if err := json.Unmarshal(farms, &p.data); err != nil {
		return nil, fmt.Errorf("farms.json: %w", err)
	}
	d := &p.data
	p.mux.HandleFunc("POST /oauth/token", p.token)
	if o.Client != nil {
		p.mux.HandleFunc("GET /{$}", p.showAccount)
		p.mux.HandleFunc("POST /{$}", p.changeAccount)
		p.mux.HandleFunc("GET /oauth/authorize", p.askConsent)
		p.mux.HandleFunc("POST /oauth/authorize", p.takeConsent)
	}
	p.mux.HandleFunc("GET /organizations", list(p, "ag1", &d.Organizations, func(*http.Request, organization) bool { return true }))
	p.mux.HandleFunc("GET /organizations/{id}", one(p, "ag1", &d.Organizations, func(o organization) string { return o.ID }))
	p.mux.HandleFunc("GET /organizations/{id}/fields", p.known(list(p, "ag1", &d.Fields, func(r *http.Request, f field) bool {
		return f.OrgID == r.PathValue("id")
	})))
	p.mux.HandleFunc("GET /organizations/{id}/boundaries", p.known(list(p, "ag1", &d.Boundaries, func(r *http.Request, b boundary) bool {
		return b.OrgID == r.PathValue("id")
	})))
	p.mux.HandleFunc("GET /organizations/{id}/equipment", p.known(list(p, "ag3", &d.Equipment, func(r *http.Request, e equipment) bool {
		return e.OrgID == r.PathValue("id")
	})))
	p.mux.HandleFunc("GET /operations", list(p, "ag2", &d.Operations, selects))
	p.mux.HandleFunc("GET /farms/{id}", one(p, "ag1", &d.Farms, func(f farm) string { return f.ID }))
	p.mux.HandleFunc("GET /fields/{id}", one(p, "ag1", &d.Fields, func(f field) string { return f.ID }))
	p.mux.HandleFunc("GET /fields/{id}/boundary", one(p, "ag1", &d.Boundaries, func(b boundary) string { return b.FieldID }))
	p.mux.HandleFunc("GET /boundaries/{id}", one(p, "ag1", &d.Boundaries, func(b boundary) string { return b.ID }))
	p.mux.HandleFunc("GET /equipment/{id}", one(p, "ag3", &d.Equipment, func(e equipment) string { return e.ID }))
	p.mux.HandleFunc("GET /operations/{id}", one(p, "ag2", &d.Operations, func(o operation) string { return o.ID }))
	return p, nil
}

// ServeHTTP fails if the path requests a fault, and otherwise serves the API.
func (p *StandIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target := r.URL.Path + " " + r.URL.RawQuery
	count := p.count(r.URL.Path)
	switch fault := loopback.Fault(target); fault {
	case "limited":
		w.Header().Set("Retry-After", "1")
		loopback.Refuse(w, http.StatusTooManyRequests, "slow_down")
		return
	case "busy": // without a Retry-After
		loopback.Refuse(w, http.StatusTooManyRequests, "slow_down")
		return
	case "brief":
		if count == 1 {
			loopback.Refuse(w, http.StatusServiceUnavailable, "restarting")
			return
		}
	case "outage":
		if count <= patient.Attempts {
			loopback.Refuse(w, http.StatusServiceUnavailable, "restarting")
			return
		}
	case "units":
		loopback.Answer(w, http.StatusOK, field{ID: "fault-units", Area: area{Value: 4, Unit: "morgen"}})
		return
	default:
		if loopback.Fail(w, r, fault) {
			return
		}
	}
	p.mux.ServeHTTP(w, r)
}

// maxPaths limits the paths whose requests are counted.
const maxPaths = 10_000

// count counts the requests for a path.
func (p *StandIn) count(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.asked) >= maxPaths {
		clear(p.asked)
	}
	p.asked[path]++
	return p.asked[path]
}

// known answers requests for an organization that does not exist.
func (p *StandIn) known(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !slices.ContainsFunc(p.data.Organizations, func(o organization) bool { return o.ID == r.PathValue("id") }) {
			loopback.Refuse(w, http.StatusNotFound, "not_found")
			return
		}
		next(w, r)
	}
}

// one returns a handler that answers with the item whose id is in the path.
func one[T any](p *StandIn, scope string, items *[]T, id func(T) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !p.admits(w, r, scope) {
			return
		}
		want := r.PathValue("id")
		if strings.HasPrefix(want, "fault-") { // the fault is over by now
			want = id((*items)[0])
		}
		i := slices.IndexFunc(*items, func(item T) bool { return id(item) == want })
		if i < 0 {
			loopback.Refuse(w, http.StatusNotFound, "not_found")
			return
		}
		loopback.Answer(w, http.StatusOK, (*items)[i])
	}
}

// list returns a handler that answers with the items that match.
func list[T any](p *StandIn, scope string, items *[]T, passes func(*http.Request, T) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !p.admits(w, r, scope) {
			return
		}
		found := []T{}
		for _, item := range *items {
			if passes(r, item) {
				found = append(found, item)
			}
		}
		loopback.Answer(w, http.StatusOK, found)
	}
}

// selects reports whether an operation matches a query.
func selects(r *http.Request, o operation) bool {
	q := r.URL.Query()
	is := func(name, value string) bool { return q.Get(name) == "" || q.Get(name) == value }
	return is("fieldId", o.FieldID) && is("orgId", o.OrgID) && is("type", o.Type) &&
		o.Date >= q.Get("from") && (q.Get("to") == "" || o.Date <= q.Get("to"))
}
