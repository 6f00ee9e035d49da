package gateway

import (
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/protocol/tracecontext"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A spanContext is where a request is in a distributed trace, with what is forwarded to the server.
type spanContext struct {
	observe.Span

	baggage string
}

// trace continues the client's trace, or begins one, if the configuration asks for traces. _meta takes
// precedence over headers, since an HTTP library may have set those.
func trace(c *call, next next) *failure {
	if c.table.config.Tracing == nil || !c.req.asks() {
		return next(c)
	}
	t, meta := &c.trace, c.req.msg.Trace()
	of, ok := tracecontext.Parse(c.req.only(wire.HeaderTraceParent))
	t.Parent, t.State, t.baggage = of, c.req.only(wire.HeaderTraceState), c.req.only(wire.HeaderBaggage)
	if inner, okInner := tracecontext.Parse(meta.Parent); okInner {
		if ok && inner != of {
			t.Link = of
		}
		t.Parent, t.State, ok = inner, meta.State, true
	}
	if meta.Baggage != "" {
		t.baggage = meta.Baggage
	}
	if ok {
		t.Own = t.Parent.Child()
	} else {
		t.Own, t.State = tracecontext.New(c.table.config.Tracing.Sample), "" // the state belongs to the parent
	}
	return next(c)
}

// spread tells the server an attempt's span, in the header and in _meta. What the client sent is passed on as it is if
// there is no trace, or one that the client does not record.
func spread(a *attempt, try try) end {
	t, r := &a.of.trace, a.request
	if r.Message == nil || t.Own.IsZero() || !t.Own.Sampled && !t.Parent.IsZero() {
		return try(a)
	}
	span := t.Own.Child()
	a.report.Span = span.Span
	said := wire.Trace{Parent: span.String(), State: t.State, Baggage: t.baggage}
	r.Header[wire.HeaderTraceParent] = []string{said.Parent}
	if delete(r.Header, wire.HeaderTraceState); tracecontext.Passes(said.State) {
		r.Header[wire.HeaderTraceState] = []string{said.State}
	}
	if delete(r.Header, wire.HeaderBaggage); tracecontext.Passes(said.Baggage) {
		r.Header[wire.HeaderBaggage] = []string{said.Baggage}
	}
	if !t.Own.Sampled {
		return try(a)
	}
	m := wire.BorrowMessage()
	defer m.Return()
	if text := r.Message.WithTrace(said); text != nil && wire.Parse(text, m) == nil {
		r.Message = m
	}
	return try(a)
}
