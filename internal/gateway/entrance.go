package gateway

import (
	"net"
	"strings"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/wire"
)

// An Entrance is what a client needs to call a tool.
type Entrance struct {
	URL    string
	Access config.Access      // the entry by which the caller was let in; its zero value: there is none
	Params []wire.ParamHeader // arguments that are repeated in headers, as far as the server's tools are known
}

// Entrance returns that of a server's or an endpoint's tool, for a caller whom an entry of access control has let in. ok is false if
// clients reach the server through other endpoints only.
func (g *Gateway) Entrance(name, tool, access string) (e Entrance, ok bool) {
	t := g.table.Load()
	on := t.named[name]
	if on == nil || on.Path == config.PathNone {
		return e, false
	}
	e.URL = g.URL() + on.Path
	e.Access, _ = t.config.Access.Get(access)
	if on.target.tools != nil {
		e.Params = on.target.tools.Params(tool)
	}
	return e, true
}

// URL returns the gateway's own URL, as people on its machine reach it if nothing else is known.
func (g *Gateway) URL() string {
	cfg := g.table.Load().config
	if cfg.PublicURL != "" {
		return strings.TrimSuffix(cfg.PublicURL, "/")
	}
	at := cfg.Listen
	if bound := g.listens.Load(); bound != nil {
		at = *bound // the port may have been 0
	}
	host, port, err := net.SplitHostPort(at)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		at = net.JoinHostPort("127.0.0.1", port)
	}
	if cfg.TLS != nil {
		return "https://" + at
	}
	return "http://" + at
}
