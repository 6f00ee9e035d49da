package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/bridge"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/gateway/toollist"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/many"
	"github.com/recoursehq/recourse/internal/redact"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
	"github.com/recoursehq/recourse/retry"
)

// manyListTimeout limits how long a server may take to answer a list in the background. After that, the next
// request asks again.
const manyListTimeout = 30 * time.Second

// A manyServers holds what an endpoint with several servers needs.
type manyServers struct {
	options *many.Options
	members []*member
}

// newManyEndpoint returns the endpoint for an entry that offers several servers, whose own endpoints are in t
// already. old is as in [newEndpoint].
func newManyEndpoint(g *Gateway, t *table, e *config.Endpoint, old *endpoint) (*endpoint, error) {
	entry := e.Entry()
	on := &endpoint{Server: entry, manner: relaying{}, redact: redact.Off, secrets: func() []string { return nil }}
	to, err := on.begin(g, t, old)
	if err != nil {
		return nil, err
	}
	on.many = newManyServers(g, e, t.named, old)
	if old != nil && on.access == old.access && old.many != nil && old.Same(entry) && old.contract.Same(on.contract) &&
		old.many.options.Deadline == on.many.options.Deadline && slices.Equal(old.many.options.Servers, on.many.options.Servers) {
		return old, nil
	}
	on.ask()
	var before *target
	if old != nil && old.many != nil {
		before = old.target
		to.backend, to.up = before.backend, before.bridged
	} else {
		to.connectMany(g, e, on)
	}
	to.guard = newGuard(entry, before)
	on.target, on.limits = to, limits.New(entry)
	return on, nil
}

// connectMany gives the target of an endpoint with several servers a backend.
func (to *target) connectMany(g *Gateway, e *config.Endpoint, on *endpoint) {
	file := e.Lists
	if file == config.ListsNone {
		file = ""
	}
	conn := many.New(file, on.many.options, func(text string) { g.log.Warn(text, slog.String("server", e.Name)) })
	to.backend = newBackend(g, e.Name, bridge.New(conn, bridge.Options{Forward: on.forward}), conn)
	to.many, to.up = conn, to.bridged
}

// newManyServers returns the servers of an endpoint. An unchanged one is taken from old.
func newManyServers(g *Gateway, e *config.Endpoint, named map[string]*endpoint, old *endpoint) *manyServers {
	all := &manyServers{options: &many.Options{Title: e.Title, Version: version(), Deadline: e.Deadline, Time: manyListTimeout}}
	for i := range e.Servers {
		names := &e.Servers[i]
		on := named[names.Name]
		m := &member{on: on, names: names}
		all.members = append(all.members, m)
		if kept := old.manyServer(on, names); kept != nil {
			all.options.Servers = append(all.options.Servers, kept)
			continue
		}
		private := len(on.Forward) > 0 || on.Connection != "" || on.grants != nil || on.Share == config.ShareClient || on.userParam != ""
		all.options.Servers = append(all.options.Servers, &many.Server{
			Name: on.Name, Title: on.Title, Names: names, Place: placeOf(on),
			Relay: &member{on: on, names: names, relays: true}, Ask: m,
			Of: func(r *upstream.Request) (of upstream.Caller) {
				if private {
					of = r.Caller
				}
				return of
			},
			Note: func(text string) {
				g.log.Warn(text, slog.String("endpoint", e.Name), slog.String("server", on.Name))
			},
		})
	}
	return all
}

// manyServer returns the endpoint's server if it has not changed, or nil.
func (on *endpoint) manyServer(of *endpoint, names *config.Member) *many.Server {
	if on == nil || on.many == nil {
		return nil
	}
	for i, m := range on.many.members {
		before := m.names
		if m.on == of && before.Prefix == names.Prefix && slices.Equal(before.Allow, names.Allow) &&
			slices.Equal(before.Deny, names.Deny) && maps.Equal(before.Rename, names.Rename) {
			return on.many.options.Servers[i]
		}
	}
	return nil
}

// placeOf identifies where an endpoint's server is, without revealing it.
func placeOf(on *endpoint) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{on.URL, on.Cwd}, on.Command...), "\x00")))
	return hex.EncodeToString(sum[:8])
}

// version returns the version of this program.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// routeMany is route for an endpoint with several servers: it finds the server for the request, and leaves
// the rest to that server's own stages.
func (c *call) routeMany(next next) error {
	o := &outer{
		who: c.who, id: c.req.id, name: c.on.Name, trace: c.trace, stdio: c.req.stdio,
		apart: slices.Clone(c.req.http.Header["Authorization"]),
	}
	from := c.req.http
	o.request = http.Request{
		Method: http.MethodPost, URL: new(url.URL), Host: from.Host, TLS: from.TLS, RemoteAddr: from.RemoteAddr,
		Proto: from.Proto, ProtoMajor: from.ProtoMajor, ProtoMinor: from.ProtoMinor,
	}
	*o.request.URL = *from.URL
	switch words := wordsOf(&c.who.verified); {
	case words != nil:
		o.apart = words
	case c.req.stdio:
		o.apart = append(o.apart, "the host")
	case len(o.apart) == 0 && c.session != nil:
		o.apart = []string{"session", c.session.ID}
	}
	c.outer, c.req.http = o, from.WithContext(o.within(from.Context()))
	if !c.req.asks() {
		c.unasked()
		return next(c)
	}
	if c.rule.nature = natureOfMethod(c.req.msg.Method); c.req.isCall() {
		c.rule.nature = retry.Writes
	}
	c.within(c.rule.Timeout, c.to.MaxTimeout)
	if e := c.moveSession(); e != nil {
		return settled(e)
	}
	return next(c)
}

// memberReads reports whether a tool that clients call offered only reads, by what is known of all servers
// that may have it.
func (c *call) memberReads(offered string) bool {
	known, r := false, c.who.request(c.upstreamHeader(), nil)
	if r.Message = (&wire.Message{Meta: c.req.msg.Meta}); c.req.era == wire.Legacy {
		const version = `"` + wire.MetaProtocolVersion + `":"` + wire.Version20260728 + `"`
		r.Message.Meta = json.Value("{" + version + `,"` + wire.MetaClientCapabilities + `":{}}`)
	}
	for i, m := range c.on.many.members {
		local, ok := m.names.Local(offered)
		if !ok {
			continue
		}
		raw, listed := c.to.many.Listed(c.ctx, r, c.on.many.options.Servers[i], local)
		if listed && raw == nil {
			continue // it has no such tool
		}
		if m.on.natureOf(local, m.on.target.Tool(local), toollist.ReadTool(raw)) != retry.Reads {
			return false
		}
		known = true
	}
	return known
}

// relaying passes on the answer of a server's own stages. Anything else is handled like an answer from any
// other server.
type relaying struct{ enforcing }

func (relaying) final(*call) string { return "the server's own stages repeat what is safe to repeat" }

func (relaying) answer(c *call, resp *http.Response) error {
	if c.outer == nil || !c.outer.relayed.Load() || !c.req.asks() {
		return enforcing{}.answer(c, resp)
	}
	if c.outer.free.Load() {
		c.giveBack()
	}
	if c.begin(resp); wire.IsEvents(resp) {
		c.reply.events = true
		c.reply.flush()
	}
	size := relayed
	if n := resp.ContentLength; n > 0 && n < int64(size) {
		size = int(n) + 1 // one more, to see the end
	}
	c.reply.pour(resp.Body, size, c.deadline.Alive)
	return nil
}

// relayed is how much of an answer is relayed at a time, in bytes.
const relayed = 16 << 10
