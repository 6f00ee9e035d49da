package trace

import (
	"crypto/rand"
	"slices"
	"strconv"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/protocol/tracecontext"
)

// A source identifies the sender of spans.
type source struct {
	resource *resourcepb.Resource
	scope    *commonpb.InstrumentationScope
}

func newSource(version string) source {
	return source{
		resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{
			text("service.name", "recourse"), text("service.version", version), text("service.instance.id", rand.Text()),
		}},
		scope: &commonpb.InstrumentationScope{Name: "github.com/recoursehq/recourse", Version: version},
	}
}

// spansOf returns the spans of a request and of its attempts, following OpenTelemetry's conventions for MCP.
// They contain nothing that the client or the server said, since neither agreed that a collector may know it.
func spansOf(o *observe.Outcome) []*tracepb.Span {
	at := o.Span // the spans outlive the outcome
	name := o.Method
	about := []*commonpb.KeyValue{text("mcp.method.name", o.Method), text("recourse.server", o.Server)}
	if o.Tool != "" {
		name += " " + o.Tool
		about = append(about, text("gen_ai.operation.name", "execute_tool"), text("gen_ai.tool.name", o.Tool))
	}
	about = slices.Clip(about)
	state := at.State
	if !tracecontext.Passes(state) {
		state = ""
	}
	began := uint64(o.Began.UnixNano())
	whole := &tracepb.Span{
		TraceId: at.Own.Trace[:], SpanId: at.Own.Span[:], TraceState: state, Flags: flags, Name: name,
		Kind: tracepb.Span_SPAN_KIND_SERVER, StartTimeUnixNano: began, EndTimeUnixNano: began + uint64(max(o.Took, 0)),
		Attributes: append(about, requestAttributes(o)...), Status: status(failureOf(o)),
	}
	if !at.Parent.IsZero() {
		whole.ParentSpanId = at.Parent.Span[:]
	}
	if link := at.Link; !link.IsZero() {
		whole.Links = []*tracepb.Span_Link{{TraceId: link.Trace[:], SpanId: link.Span[:]}}
	}
	spans := append(make([]*tracepb.Span, 0, 1+len(o.Attempts)), whole)
	for i := range o.Attempts {
		a := &o.Attempts[i]
		id := a.Span
		if id == (tracecontext.SpanID{}) { // the server was given the client's
			id = at.Own.Child().Span
		}
		began := uint64(a.Began.UnixNano())
		spans = append(spans, &tracepb.Span{
			TraceId: at.Own.Trace[:], SpanId: id[:], ParentSpanId: at.Own.Span[:], TraceState: state, Flags: flags, Name: name,
			Kind: tracepb.Span_SPAN_KIND_CLIENT, StartTimeUnixNano: began, EndTimeUnixNano: began + uint64(max(a.Took, 0)),
			Attributes: append(about, attemptAttributes(o, i)...), Status: status(string(a.Failure)),
		})
	}
	return spans
}

// flags mark a span as sampled.
const flags = 1

// requestAttributes returns the attributes that only requests have.
func requestAttributes(o *observe.Outcome) []*commonpb.KeyValue {
	transport := "tcp"
	if o.Peer == "" {
		transport = "pipe"
	}
	list := []*commonpb.KeyValue{
		text("network.transport", transport), text("recourse.request_id", o.ID), text("recourse.end", o.End),
		number("recourse.attempts", int64(o.Sent)),
	}
	if o.Status != 0 {
		list = append(list, number("http.response.status_code", int64(o.Status)))
	}
	for _, once := range []struct{ name, said string }{{"recourse.once", o.Once}, {"recourse.once.first", o.First}} {
		if once.said != "" {
			list = append(list, text(once.name, once.said))
		}
	}
	failure := failureOf(o)
	if failure == "" {
		return list
	}
	list = append(list, text("error.type", failure))
	if code, err := strconv.Atoi(o.Form); err == nil && code < 0 {
		list = append(list, text("rpc.response.status_code", o.Form))
	}
	if e := o.Record; e != nil {
		list = append(list, text("recourse.kind", string(e.Kind)), text("recourse.origin", string(e.Origin)),
			text("recourse.effect", string(e.Effect)))
		if e.Code != "" {
			list = append(list, text("recourse.code", e.Code))
		}
	}
	if o.Reason != "" {
		list = append(list, text("recourse.not_repeated", o.Reason))
	}
	return list
}

// attemptAttributes returns the attributes that only attempts have: why it was made, and the wait before it.
func attemptAttributes(o *observe.Outcome, i int) []*commonpb.KeyValue {
	a := &o.Attempts[i]
	list := []*commonpb.KeyValue{number("recourse.attempt", int64(i+1))}
	if i > 0 {
		list = append(list, text("recourse.reason", o.Attempts[i-1].Reason), number("recourse.wait_ms", a.Wait.Milliseconds()))
	}
	if a.Status != 0 {
		list = append(list, number("http.response.status_code", int64(a.Status)))
	}
	if a.Failure != "" {
		list = append(list, text("error.type", string(a.Failure)))
	}
	return list
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

func status(failure string) *tracepb.Status {
	if failure == "" {
		return nil
	}
	return &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}
}

// maxText limits the texts of spans, in bytes.
const maxText = 256

func text(key, value string) *commonpb.KeyValue {
	value = strings.ToValidUTF8(value[:min(len(value), maxText)], "") // invalid UTF-8 would make the collector refuse the whole batch
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}

func number(key string, value int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: value}}}
}
