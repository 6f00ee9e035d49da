package admin

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/recoursehq/recourse/internal/gateway/observe"
)

// seconds are the bucket bounds that OpenTelemetry's conventions for MCP advise, and sizes the bounds for
// bytes.
var (
	seconds = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}
	sizes   = []float64{256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20}
)

// listen is the method of a stream that lasts for hours.
const listen = "subscriptions/listen"

// metrics are counted as calls end. No label takes a value that a client can make up: tools are those that
// the server lists, up to a limit, and methods are those of MCP. A budget bounds all series together.
type metrics struct {
	duration, attempt, queued, size     *histogram
	failures, attempts, limited, gaveUp *counted
	once, late, seeming                 *counted

	tools             *bounds
	reasons, policies *bounded
	usual             usual
}

func newMetrics(to prometheus.Registerer, version string) *metrics {
	within := newRoom()
	histogram := func(name, help string, buckets []float64, labels ...string) *histogram {
		vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		to.MustRegister(vec)
		return &histogram{vec, family{within, name, labels, len(buckets)}}
	}
	counter := func(name, help string, labels ...string) *counted {
		vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		to.MustRegister(vec)
		return &counted{vec, family{within, name, labels, 0}}
	}
	m := &metrics{
		duration: histogram("mcp_server_operation_duration_seconds",
			"How long requests of clients took. error_type is the kind of the failure, empty for a success.", seconds,
			"server", "mcp_method_name", "gen_ai_tool_name", "error_type"),
		attempt: histogram("recourse_attempt_duration_seconds",
			"How long servers took to begin an answer, or attempts to fail.", seconds, "server"),
		queued: histogram("recourse_queue_wait_seconds",
			"How long requests waited for their turn at a server that has bounds.", seconds, "server"),
		size: histogram("recourse_answer_size_bytes", "How much was sent to clients in answer to a request.", sizes, "server"),
		failures: counter("recourse_failures_total",
			"Failures that clients were told, by who failed and whether anything may have been changed.",
			"server", "gen_ai_tool_name", "kind", "origin", "effect", "nature", "mode"),
		attempts: counter("recourse_attempts_total",
			"Requests to servers. error_type is the kind of the failure, empty for an answer; reason says why it was made "+
				"although one came before.",
			"server", "error_type", "repetition", "reason"),
		limited: counter("recourse_limit_refusals_total", "Requests refused because a limit was reached.", "server", "policy"),
		gaveUp: counter("recourse_not_repeated_total",
			"Failed requests that might have been sent again after a failure of the transport, and were not.", "server", "kind"),
		once: counter("recourse_once_total", "Calls that are made once, by what became of them.",
			"server", "gen_ai_tool_name", "outcome"),
		late: counter("recourse_once_late_total", "Calls that are made once, by what came of them after their clients had been answered.",
			"server", "gen_ai_tool_name", "answer"),
		seeming: counter("recourse_seeming_failures_total",
			"Calls whose servers said success in answers that look like failures. Clients got these answers unchanged.",
			"server", "gen_ai_tool_name", "kind"),
		tools:   &bounds{most: maxTools, byServer: map[string]*bounded{}},
		reasons: newBounded(maxReasons), policies: newBounded(maxReasons),
		usual: usual{known: map[usualKey]*usualSeries{}},
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "recourse_build_info", Help: "1. The labels say what runs.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	})
	info.Set(1)
	to.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Ended implements [observe.Observer].
func (m *metrics) Ended(o *observe.Outcome) {
	if isUsual(o) {
		if s := m.usualOf(o); s != nil {
			s.count(o)
			return
		}
	}
	tool := m.tools.of(o.Server).value(o.Tool)
	kind := ""
	if e := o.Record; e != nil {
		kind = string(e.Kind)
		mode := "enforce"
		if o.Observed {
			mode = "observe"
		}
		m.failures.of(o.Server, tool, kind, string(e.Origin), string(e.Effect), o.NatureText(), mode).Inc()
	}
	if s := o.Seeming; s != nil {
		m.seeming.of(o.Server, tool, string(s.Error.Kind)).Inc()
	}
	if o.Limit != "" {
		m.limited.of(o.Server, m.policies.value(o.Limit)).Inc()
	}
	if counts(o) {
		m.duration.of(o.Server, o.Method, tool, kind).Observe(o.Took.Seconds())
		m.size.of(o.Server).Observe(float64(o.Bytes))
	}
	if o.Once != "" {
		m.once.of(o.Server, tool, o.Once).Inc()
	}
	if o.Queued > 0 {
		m.queued.of(o.Server).Observe(o.Queued.Seconds())
	}
	m.tried(o)
}

// Late implements [observe.LateObserver].
func (m *metrics) Late(l *observe.Late) {
	m.late.of(l.Server, m.tools.of(l.Server).value(l.Tool), l.Answer).Inc()
}

// counts reports whether a request has a duration: it has none if it is a stream, or the end of a session.
func counts(o *observe.Outcome) bool { return o.Method != "" && o.Method != listen }

// tried counts the attempts of a request.
func (m *metrics) tried(o *observe.Outcome) {
	for i, attempt := range o.Attempts {
		repetition, reason := "false", ""
		if i > 0 {
			repetition, reason = "true", m.reasons.value(o.Attempts[i-1].Reason)
		}
		m.attempts.of(o.Server, string(attempt.Failure), repetition, reason).Inc()
		m.attempt.of(o.Server).Observe(attempt.Took.Seconds())
	}
	if n := len(o.Attempts); n > 0 && o.Attempts[n-1].Failure != "" && o.Reason != "" {
		m.gaveUp.of(o.Server, string(o.Attempts[n-1].Failure)).Inc()
	}
}

var _ observe.LateObserver = (*metrics)(nil)
