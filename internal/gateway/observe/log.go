package observe

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/docs/kinddoc"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A Log is the observer that writes a line for each failure, and one for each request if the configuration
// asks for that. Texts that a client chooses freely are cut, and credentials in them are masked.
type Log struct{ To *slog.Logger }

var _ LateObserver = Log{}

// Ended implements [Observer].
func (l Log) Ended(o *Outcome) {
	for i := range o.Failures {
		l.Failure(o, &o.Failures[i])
	}
	if o.Seeming != nil {
		l.seeming(o)
	}
	if o.Logged {
		l.request(o)
	}
}

// Failure writes the line for a failure. One that the call survives, such as a server's while a stream is held open, is not among
// those of the outcome.
func (l Log) Failure(o *Outcome, f *Failure) {
	e, level, ctx := f.Error, levelOf(o, f.Error), context.Background()
	if !l.To.Enabled(ctx, level) {
		return
	}
	var wait string
	if e.RetryAfter > 0 {
		wait = recourse.FormatWait(e.RetryAfter)
	}
	what := text("method", method(o))
	if o.Request.Method == wire.MethodToolsCall {
		what = slog.String("tool", named(o.Name))
	}
	l.To.LogAttrs(ctx, level, f.Message,
		slog.String("request_id", o.ID), text("peer", o.Peer), o.place(), text("endpoint", o.Request.Endpoint), what,
		slog.String("kind", string(e.Kind)), slog.String("code", e.Code), slog.String("origin", string(e.Origin)),
		slog.String("effect", string(e.Effect)), slog.Int("attempts", f.Attempts), text("wait", wait),
		slog.Int64("ms", o.Took.Milliseconds()), o.traceID(),
		text("not_repeated", f.Reason), text("note", f.Note), slog.String("see", kinddoc.URL(e.Kind)),
		o.mask("cause", f.Cause), o.mask("before", f.Before), o.mask("after", f.After))
}

// Late implements [LateObserver]: it writes a line.
func (l Log) Late(of *Late) {
	l.To.LogAttrs(context.Background(), slog.LevelInfo, "what became of a call that is made once, after its client was answered",
		slog.String("server", of.Server), slog.String("tool", named(of.Name)),
		slog.String("request_id", of.ID), slog.String("answer", of.Answer))
}

// seeming writes the line for a success that looks like a failure.
func (l Log) seeming(o *Outcome) {
	l.To.LogAttrs(context.Background(), slog.LevelInfo, Seems,
		slog.String("request_id", o.ID), o.place(), slog.String("tool", named(o.Name)), slog.String("kind", string(o.Seeming.Error.Kind)),
		slog.String("by", o.Seeming.Sign), slog.String("to_have_it_told", o.Seeming.Line), o.traceID())
}

func (l Log) request(o *Outcome) {
	ctx := context.Background()
	if !l.To.Enabled(ctx, slog.LevelInfo) {
		return
	}
	var tool, kind, code slog.Attr
	if o.Request.Method == wire.MethodToolsCall {
		tool = text("tool", named(o.Name))
	}
	if e := o.Record; e != nil {
		kind, code = slog.String("kind", string(e.Kind)), slog.String("code", e.Code)
	}
	l.To.LogAttrs(ctx, slog.LevelInfo, "request",
		slog.String("request_id", o.ID), o.traceID(), text("peer", o.Peer),
		text("caller", named(o.Caller.Name)), text("org", named(o.Caller.Org)), text("user", named(o.User)),
		slog.String("http_method", Cut(o.Request.HTTPMethod, maxName)), o.place(), text("method", method(o)), tool,
		slog.Int("status", o.Status), slog.String("end", o.End), kind, code,
		slog.Int("attempts", o.Sent), slog.Float64("ms", float64(o.Took.Microseconds())/1000),
		slog.Int("bytes_in", o.Request.Bytes), slog.Int64("bytes_out", o.Bytes))
}

func levelOf(o *Outcome, e *recourse.Error) slog.Level {
	refused := e.Kind == recourse.KindClientError ||
		e.Upstream.Status < http.StatusInternalServerError && e.Kind.Class() != recourse.ClassUpstream
	switch {
	case o.Request.Method == wire.MethodDiscover && refused:
		return slog.LevelDebug // it is how clients find out that a server is of the legacy era
	case e.Origin == recourse.OriginCaller:
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}

// method returns the method of a message in the form in which it may be logged.
func method(o *Outcome) string {
	if o.Method == o.Request.Method { // it is one of MCP's
		return o.Method
	}
	return named(o.Request.Method)
}

// text returns an attribute, or the empty one, which handlers omit, if there is no value.
func text(key, value string) slog.Attr {
	if value == "" {
		return slog.Attr{}
	}
	return slog.String(key, value)
}

// place returns the server of the request or, if it has none, the path.
func (o *Outcome) place() slog.Attr {
	if o.Server != "" {
		return slog.String("server", o.Server)
	}
	return slog.String("path", named(o.Request.Path))
}

// traceID returns the id of the trace, if the gateway traces.
func (o *Outcome) traceID() slog.Attr {
	if o.Span.Own.IsZero() {
		return slog.Attr{}
	}
	return slog.String("trace_id", o.Span.Own.Trace.String())
}

func (o *Outcome) mask(key string, err error) slog.Attr {
	if err == nil {
		return slog.Attr{}
	}
	return slog.Any(key, o.Private.Mask(err))
}
