// Package otelrecovery turns what package recovery does for a call into OpenTelemetry spans.
//
//	client := recovery.New(session, contract, recovery.WithHooks(recovery.Hooks{Observe: otelrecovery.Observer(tracer)}))
//
// Each call of a tool (an attempt, a verify call, a poll) and each wait is a child of the span in the context of CallTool.
// Names and attributes follow OpenTelemetry's conventions for MCP: a call is named "tools/call {tool}", with
// gen_ai.tool.name, mcp.method.name, and error.type: the failure's kind, or tool_error. Recourse's own attributes begin with
// recourse.: kind, code, effect, attempt, action and reason.
package otelrecovery

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/recoursehq/recourse/recovery"
)

// Observer returns a function for [recovery.Hooks] that turns steps into spans of tracer.
func Observer(tracer trace.Tracer) func(ctx context.Context, s recovery.Step) {
	return func(ctx context.Context, s recovery.Step) {
		switch s.Action {
		case recovery.ActionCall, recovery.ActionVerify, recovery.ActionPoll:
			call(ctx, tracer, s)
		case recovery.ActionWait, recovery.ActionConnect, recovery.ActionAnswer:
			_, span := tracer.Start(ctx, string(s.Action), trace.WithTimestamp(s.Began), trace.WithAttributes(attributes(s)...))
			span.End(trace.WithTimestamp(s.Began.Add(s.Took)))
		case recovery.ActionDecide:
			trace.SpanFromContext(ctx).AddEvent("decide", trace.WithTimestamp(s.Began), trace.WithAttributes(attributes(s)...))
		}
	}
}

func call(ctx context.Context, tracer trace.Tracer, s recovery.Step) {
	const method = "tools/call"
	_, span := tracer.Start(ctx, method+" "+s.Tool, trace.WithTimestamp(s.Began), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(append(attributes(s), attribute.String("mcp.method.name", method))...))
	if s.Failure != nil {
		span.SetAttributes(attribute.String("error.type", string(s.Failure.Kind)))
		span.SetStatus(codes.Error, s.Failure.Sentence())
	}
	span.End(trace.WithTimestamp(s.Began.Add(s.Took)))
}

func attributes(s recovery.Step) []attribute.KeyValue {
	list := []attribute.KeyValue{
		attribute.String("gen_ai.tool.name", s.Tool), attribute.Int("recourse.attempt", s.Attempt),
		attribute.String("recourse.action", string(s.Action)),
	}
	if s.Reason != "" {
		list = append(list, attribute.String("recourse.reason", s.Reason))
	}
	if e := s.Failure; e != nil {
		list = append(list, attribute.String("recourse.kind", string(e.Kind)), attribute.String("recourse.effect", string(e.Effect)))
		if e.Code != "" {
			list = append(list, attribute.String("recourse.code", e.Code))
		}
	}
	return list
}
