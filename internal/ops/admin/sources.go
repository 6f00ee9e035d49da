package admin

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/policy/breaker"
)

// Sources are the parts of the program that report figures when the metrics are read. Those that are nil are
// absent.
type Sources struct {
	Gateway     func() gateway.Stats
	Protections func() []gateway.Protection
	Limits      func() gateway.LimitStats
	Spans       func() Spans
	Journal     func() JournalCounts
	Unknown     func() (calls int, err error)              // that are made once, and of which nobody has said for long what became of them
	Pins        func() (waiting map[string]int, err error) // changes of servers' tools that nobody has accepted
}

// Spans counts the exporter's spans.
type Spans struct{ Sent, Dropped, Refused uint64 }

// JournalCounts counts the calls for the journal.
type JournalCounts struct{ Written, Lost uint64 }

// A figure is a metric that is read from its source.
type figure struct {
	family

	desc *prometheus.Desc
	kind prometheus.ValueType
}

func newFigure(kind prometheus.ValueType, name, help string, labels ...string) figure {
	return figure{family{name: name, labels: labels}, prometheus.NewDesc(name, help, labels, nil), kind}
}

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

var (
	requests     = newFigure(gauge, "recourse_requests_in_flight", "Requests under way, and the streams that clients hold open.")
	requestBytes = newFigure(gauge, "recourse_request_bytes_in_flight", "Bytes that the requests under way hold.")
	sessions     = newFigure(gauge, "recourse_sessions", "Sessions of clients.", "server")
	budget       = newFigure(gauge, "recourse_retry_budget", "Repetitions that may be made at once.", "server")
	processes    = newFigure(gauge, "recourse_processes", "Processes of the server's program.", "server")
	starts       = newFigure(counter, "recourse_process_starts_total", "Processes that were started.", "server")
	deaths       = newFigure(counter, "recourse_process_deaths_total", "Processes that ended without having been stopped.", "server")

	circuit = newFigure(gauge, "recourse_breaker_open", "1 while calls are refused, 0.5 while one at a time probes, otherwise 0.",
		"server", "gen_ai_tool_name")
	heldBack  = newFigure(counter, "recourse_breaker_refusals_total", "Calls that the breaker refused.", "server", "gen_ai_tool_name")
	places    = newFigure(gauge, "recourse_concurrency_limit", "Calls that may be under way at once.", "server", "tools")
	taken     = newFigure(gauge, "recourse_concurrency_used", "Calls that are.", "server", "tools")
	queue     = newFigure(gauge, "recourse_queue_length", "Calls that wait for their turn.", "server", "tools")
	queueFull = newFigure(counter, "recourse_queue_refusals_total", "Calls whose turn did not come.", "server", "tools")

	turn = newFigure(gauge, "recourse_limit_waiting", "Calls that wait for others of the same caller to end.")
	away = newFigure(counter, "recourse_limit_redis_failures_total", "Times that Redis failed to count a call, or to keep a long session.")

	spans = newFigure(counter, "recourse_spans_total", "Spans of traces: sent, dropped for want of room, or refused by the collector.",
		"result")
	journal = newFigure(counter, "recourse_journal_calls_total", "Calls that were to be written down: written or lost.", "result")
	unknown = newFigure(gauge, "recourse_once_unknown",
		"Calls made once of which it has not been known for a quarter of an hour what became of them.")
	pinned  = newFigure(gauge, "recourse_pin_changes_waiting", "Changes of a pinned server's tools that nobody has accepted.", "server")
	expires = newFigure(gauge, "recourse_tls_certificate_expiry_timestamp_seconds", "When the certificate expires.")
)

var figures = []figure{
	requests, requestBytes, sessions, budget, processes, starts, deaths, circuit, heldBack, places, taken, queue, queueFull, turn, away,
	spans, journal, unknown, pinned, expires,
}

// sources collects the figures.
type sources struct {
	Sources

	tools *bounds
}

var _ prometheus.Collector = sources{}

// Describe implements [prometheus.Collector].
func (sources) Describe(to chan<- *prometheus.Desc) {
	for _, f := range figures {
		to <- f.desc
	}
}

