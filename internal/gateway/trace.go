package gateway

import (
	"net/http"

	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/tracecontext"
	"github.com/recoursehq/recourse/internal/wire"
)

// A spanContext is where a request is in a distributed trace, with what is forwarded to the server.
type spanContext struct {
	observe.Span

	baggage string
}

// trace continues the client's trace, or begins one, if the configuration asks for traces. _meta takes
// precedence over headers, since an HTTP library may have set those.
func trace(c *call, next next) error {
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

// continueTrace tells the server the attempt's span, in the header and in _meta, and returns the message with
// it. An endpoint that only observes passes on what the client sent, and so does a trace that the client does
// not record.
func (c *call) continueTrace(header http.Header) *wire.Message {
	t := &c.trace
	if t.Own.IsZero() || !c.on.manner.acts() || !t.Own.Sampled && !t.Parent.IsZero() {
		return c.req.msg
	}
	span := t.Own.Child()
	c.out.last.Span = span.Span
	said := wire.Trace{Parent: span.String(), State: t.State, Baggage: t.baggage}
	header[wire.HeaderTraceParent] = []string{said.Parent}
	if delete(header, wire.HeaderTraceState); tracecontext.Passes(said.State) {
		header[wire.HeaderTraceState] = []string{said.State}
	}
	if delete(header, wire.HeaderBaggage); tracecontext.Passes(said.Baggage) {
		header[wire.HeaderBaggage] = []string{said.Baggage}
	}
	if !t.Own.Sampled {
		return c.req.msg
	}
	m := wire.BorrowMessage()
	if text := c.req.msg.WithTrace(said); text == nil || wire.Parse(text, m) != nil {
		m.Return()
		return c.req.msg
	}
	return m
}
