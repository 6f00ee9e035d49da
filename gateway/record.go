package gateway

import (
	"log/slog"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/redact"
)

// logged is a private cause as it may stand in the log: credentials, and what the
// server's entry holds of secrets, are masked, the rest is kept.
type logged struct {
	err error
	s   *server // nil: none is concerned
}

// LogValue masks the text of the error.
func (l logged) LogValue() slog.Value {
	mask := redact.New(redact.Secrets)
	if l.s != nil {
		mask = mask.Hiding(l.s.secrets)
	}
	return slog.StringValue(mask.String(l.err.Error()))
}

var _ slog.LogValuer = logged{}

// record writes the one log line of a failure. note says what is special about it.
func (x *exchange) record(e *recourse.Error, note string) { x.log("failure", e, note) }

// observe writes the line of a failure that was passed on as it came.
func (x *exchange) observe(e *recourse.Error) {
	if e == nil {
		return
	}
	e = x.settle(e)
	bound := x.s.contract.Write(e, x.contractCall(e, 0)).Record
	x.log("observed", bound.CausedBy(e.Cause()), "passed on as it came")
}

// observeAnswer looks for the failure in an answer that was passed on as it came.
func (x *exchange) observeAnswer(text []byte, broken error) {
	signs := x.scan.Signs()
	switch {
	case broken != nil:
		x.observe(recourse.BadResponse(x.s.Title).WithOrigin(recourse.OriginServer).CausedBy(broken))
	case !signs.ID.Equal(x.msg.ID):
		x.observe(recourse.BadResponse(x.s.Title).WithOrigin(recourse.OriginServer).CausedBy(errWrongID))
	default:
		if reading, _, ok := x.reading(text); ok {
			x.observe(reading.Error())
		}
	}
}

func (x *exchange) log(message string, e *recourse.Error, note string) {
	level := slog.LevelWarn
	if e.Origin == recourse.OriginCaller {
		level = slog.LevelInfo
	}
	ctx := x.r.Context()
	if !x.g.log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 14)
	attrs = append(attrs, slog.String("request_id", x.requestID))
	if x.s != nil {
		attrs = append(attrs, slog.String("server", x.s.Name))
	}
	if x.isCall() {
		attrs = append(attrs, slog.String("tool", clip(x.msg.Name)))
	} else if x.msg.Method != "" {
		attrs = append(attrs, slog.String("method", clip(x.msg.Method)))
	}
	attrs = append(attrs,
		slog.String("kind", string(e.Kind)), slog.String("code", e.Code), slog.String("origin", string(e.Origin)),
		slog.String("effect", string(e.Effect)), slog.Int("attempts", x.attempts))
	if e.After > 0 {
		attrs = append(attrs, slog.String("wait", recourse.Wait(e.After)))
	}
	attrs = append(attrs, slog.Int64("ms", time.Since(x.start).Milliseconds()))
	if x.reason != "" {
		attrs = append(attrs, slog.String("repeat", x.reason))
	}
	if note != "" {
		attrs = append(attrs, slog.String("note", note))
	}
	if cause := e.Cause(); cause != nil {
		attrs = append(attrs, slog.Any("cause", logged{cause, x.s}))
	}
	x.g.log.LogAttrs(ctx, level, message, attrs...)
}
