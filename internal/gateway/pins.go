package gateway

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/front"
	"github.com/recoursehq/recourse/internal/gateway/session"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/policy/pin"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// pinsOf returns the pins of a server, which outlive a reload; nil: it has none.
func (g *Gateway) pinsOf(entry *config.Server) (*pin.Guardian, error) {
	if !entry.Pins() {
		return nil, nil
	}
	if g.reach.Pins == nil {
		return nil, errors.New("`pin` needs a store: restart the gateway, which was started without one")
	}
	kept, ok := g.pins.Load(entry.Name)
	if !ok {
		kept, _ = g.pins.LoadOrStore(entry.Name, pin.NewServer(entry.Name, g.reach.Pins, g.log))
	}
	pins, _ := kept.(*pin.Guardian)
	return pins, nil
}

// pinned returns an answer to tools/list with the pinned definitions of its tools; without any if they cannot be known. old says that
// the answer is not what the server says now.
func (c *call) pinned(text []byte, old bool) []byte {
	if c.on.pins == nil || json.Lookup(text, "/result/tools").Kind() != '[' {
		return text
	}
	return json.Change(text, "result", func(result json.Value) json.Value {
		offered, err := c.pinnedPage(result, json.Lookup(c.req.msg.Params, "/cursor"), old)
		if err == nil {
			return offered
		}
		c.g.log.LogAttrs(c.ctx, slog.LevelError, "no tools are offered: their pins cannot be read or written",
			slog.String("server", c.on.entry.Name), slog.String("request_id", c.req.id), slog.String("cause", err.Error()))
		return json.Change(result, "tools", func(json.Value) json.Value { return json.Value(`[]`) })
	})
}

// pinnedPage does the same with a page, the result of tools/list.
func (c *call) pinnedPage(result, cursor json.Value, old bool) (json.Value, error) {
	list := json.Lookup(result, "/tools")
	if c.on.pins == nil || list.Kind() != '[' {
		return result, nil
	}
	page := &pin.ListPage{Cursor: json.Text(cursor, ""), Next: json.Text(result, "/nextCursor"), Private: c.on.listsDiffer(), Old: old}
	page.Tools, _ = json.Items(list, math.MaxInt)
	offered, err := c.on.pins.Offer(c.ctx, page)
	if err != nil {
		return nil, err
	}
	if page.Reread {
		c.on.backend.Lists.Changed(listRequest{c}.Key())
	}
	return json.Change(result, "tools", func(json.Value) json.Value { return json.Array(offered) }), nil
}

// refuseUnpinned refuses the call of a tool that nobody has accepted, as one that there is not, whether or not the server lists it.
func (c *call) refuseUnpinned() *failure {
	if c.on.pins == nil {
		return nil
	}
	offers, err := c.on.pins.Offers(c.ctx, c.req.msg.Name)
	switch {
	case err != nil:
		return answer.Settled(recourse.Unavailable("").WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).
			WithRetryAfter(storeWait).CausedBy(err).WithMessage("The gateway cannot read at the moment which tools may be called."))
	case offers:
		return nil
	case c.rule.list == nil:
		return answer.Settled(c.member.noneNamed(c.req.msg.Name, nil))
	default:
		return answer.Settled(c.unknownTool())
	}
}

// pinsEvery is how often the store is asked whether pins have changed: by whatever process, clients that listen are told.
const pinsEvery = time.Second

// watchPins tells clients when somebody has accepted what a server has changed.
func (g *Gateway) watchPins(life context.Context) {
	for pause.For(life, pinsEvery) {
		if pinned := g.table.Load().pinned(); len(pinned) > 0 {
			g.tellPins(life, pinned)
		}
	}
}

func (t *table) pinned() (pinned []*endpoint) {
	for _, on := range t.all {
		if on.pins != nil {
			pinned = append(pinned, on)
		}
	}
	return pinned
}

func (g *Gateway) tellPins(life context.Context, pinned []*endpoint) {
	ctx, cancel := context.WithTimeout(life, storeWait)
	defer cancel()
	revisions, err := g.reach.Pins.Revisions(ctx)
	if err != nil {
		return // a list that is asked for says so
	}
	for _, on := range pinned {
		if !on.pins.Moved(life, revisions[on.entry.Name]) {
			continue
		}
		on.backend.Lists.AllChanged()
		on.backend.Audience.Tell(func(tell func()) { g.work.Go(func(context.Context) { tell() }) })
		for conn, source := range on.offeredAt(g.table.Load()) {
			conn.Announce(source, wire.MethodToolsChanged)
		}
	}
}

// announcing returns the answer to initialize or server/discover, saying that the list of tools may change, whether or not the server's
// own does: otherwise clients do not listen.
func announcing(text []byte) []byte {
	return json.Change(text, "result", func(result json.Value) json.Value {
		return json.Change(result, "capabilities", func(all json.Value) json.Value {
			return json.Change(all, "tools", func(tools json.Value) json.Value { return affirmed(tools, "listChanged") })
		})
	})
}

// affirmed returns an object in which that member is true.
func affirmed(object json.Value, name string) json.Value {
	all := json.MembersOf(json.Without(object, name))
	all.Add(name, json.Value("true"))
	return all.AppendTo(nil)
}

// hearsPins reports whether the client is told on the stream that it opens when the pins of the server's tools change.
func (c *call) hearsPins() bool { return c.on.pins != nil && c.hearsTools() }

// hearsTools reports whether the client would be: another configuration may have pins.
func (c *call) hearsTools() bool {
	switch {
	case c.req.nested, c.on.many != nil: // the endpoint with several servers tells its clients itself
		return false
	case c.req.method == http.MethodGet:
		return true
	default:
		return c.req.msg.Method == wire.MethodListen && string(json.Lookup(c.req.msg.Params, "/notifications/toolsListChanged")) == "true"
	}
}

// agreeing returns what the server says on such a stream, in which it agrees to tell of tools: the gateway does. If it has nothing to tell,
// its end of the stream is not passed on.
func (c *call) agreeing(event *wire.Event) *wire.Event {
	switch {
	case !event.First || !event.Complete:
	case string(c.in.Signs.Method) == wire.MethodAcknowledged:
		agreed := wire.AgreedIn(event.Data)
		c.alone = agreed.IsEmpty()
		return event.Changed(json.Change(event.Data, "params", func(params json.Value) json.Value {
			return json.Change(params, "notifications", func(all json.Value) json.Value { return affirmed(all, "toolsListChanged") })
		}))
	case c.alone && c.in.Said() == front.Answer:
		return nil
	}
	return event
}

// listenAlone opens a stream at a server that has none, on which the gateway tells when the pins of the server's tools change.
func (c *call) listenAlone() *failure {
	listener, release := c.openStream(c.reply.BeginEvents)
	defer release()
	if c.req.method != http.MethodGet {
		agreed := wire.Filter{Tools: true}
		_ = c.reply.Note(agreed.Agreement(c.req.msg.ID))
		c.reply.W.Flush()
		listener.End()
	}
	c.stay()
	return nil
}

// stay waits until either side ends the stream.
func (c *call) stay() {
	select {
	case <-c.ctx.Done():
	case <-c.on.backend.Streams.Done():
	}
}

// join has a stream told when the pins of the server's tools change, if its client wants to know.
func (c *call) join(l *session.Listener) (leave func()) {
	if !c.hearsTools() {
		return func() {}
	}
	var params []byte
	if c.req.method != http.MethodGet {
		params = wire.OfSubscription(c.req.msg.ID)
	}
	return c.on.backend.Audience.Join(l, wire.AppendRequest(nil, nil, wire.MethodToolsChanged, params))
}
