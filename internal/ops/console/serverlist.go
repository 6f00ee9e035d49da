package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
)

// restarts returns how often a server's program has ended by itself; "": it has none.
func (s *serverView) restarts() string {
	if s.Processes == nil {
		return ""
	}
	return grouped(s.Processes.Died)
}

// A serverOrder is a way to sort the servers: those first that want to be looked at.
type serverOrder struct {
	name, title string
	number      bool
	compare     func(a, b *serverView) int
}

// serverOrders are the columns of the list.
var serverOrders = []serverOrder{
	{"name", "Server", false, func(a, b *serverView) int { return cmp.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title)) }},
	{"state", "State", false, func(a, b *serverView) int { return cmp.Compare(b.rank(), a.rank()) }},
	{"calls", "Calls", true, func(a, b *serverView) int { return cmp.Compare(b.tally.calls, a.tally.calls) }},
	{"failed", "Failed", true, func(a, b *serverView) int { return cmp.Compare(b.tally.failures, a.tally.failures) }},
	{"p50", "p50", true, func(a, b *serverView) int { return cmp.Compare(b.tally.took.quantile(.5), a.tally.took.quantile(.5)) }},
	{"p99", "p99", true, func(a, b *serverView) int { return cmp.Compare(b.tally.took.quantile(.99), a.tally.took.quantile(.99)) }},
	{"restarts", "Restarts", true, func(a, b *serverView) int { return cmp.Compare(b.died(), a.died()) }},
}

// rank returns how much a server's state wants to be looked at.
func (s *serverView) rank() int { return slices.Index(states, s.state().name) }

// states are the names of states, those last that want to be looked at.
var states = []string{"idle", answers, "held", "silent"}

func (s *serverView) died() int64 {
	if s.Processes == nil {
		return -1
	}
	return s.Processes.Died
}

// A serverListing is the page about all servers.
type serverListing struct {
	shown       []*serverView
	total, many int // how many there are, and how many match
	now         time.Time

	text, state, sort string // as in the URL
	counts            map[string]int
}

// maxServers limits how many servers are shown at a time.
const maxServers = 500

// serverList lists the servers that match, in the order of the configuration or in another one.
func (c *Console) serverList(r *http.Request) (*view, error) {
	from := r.URL.Query()
	l := &serverListing{
		now: c.now(), text: from.Get(paramText), state: from.Get(paramState), sort: from.Get(paramSort), counts: map[string]int{},
	}
	all := c.servers()
	l.total = len(all)
	text := strings.ToLower(l.text)
	for _, s := range all {
		if !strings.Contains(strings.ToLower(s.Server+" "+s.Title+" "+s.Target+" "+s.Contract), text) {
			continue
		}
		state := s.state().name
		l.counts[state]++
		if l.state == "" || l.state == state {
			l.shown = append(l.shown, s)
		}
	}
	if i := slices.IndexFunc(serverOrders, func(o serverOrder) bool { return o.name == l.sort }); i >= 0 {
		slices.SortStableFunc(l.shown, serverOrders[i].compare)
	}
	l.many = len(l.shown)
	l.shown = l.shown[:min(l.many, maxServers)]
	return &view{title: "Servers", body: serverList(l)}, nil
}

// at returns the URL of the list with another order or state.
func (l *serverListing) at(name, value string) templ.SafeURL {
	values := url.Values{}
	for _, p := range []param{{paramText, l.text}, {paramState, l.state}, {paramSort, l.sort}} {
		if p.name == name {
			p.value = value
		}
		if p.value != "" {
			values.Set(p.name, p.value)
		}
	}
	if len(values) == 0 {
		return templ.SafeURL(serversPath)
	}
	return templ.SafeURL(serversPath + "?" + values.Encode())
}

// direction returns in which direction a column sorts, and arrow a sign for that.
func direction(o serverOrder) string {
	if o.name == "name" {
		return "ascending"
	}
	return "descending"
}

func arrow(o serverOrder) string {
	return map[string]string{"ascending": "▲", "descending": "▼"}[direction(o)]
}

// stateNames says what the states are, in a filter.
var stateNames = map[string]string{"silent": "does not answer", "held": "held back", answers: answers, "idle": "not called yet"}
