package admin

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recoursehq/recourse/internal/gateway/observe"
)

// usual holds the series of usual calls, so that their labels are not looked up for each of them.
type usual struct {
	mu    sync.RWMutex
	known map[usualKey]*usualSeries
}

type usualKey struct{ server, method, tool string }

// usualSeries are those in which a usual call counts.
type usualSeries struct {
	duration, size, attempt prometheus.Observer
	attempts                prometheus.Counter
}

// isUsual reports whether a request succeeded with its first attempt, without a wait.
func isUsual(o *observe.Outcome) bool {
	return o.Record == nil && o.Seeming == nil && o.Limit == "" && o.Once == "" && o.Queued <= 0 && counts(o) &&
		len(o.Attempts) == 1 && o.Attempts[0].Failure == ""
}

// usualOf returns the series of a usual call, or nil if its tool has no label of its own.
func (m *metrics) usualOf(o *observe.Outcome) *usualSeries {
	key := usualKey{o.Server, o.Method, o.Tool}
	m.usual.mu.RLock()
	s := m.usual.known[key]
	m.usual.mu.RUnlock()
	if s != nil || m.tools.of(o.Server).value(o.Tool) != o.Tool {
		return s
	}
	s = &usualSeries{
		duration: m.duration.of(o.Server, o.Method, o.Tool, ""), size: m.size.of(o.Server),
		attempt: m.attempt.of(o.Server), attempts: m.attempts.of(o.Server, "", "false", ""),
	}
	m.usual.mu.Lock()
	defer m.usual.mu.Unlock()
	m.usual.known[key] = s
	return s
}

func (s *usualSeries) count(o *observe.Outcome) {
	s.duration.Observe(o.Took.Seconds())
	s.size.Observe(float64(o.Bytes))
	s.attempts.Inc()
	s.attempt.Observe(o.Attempts[0].Took.Seconds())
}