// Collect implements [prometheus.Collector].
func (s sources) Collect(to chan<- prometheus.Metric) {
	read := scrape{to: to, left: forFigures, others: map[*prometheus.Desc]*rest{}}
	defer read.end()
	say := read.say
	if s.Gateway != nil {
		now := s.Gateway()
		s.pins(now.Servers, say)
		say(requests, float64(now.Requests))
		say(requestBytes, float64(now.RequestBytes))
		if !now.Expires.IsZero() {
			say(expires, float64(now.Expires.Unix()))
		}
		for _, of := range now.Servers {
			say(sessions, float64(of.Sessions), of.Server)
			say(budget, of.Budget, of.Server)
			if p := of.Processes; p != nil {
				say(processes, float64(p.Running), of.Server)
				say(starts, float64(p.Started), of.Server)
				say(deaths, float64(p.Died), of.Server)
			}
		}
	}
	if s.Protections != nil {
		for _, p := range s.Protections() {
			s.protection(p, say)
		}
	}
	if s.Limits != nil {
		now := s.Limits()
		say(turn, float64(now.Waiting))
		say(away, float64(now.RedisFailures))
	}
	if s.Spans != nil {
		now := s.Spans()
		say(spans, float64(now.Sent), "sent")
		say(spans, float64(now.Dropped), "dropped")
		say(spans, float64(now.Refused), "refused")
	}
	if s.Journal != nil {
		now := s.Journal()
		say(journal, float64(now.Written), "written")
		say(journal, float64(now.Lost), "lost")
	}
	if s.Unknown != nil {
		if n, err := s.Unknown(); err == nil {
			say(unknown, float64(n))
		}
	}
}

// A scrape is the figures of one request for them. Those for which there is no room are added up, with all labels other.
type scrape struct {
	to     chan<- prometheus.Metric
	left   int // bytes
	others map[*prometheus.Desc]*rest
}

type rest struct {
	figure

	sum    float64
	labels int
}

func (r *scrape) say(f figure, value float64, labels ...string) {
	bounded := slices.ContainsFunc(f.labels, isOpen)
	if bounded {
		r.left -= f.size(labels)
	}
	ownOther := !slices.ContainsFunc(labels, func(value string) bool { return value != other })
	if !bounded || r.left >= 0 && !ownOther {
		r.to <- prometheus.MustNewConstMetric(f.desc, f.kind, value, labels...)
		return
	}
	if r.others[f.desc] == nil {
		r.others[f.desc] = &rest{figure: f, labels: len(labels)}
	}
	r.others[f.desc].sum += value
}

func (r *scrape) end() {
	for _, o := range r.others {
		r.to <- prometheus.MustNewConstMetric(o.desc, o.kind, o.sum, slices.Repeat([]string{other}, o.labels)...)
	}
}

// pins reports what waits at the servers that have pins.
func (s sources) pins(servers []gateway.ServerFigures, say func(f figure, value float64, labels ...string)) {
	if s.Pins == nil {
		return
	}
	waiting, err := s.Pins()
	for _, of := range servers {
		if n, has := waiting[of.Server]; has && err == nil {
			say(pinned, float64(n), of.Server)
		}
	}
}

// protection reports what holds calls back from a server. Tools beyond the limit are not reported one by one.
func (s sources) protection(p gateway.Protection, say func(f figure, value float64, labels ...string)) {
	level := map[breaker.Status]float64{breaker.StatusOpen: 1, breaker.StatusHalfOpen: 0.5}
	tools := s.tools.of(p.Server)
	for _, c := range p.Circuits {
		tool := tools.value(c.Tool)
		if tool == other && c.Tool != other {
			continue
		}
		say(circuit, level[c.Status], p.Server, tool)
		say(heldBack, float64(c.Refused), p.Server, tool)
	}
	for _, b := range p.Bulkheads {
		say(places, float64(b.Max), p.Server, b.Tools)
		say(taken, float64(b.In), p.Server, b.Tools)
		say(queue, float64(b.Queued), p.Server, b.Tools)
		say(queueFull, float64(b.Refused), p.Server, b.Tools)
	}
}
