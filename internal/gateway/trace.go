package gateway

import (
	"net/http"

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

// continued tells the server an attempt's span, in the header and in _meta, and returns the message with it. What
// the client sent is passed on as it is if there is no trace, or one that the client does not record.
func (t *spanContext) continued(msg *wire.Message, header http.Header) (*wire.Message, tracecontext.SpanID) {
	if t.Own.IsZero() || !t.Own.Sampled && !t.Parent.IsZero() {
		return msg, tracecontext.SpanID{}
	}
	span := t.Own.Child()
	said := wire.Trace{Parent: span.String(), State: t.State, Baggage: t.baggage}
	header[wire.HeaderTraceParent] = []string{said.Parent}
	if delete(header, wire.HeaderTraceState); tracecontext.Passes(said.State) {
		header[wire.HeaderTraceState] = []string{said.State}
	}
	if delete(header, wire.HeaderBaggage); tracecontext.Passes(said.Baggage) {
		header[wire.HeaderBaggage] = []string{said.Baggage}
	}
	if !t.Own.Sampled {
		return msg, span.Span
	}
	m := wire.BorrowMessage()
	if text := msg.WithTrace(said); text == nil || wire.Parse(text, m) != nil {
		m.Return()
		return msg, span.Span
	}
	return m, span.Span
}
