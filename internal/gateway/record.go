package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/redact"
	"github.com/recoursehq/recourse/internal/wire"
)

// logged is a private cause as it may stand in the log: credentials, and what the
// server's entry holds of secrets, are masked, the rest is kept.
type logged struct {
	err     error
	secrets func() []string // nil: none are known
}

// LogValue masks the text of the error.
func (l logged) LogValue() slog.Value {
	mask := redact.New(redact.Secrets)
	if l.secrets != nil {
		mask = mask.Hiding(l.secrets)
	}
	return slog.StringValue(cut(mask.String(l.err.Error()), maxLogged))
}

var _ slog.LogValuer = logged{}

// record writes the one log line of a failure. note says what is special about it.
func (x *exchange) record(e *recourse.Error, note string) {
	var attrs []slog.Attr
	if cause := e.Cause(); cause != nil {
		attrs = append(attrs, slog.Any("cause", x.logged(cause)))
	}
	x.log("failure", e, note, attrs)
}

// observe writes the line of a failure that was passed on as it came: what the client
// got, and what it would have got.
func (x *exchange) observe(e *recourse.Error) {
	if e == nil {
		return
	}
	e = x.settle(e)
	x.reason = "failures are only observed"
	after := x.s.contract.Write(e, x.contractCall(e, x.protocolStatus(e.Kind)))
	var attrs []slog.Attr
	if before := e.Cause(); before != nil {
		attrs = append(attrs, slog.Any("before", x.logged(before)))
	}
	attrs = append(attrs, slog.Any("after", x.logged(errors.New(shown(after)))))
	x.log("observed", after.Record, "passed on as it came", attrs)
}

const (
	// maxQuoted bounds how much of a foreign text is kept for the log, and maxLogged how much of
	// it stands there once it has been masked: half of a secret looks like none.
	maxQuoted = 16 << 10
	maxLogged = 4 << 10
)

// shown returns the beginning of an answer of ours as a model or a program would see it.
func shown(a contract.Answer) string {
	switch a.Surface {
	case contract.SurfaceResult:
		return said(a.Result)
	case contract.SurfaceRPC:
		return fmt.Sprintf("JSON-RPC error %d: %s", a.Code, beginning(a.Message))
	case contract.SurfaceHTTP:
	}
	return fmt.Sprintf("HTTP %d: %s", a.Status, beginning(string(a.Body)))
}

// said returns the beginning of what a result or an error of the server's says: its texts,
// or its JSON where it has none.
func said(raw []byte) string {
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	_ = json.UnmarshalLenient(raw, &result) // what has no texts is shown as it is
	var texts []string
	for _, block := range result.Content {
		if block.Text != "" {
			texts = append(texts, block.Text)
		}
	}
	if len(texts) == 0 {
		return beginning(string(raw))
	}
	return beginning(strings.Join(redact.Joined(texts), "\n"))
}

func beginning(text string) string { return cut(text, maxQuoted) }

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " [cut]"
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
			x.observe(x.caused(reading.Error(), text))
		}
	}
}

// caused returns e with what the server said as its cause, where it has none yet.
func (x *exchange) caused(e *recourse.Error, text []byte) *recourse.Error {
	if e == nil || e.Cause() != nil {
		return e
	}
	signs := x.scan.Signs()
	raw := signs.Result.Of(text)
	if !signs.Error.IsZero() {
		raw = signs.Error.Of(text)
	}
	return e.CausedBy(errors.New(said(raw)))
}

// level returns how much a failure matters to the operator.
func (x *exchange) level(e *recourse.Error) slog.Level {
	refused := e.Kind == recourse.KindClientError ||
		e.Upstream.Status < http.StatusInternalServerError && e.Kind.Class() != recourse.ClassUpstream
	switch {
	case x.msg.Method == wire.MethodDiscover && refused:
		return slog.LevelDebug // it is how clients find out that a server is of the legacy era
	case e.Origin == recourse.OriginCaller:
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}

func (x *exchange) log(message string, e *recourse.Error, note string, more []slog.Attr) {
	level := x.level(e)
	ctx := x.r.Context()
	if !x.g.log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 18)
	attrs = append(attrs, slog.String("request_id", x.requestID))
	if x.r.RemoteAddr != "" { // a host on stdio has none
		attrs = append(attrs, slog.String("peer", x.r.RemoteAddr))
	}
	if x.s != nil {
		attrs = append(attrs, slog.String("server", x.s.Name))
	} else {
		attrs = append(attrs, slog.String("path", clip(x.r.URL.Path)))
	}
	if x.isCall() {
		attrs = append(attrs, slog.String("tool", clip(x.msg.Name)))
	} else if x.msg.Method != "" {
		attrs = append(attrs, slog.String("method", clip(x.msg.Method)))
	}
	attrs = append(attrs,
		slog.String("kind", string(e.Kind)), slog.String("code", e.Code), slog.String("origin", string(e.Origin)),
		slog.String("effect", string(e.Effect)), slog.Int("attempts", x.attempts))
	if e.RetryAfter > 0 {
		attrs = append(attrs, slog.String("wait", recourse.FormatWait(e.RetryAfter)))
	}
	attrs = append(attrs, slog.Int64("ms", time.Since(x.start).Milliseconds()))
	if x.reason != "" {
		attrs = append(attrs, slog.String("not_repeated", x.reason))
	}
	if note != "" {
		attrs = append(attrs, slog.String("note", note))
	}
	x.g.log.LogAttrs(ctx, level, message, append(attrs, more...)...)
}
