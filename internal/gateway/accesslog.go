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
	attrs := make([]slog.Attr, 0, 19)
	text := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, named(value)))
		}
	}
	attrs = append(attrs, slog.String("request_id", c.req.id))
	if !c.trace.Own.IsZero() {
		attrs = append(attrs, slog.String("trace_id", c.trace.Own.Trace.String()))
	}
	if c.req.http.RemoteAddr != "" {
		attrs = append(attrs, slog.String("peer", c.req.http.RemoteAddr))
	}
	text("caller", c.who.verified.Name)
	text("org", c.who.verified.Org)
	text("user", c.req.user)
	attrs = append(attrs, slog.String("http_method", cut(c.req.http.Method, maxName)))
	if c.on != nil {
		attrs = append(attrs, slog.String("server", c.on.Name))
	} else {
		text("path", c.req.http.URL.Path)
	}
	text("method", c.req.msg.Method)
	if c.req.isCall() {
		text("tool", c.req.msg.Name)
	}
	attrs = append(attrs, slog.Int("status", c.reply.status), slog.String("end", string(c.out.end)))
	if e := c.out.record; e != nil {
		attrs = append(attrs, slog.String("kind", string(e.Kind)), slog.String("code", e.Code))
	}
	attrs = append(attrs, slog.Int("attempts", c.out.sent), slog.Float64("ms", float64(c.out.took.Microseconds())/1000),
		slog.Int("bytes_in", len(c.req.body)), slog.Int64("bytes_out", c.reply.bytes))
	l.log.LogAttrs(ctx, slog.LevelInfo, "request", attrs...)
}
