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
	header := func(name string) string {
		if values := c.req.http.Header[name]; len(values) == 1 {
			return values[0]
		}
		return ""
	}
	t := &c.trace
	meta := c.req.msg.Trace()
	sent := wire.Trace{
		Parent: header(wire.HeaderTraceParent), State: header(wire.HeaderTraceState), Baggage: header(wire.HeaderBaggage),
	}
	of, ok := tracecontext.Parse(sent.Parent)
	t.Parent, t.State, t.baggage = of, sent.State, sent.Baggage
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
	_, observes := c.on.manner.(observing)
	if t.Own.IsZero() || observes || !t.Own.Sampled && !t.Parent.IsZero() {
		return c.req.msg
	}
	span := t.Own.Child()
	c.out.last.Span = span.Span
	said := wire.Trace{Parent: span.String(), State: t.State, Baggage: t.baggage}
	setTrace(header, said)
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

// returnTraced returns a message from continueTrace to its pool once it has been sent.
func (c *call) returnTraced(m *wire.Message) {
	if m != nil && m != c.req.msg {
		m.Return()
	}
}

// setTrace says in headers where a request stands.
func setTrace(header http.Header, t wire.Trace) {
	header[wire.HeaderTraceParent] = []string{t.Parent}
	if delete(header, wire.HeaderTraceState); tracecontext.Passes(t.State) {
		header[wire.HeaderTraceState] = []string{t.State}
	}
	if delete(header, wire.HeaderBaggage); tracecontext.Passes(t.Baggage) {
		header[wire.HeaderBaggage] = []string{t.Baggage}
	}
}
