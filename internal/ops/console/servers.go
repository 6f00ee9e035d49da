package console

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/policy/breaker"
	"github.com/recoursehq/recourse/internal/store"
)

const serversPath = "/servers"

// A Gateway describes its configuration and its current state: [gateway.Gateway].
type Gateway interface {
	Figures() gateway.Stats
	Protections() []gateway.Protection
	Contracts() *contract.Set
	Entrance(server, tool, access string) (e gateway.Entrance, ok bool)
	CloseBreaker(server, tool string) (wasOpen bool)
	ConnectLink(ctx context.Context, provider, owner string) (link string, err error)
}

var _ Gateway = (*gateway.Gateway)(nil)

// A serverView is what is known about a server.
type serverView struct {
	gateway.ServerFigures

	since    time.Time // its calls are counted since then
	now      time.Time
	tally    tally
	circuits []breaker.State
	places   []gateway.Bulkhead
}

// A reachability says whether a server answers, in one word and in a sentence.
type reachability struct {
	name  string // for its colour and shape
	text  string
	since time.Time // zero: that is not known
}

// answers is the state of a server that does.
const answers = "answers"

// state returns the state of the server.
func (s *serverView) state() reachability {
	if len(s.circuits) > 0 && s.circuits[0].Status != breaker.StatusClosed {
		return reachability{name: "held", text: "held back by the breaker"}
	}
	switch a := s.tally.answers; {
	case !a.called:
		return reachability{name: "idle", text: "not called yet"}
	case a.does:
		return reachability{answers, answers, a.since}
	default:
		return reachability{"silent", "does not answer: " + string(a.why), a.since}
	}
}

// share returns a part of the calls in per cent.
func (s *serverView) share() string {
	if s.tally.calls == 0 {
		return ""
	}
	share := 100 * float64(s.tally.failures) / float64(s.tally.calls)
	if share > 0 && share < .1 {
		return "< 0.1 %"
	}
	return strconv.FormatFloat(share, 'f', 1, 64) + " %"
}

// failed returns the number of failures, and their share.
func (s *serverView) failed() string {
	n := grouped(s.tally.failures)
	if share := s.share(); share != "" {
		n += " (" + share + ")"
	}
	return n
}

// servers lists all servers in the order of the configuration.
func (c *Console) servers() []*serverView {
	if c.Gateway == nil {
		return nil
	}
	protections := map[string]gateway.Protection{}
	for _, p := range c.Gateway.Protections() {
		protections[p.Server] = p
	}
	var all []*serverView
	for _, f := range c.Gateway.Figures().Servers {
		p := protections[f.Server]
		all = append(all, &serverView{
			ServerFigures: f, since: c.Tally.began, now: c.now(), tally: c.Tally.of(f.Server), circuits: p.Circuits, places: p.Bulkheads,
		})
	}
	return all
}

// A serverPage is the page about one server.
type serverPage struct {
	*serverView

	chart   *chart
	kept    bool // its failures come from the journal
	tools   []culprit
	callers []culprit
	more    bool // only the latest failures were looked at for these
	pins    *pinned
}

// A culprit is a tool that fails, or a caller whose calls fail.
type culprit struct {
	name  string // "": none is known
	count int64
	url   templ.SafeURL // of the list of the failures
}

// server shows one server.
func (c *Console) server(r *http.Request) (*view, error) {
	name := r.PathValue("name")
	all := c.servers()
	i := slices.IndexFunc(all, func(s *serverView) bool { return s.Server == name })
	if i < 0 {
		return nil, &problem{http.StatusNotFound, "There is no such server.", "The configuration has no server of that name any more."}
	}
	page := &serverPage{serverView: all[i]}
	if c.Journal == nil {
		page.chart = minutesChart(page.tally.minutes[:], c.now())
		return &view{title: page.Title, body: serverDetail(page)}, nil
	}
	page.kept = true
	done, err := c.reading(r.Context())
	if err != nil {
		return nil, err
	}
	defer done()
	if page.pins, err = c.pinned(r.Context(), name); err != nil {
		return nil, err
	}
	span := spanOf(r.URL.Query().Get(paramSince))
	f := &store.Filter{Server: name, Since: span.began(c.now())}
	bars, err := c.Journal.History(r.Context(), name, f.Since, span.bar)
	if err != nil {
		return nil, err
	}
	counts, more, err := c.Journal.Culprits(r.Context(), name, f.Since)
	if err != nil {
		return nil, err
	}
	page.chart = historyChart(bars, span, c.now())
	page.tools, page.callers = culprits(counts, f, span)
	page.more = more
	return &view{title: page.Title, body: serverDetail(page)}, nil
}

// maxCulprits limits how many of them are shown.
const maxCulprits = 10

// culprits returns which tools fail, and whose calls fail, the most frequent first.
func culprits(counts []*store.Count, f *store.Filter, s timeSpan) (tools, callers []culprit) {
	byTool, byCaller := map[string]int64{}, map[string]int64{}
	for _, n := range counts {
		byTool[n.Tool] += n.Failures
		byCaller[cmp.Or(n.Caller, n.Org)] += n.Failures
	}
	sorted := func(by map[string]int64, param string) (list []culprit) {
		for name, n := range by {
			q := url.Values{paramServer: {f.Server}, paramSince: {s.name}}
			if name != "" {
				q.Set(param, name)
			}
			list = append(list, culprit{name, n, templ.SafeURL(failuresPath + "?" + q.Encode())})
		}
		slices.SortFunc(list, func(a, b culprit) int { return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name)) })
		return list[:min(len(list), maxCulprits)]
	}
	return sorted(byTool, paramTool), sorted(byCaller, paramCaller)
}

// circuitName names the owner of a circuit breaker.
func circuitName(c breaker.State) string {
	if c.Tool == "" {
		return "the server"
	}
	return shown(c.Tool)
}

// circuitText says what a breaker does.
func circuitText(c breaker.State) string {
	var text string
	switch c.Status {
	case breaker.StatusOpen:
		text = "open, a call may probe in " + lasted(c.Wait)
	case breaker.StatusHalfOpen:
		text = "half open, one call at a time probes"
	case breaker.StatusClosed:
		text = fmt.Sprintf("closed, %d of %d calls failed", c.Failed, c.Calls)
	}
	if c.Refused > 0 {
		text += fmt.Sprintf(", %s refused", grouped(c.Refused))
	}
	return text
}

// placeName says which calls a bulkhead limits.
func placeName(tools string) string {
	if tools == "" {
		return "the server"
	}
	return shown(tools)
}

// serverURL returns the page about a server.
func serverURL(name string) templ.SafeURL {
	return templ.SafeURL(serversPath + "/" + url.PathEscape(name))
}

// limitText says what a limit allows.
func limitText(l *config.Limit) string {
	what := "calls at once"
	if l.AtOnce == 0 {
		what = "calls in " + config.WrittenDays(l.Calls.Window)
	}
	by := make([]string, len(l.By))
	for i, key := range l.By {
		by[i] = string(key)
	}
	text := strconv.FormatInt(max(l.Calls.Calls, int64(l.AtOnce)), 10) + " " + what + " by " + strings.Join(by, " and ")
	if len(l.Tools) > 0 {
		text += ", of " + strings.Join(l.Tools, ", ")
	}
	return text
}
