package handler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/privacy/redact"
)

// A cause is a private cause for the log: credentials are masked, the rest is kept.
type cause struct{ err error }

// LogValue masks the text of the error.
func (c cause) LogValue() slog.Value { return slog.StringValue(redact.Log(c.err.Error())) }

var _ slog.LogValuer = cause{}

func (x *handling) attrs() []slog.Attr {
	attrs := make([]slog.Attr, 0, 12)
	attrs = append(attrs, slog.String("request_id", x.requestID))
	if x.once != "" {
		attrs = append(attrs, slog.String("once", x.once))
	}
	if x.isCall() {
		return append(attrs, slog.String("tool", clip(x.req.Tool)))
	}
	return append(attrs, slog.String("method", clip(x.req.Method)))
}

// record writes the one log line of a failure. err is what the handler returned.
func (x *handling) record(ctx context.Context, e *recourse.Error, err error) {
	Record(ctx, x.s.log, x.start, x.attrs(), e, err)
}

// Record writes the one log line of a failure, which begins with attrs. err is the failure as the handler returned it.
func Record(ctx context.Context, log *slog.Logger, start time.Time, attrs []slog.Attr, e *recourse.Error, err error) {
	level := slog.LevelWarn
	switch {
	case e.Origin == recourse.OriginCaller:
		level = slog.LevelInfo
	case e.Kind == recourse.KindInternal:
		level = slog.LevelError
	}
	if !log.Enabled(ctx, level) {
		return
	}
	attrs = append(attrs,
		slog.String("kind", string(e.Kind)), slog.String("code", e.Code), slog.String("origin", string(e.Origin)),
		slog.String("effect", string(e.Effect)))
	if e.RetryAfter > 0 {
		attrs = append(attrs, slog.String("wait", recourse.FormatWait(e.RetryAfter)))
	}
	attrs = append(attrs, slog.Int64("ms", time.Since(start).Milliseconds()))
	if p, ok := errors.AsType[*PanicError](err); ok {
		attrs = append(attrs, slog.String("stack", redact.Log(string(p.stack))))
	}
	if private := privateCause(err); private != nil {
		attrs = append(attrs, slog.Any("cause", cause{private}))
	}
	log.LogAttrs(ctx, level, "failure", attrs...)
}

// privateCause returns the part of an error that clients do not see: all of it or, for a record, its cause and the text
// around it.
func privateCause(err error) error {
	said, ok := errors.AsType[*recourse.Error](err)
	if !ok {
		return err
	}
	inner := said.Cause()
	switch {
	case err == error(said): //nolint:errorlint // it is the record itself, and not around it
		return inner
	case inner == nil:
		return err
	default:
		return fmt.Errorf("%w: %w", err, inner)
	}
}

// clip limits what a caller can put into the log.
func clip(s string) string {
	const most = 128
	return s[:min(len(s), most)]
}
