package admin

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/recoursehq/recourse/internal/gateway"
)

// seconds are the bounds of the buckets that OpenTelemetry's conventions for MCP advise.
var seconds = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

// listen is the method of a stream that lasts for hours.
const listen = "subscriptions/listen"

// metrics are what is counted. No label takes a value that a client can make up: tools are those that the server lists, and
// methods those of MCP.
type metrics struct {
	duration, attempt  *prometheus.HistogramVec
	failures, attempts *prometheus.CounterVec
}

func newMetrics(to prometheus.Registerer, version string) metrics {
	m := metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mcp_server_operation_duration_seconds", Buckets: seconds,
			Help: "How long requests of clients took. error_type is the kind of the failure, empty for a success.",
		}, []string{"server", "mcp_method_name", "gen_ai_tool_name", "error_type"}),
		attempt: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "recourse_attempt_duration_seconds", Buckets: seconds,
			Help: "How long servers took to begin an answer, or attempts to fail.",
		}, []string{"server"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "recourse_failures_total",
			Help: "Failures that clients were told, by who failed and whether anything may have been changed.",
		}, []string{"server", "gen_ai_tool_name", "kind", "origin", "effect", "mode"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "recourse_attempts_total",
			Help: "Requests to servers. error_type is the kind of the failure, empty for an answer; repetition says that one came before.",
		}, []string{"server", "error_type", "repetition"}),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "recourse_build_info", Help: "1. The labels say what runs.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	})
	info.Set(1)
	to.MustRegister(m.duration, m.attempt, m.failures, m.attempts, info,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Ended implements [gateway.Observer].
func (m metrics) Ended(o *gateway.Outcome) {
	kind := ""
	if e := o.Record; e != nil {
		kind = string(e.Kind)
		mode := "enforce"
		if o.Observed {
			mode = "observe"
		}
		m.failures.WithLabelValues(o.Server, o.Tool, kind, string(e.Origin), string(e.Effect), mode).Inc()
	}
	if o.Method != "" && o.Method != listen { // else it is a stream, or the end of a session
		m.duration.WithLabelValues(o.Server, o.Method, o.Tool, kind).Observe(o.Took.Seconds())
	}
	for i, attempt := range o.Attempts {
		repetition := "false"
		if i > 0 {
			repetition = "true"
		}
		m.attempts.WithLabelValues(o.Server, string(attempt.Failure), repetition).Inc()
		m.attempt.WithLabelValues(o.Server).Observe(attempt.Took.Seconds())
	}
}

var _ gateway.Observer = metrics{}
