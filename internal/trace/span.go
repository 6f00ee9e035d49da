package trace

import (
	"crypto/rand"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/tracecontext"
)

// A source identifies the sender of spans, in fields of the messages around them.
type source struct{ resource, scope message }

func newSource(version string) source {
	var resource, scope message
	resource.text(resourceAttributes, "service.name", "recourse")
	resource.text(resourceAttributes, "service.version", version)
	resource.text(resourceAttributes, "service.instance.id", rand.Text())
	scope.string(scopeName, "github.com/recoursehq/recourse")
	scope.string(scopeVersion, version)
	var s source
	s.resource.bytes(resourceSpansResource, resource)
	s.scope.bytes(scopeSpansScope, scope)
	return s
}

// spans are spans in the fields of a ScopeSpans.
type spans struct {
	fields message
	number uint64
}

// What a span is about, as OTLP numbers it.
const (
	kindServer = 2
	kindClient = 3
	codeError  = 2
	flags      = 1 // it is sampled
)

// spansOf returns the spans of a request and of its attempts, following OpenTelemetry's conventions for MCP.
// They contain nothing that the client or the server said, since neither agreed that a collector may know it.
func spansOf(o *observe.Outcome) spans {
	of := &o.Span
	name := o.Method
	about := make(message, 0, 256)
	about.text(spanAttributes, "mcp.method.name", o.Method)
	about.text(spanAttributes, "recourse.server", o.Server)
	if o.Tool != "" {
		name += " " + o.Tool
		about.text(spanAttributes, "gen_ai.operation.name", "execute_tool")
		about.text(spanAttributes, "gen_ai.tool.name", o.Tool)
	}
	name = strings.ToValidUTF8(name, "")
	all := spans{fields: make(message, 0, 1<<10)}

	at := all.begin()
	all.fields.describe(of, of.Own.Span, of.Parent.Span, name, kindServer, o.Began, o.Took)
	all.fields = append(all.fields, about...)
	all.fields.addRequest(o)
	if link := &of.Link; !link.IsZero() {
		at := all.fields.open(spanLinks)
		all.fields.bytes(linkTraceID, link.Trace[:])
		all.fields.bytes(linkSpanID, link.Span[:])
		all.fields.close(at)
	}
	all.fields.addStatus(failureOf(o))
	all.fields.close(at)

	for i := range o.Attempts {
		a := &o.Attempts[i]
		id := a.Span
		if id == (tracecontext.SpanID{}) { // the server was given the client's
			id = of.Own.Child().Span
		}
		at := all.begin()
		all.fields.describe(of, id, of.Own.Span, name, kindClient, a.Began, a.Took)
		all.fields = append(all.fields, about...)
		all.fields.addAttempt(o, i)
		all.fields.addStatus(string(a.Failure))
		all.fields.close(at)
	}
	return all
}

// begin begins another span, which ends where the fields are closed.
func (s *spans) begin() (at int) {
	s.number++
	return s.fields.open(scopeSpansSpans)
}

// describe adds what every span has, beside its attributes. A zero parent means that it has none.
func (m *message) describe(
	of *observe.Span, id, parent tracecontext.SpanID, name string, kind uint64, began time.Time, took time.Duration,
) {
	m.bytes(spanTraceID, of.Own.Trace[:])
	m.bytes(spanID, id[:])
	if tracecontext.Passes(of.State) {
		m.string(spanState, of.State)
	}
	if parent != (tracecontext.SpanID{}) {
		m.bytes(spanParentID, parent[:])
	}
	m.string(spanName, name)
	m.varint(spanKind, kind)
	start := uint64(began.UnixNano())
	m.fixed64(spanStart, start)
	m.fixed64(spanEnd, start+uint64(max(took, 0)))
	m.fixed32(spanFlags, flags)
}

// addRequest adds the attributes that only requests have.
func (m *message) addRequest(o *observe.Outcome) {
	transport := "tcp"
	if o.Peer == "" {
		transport = "pipe"
	}
	m.text(spanAttributes, "network.transport", transport)
	m.text(spanAttributes, "recourse.request_id", o.ID)
	m.text(spanAttributes, "recourse.end", o.End)
	m.number("recourse.attempts", int64(o.Sent))
	if o.Status != 0 {
		m.number("http.response.status_code", int64(o.Status))
	}
	failure := failureOf(o)
	if failure == "" {
		return
	}
	m.text(spanAttributes, "error.type", failure)
	if code, err := strconv.Atoi(o.Form); err == nil && code < 0 {
		m.text(spanAttributes, "rpc.response.status_code", o.Form)
	}
	if e := o.Record; e != nil {
		m.text(spanAttributes, "recourse.kind", string(e.Kind))
		m.text(spanAttributes, "recourse.origin", string(e.Origin))
		m.text(spanAttributes, "recourse.effect", string(e.Effect))
		if e.Code != "" {
			m.text(spanAttributes, "recourse.code", e.Code)
		}
	}
	if o.Reason != "" {
		m.text(spanAttributes, "recourse.not_repeated", o.Reason)
	}
}

// addAttempt adds the attributes that only attempts have: why it was made, and the wait before it.
func (m *message) addAttempt(o *observe.Outcome, i int) {
	a := &o.Attempts[i]
	m.number("recourse.attempt", int64(i+1))
	if i > 0 {
		m.text(spanAttributes, "recourse.reason", o.Attempts[i-1].Reason)
		m.number("recourse.wait_ms", a.Wait.Milliseconds())
	}
	if a.Status != 0 {
		m.number("http.response.status_code", int64(a.Status))
	}
	if a.Failure != "" {
		m.text(spanAttributes, "error.type", string(a.Failure))
	}
}

// addStatus adds the status of a span; "" is no failure.
func (m *message) addStatus(failure string) {
	if failure != "" {
		var status message
		status.varint(statusCode, codeError)
		m.bytes(spanStatus, status)
	}
}

// failureOf returns the error.type of a request: the form in which the client got the failure, else the kind;
// "" for a success.
func failureOf(o *observe.Outcome) string {
	switch {
	case o.Record == nil:
		return ""
	case o.Form != "":
		return o.Form
	default:
		return string(o.Record.Kind)
	}
}
