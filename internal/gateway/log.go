package gateway

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/kinddoc"
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

const (
	// maxQuoted bounds how much of a foreign text is kept for the log, and maxLogged how much of
	// it stands there once it has been masked: half of a secret would not be known for one.
	maxQuoted = 16 << 10
	maxLogged = 4 << 10
	// maxName bounds a name that a client has given.
	maxName = 64
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

// level returns how much a failure matters to the operator.
func (c *call) level(e *recourse.Error) slog.Level {
	refused := e.Kind == recourse.KindClientError ||
		e.Upstream.Status < http.StatusInternalServerError && e.Kind.Class() != recourse.ClassUpstream
	switch {
	case c.req.msg.Method == wire.MethodDiscover && refused:
		return slog.LevelDebug // it is how clients find out that a server is of the legacy era
	case e.Origin == recourse.OriginCaller:
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}

// named returns a name that a client has given as it may stand in the log.
func named(name string) string {
	if name == "" {
		return ""
	}
	return redact.New(redact.Secrets).String(cut(name, maxName))
}

// A logger is the observer that writes a line for each failure.
type logger struct{ log *slog.Logger }

func (l logger) ended(c *call) {
	for i := range c.out.told {
		l.line(c, &c.out.told[i])
	}
}

func (l logger) line(c *call, t *told) {
	e, level := t.e, c.level(t.e)
	ctx := c.req.http.Context()
	if !l.log.Enabled(ctx, level) {
		return
	}
	var endpoint, wait string
	if of := outerOf(ctx); of != nil && c.member != nil {
		endpoint = of.name
	}
	if e.RetryAfter > 0 {
		wait = recourse.FormatWait(e.RetryAfter)
	}
	what := logText("method", named(c.req.msg.Method))
	if c.req.isCall() {
		what = slog.String("tool", named(c.req.msg.Name))
	}
	l.log.LogAttrs(ctx, level, t.message,
		slog.String("request_id", c.req.id), logText("peer", c.req.http.RemoteAddr), c.logPlace(), logText("endpoint", endpoint), what,
		slog.String("kind", string(e.Kind)), slog.String("code", e.Code), slog.String("origin", string(e.Origin)),
		slog.String("effect", string(e.Effect)), slog.Int("attempts", t.attempts), logText("wait", wait),
		slog.Int64("ms", time.Since(c.out.began).Milliseconds()), c.logTrace(),
		logText("not_repeated", t.reason), logText("note", t.note), slog.String("see", kinddoc.URL(e.Kind)),
		c.logPrivate("cause", t.cause), c.logPrivate("before", t.before), c.logPrivate("after", t.after))
}

// logText returns an attribute, or the empty one, which handlers leave out, without a value.
func logText(key, value string) slog.Attr {
	if value == "" {
		return slog.Attr{}
	}
	return slog.String(key, value)
}

// logPlace says where the request came to.
func (c *call) logPlace() slog.Attr {
	if c.on != nil {
		return slog.String("server", c.on.Name)
	}
	return slog.String("path", named(c.req.http.URL.Path))
}

func (c *call) logTrace() slog.Attr {
	if c.trace.Own.IsZero() {
		return slog.Attr{}
	}
	return slog.String("trace_id", c.trace.Own.Trace.String())
}

func (c *call) logPrivate(key string, err error) slog.Attr {
	if err == nil {
		return slog.Attr{}
	}
	return slog.Any(key, c.private().logged(err))
}
