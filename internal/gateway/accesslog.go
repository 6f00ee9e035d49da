package gateway

import "log/slog"

// An accessLog is the observer that writes a line for each request, where the configuration asks for that. What a client
// may put into its request freely is cut, and credentials in it are masked.
type accessLog struct{ log *slog.Logger }

func (l accessLog) ended(c *call) {
	ctx := c.req.http.Context()
	if !c.table.config.AccessLog || !l.log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	var tool, kind, code slog.Attr
	if c.req.isCall() {
		tool = logText("tool", named(c.req.msg.Name))
	}
	if e := c.out.record; e != nil {
		kind, code = slog.String("kind", string(e.Kind)), slog.String("code", e.Code)
	}
	l.log.LogAttrs(ctx, slog.LevelInfo, "request",
		slog.String("request_id", c.req.id), c.logTrace(), logText("peer", c.req.http.RemoteAddr),
		logText("caller", named(c.who.verified.Name)), logText("org", named(c.who.verified.Org)), logText("user", named(c.req.user)),
		slog.String("http_method", cut(c.req.http.Method, maxName)), c.logPlace(), logText("method", named(c.req.msg.Method)), tool,
		slog.Int("status", c.reply.status), slog.String("end", string(c.out.end)), kind, code,
		slog.Int("attempts", c.out.sent), slog.Float64("ms", float64(c.out.took.Microseconds())/1000),
		slog.Int("bytes_in", len(c.req.body)), slog.Int64("bytes_out", c.reply.bytes))
}
