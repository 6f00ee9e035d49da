package upstream

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// DiscoverParams are the params of our own server/discover.
var DiscoverParams = append(append([]byte(`{"_meta":{`), wire.Introduction(ClientInfo, []byte("{}"))...), "}}"...)

// discovers finds out whether a child that has refused initialize speaks the modern era.
func (c *child) discovers(ctx context.Context) bool {
	said, err := c.ask(ctx, wire.MethodDiscover, DiscoverParams)
	if err != nil {
		return false
	}
	said.long.close() // no introduction is that long
	modern := wire.SpeaksModern(json.Lookup(said.text, "/result"))
	c.modern.Store(modern)
	return modern
}

func (c *child) era() wire.Era {
	if c.modern.Load() {
		return wire.Modern
	}
	return wire.Legacy
}

// isStateless reports whether a message is treated as one of the modern era. If each client has its own
// child, and none has shown its era yet, the message has to say so itself.
func (s *Stdio) isStateless(session string, m *wire.Message) bool {
	switch s.Era() {
	case wire.Modern:
		return true
	case wire.Legacy:
		return false
	default:
		return s.command.Share == ShareClient && session == "" && m.ProtocolVersion != ""
	}
}

// anonymous is the key of clients of the modern era about whom nothing is known. They share a child, and are
// isolated from each other as in any shared child.
const anonymous = "anonymous"

// clientKey returns the key of a client's own child in the modern era; empty: all share one.
func (s *Stdio) clientKey(of Caller) string {
	switch {
	case s.command.Share == ShareAll:
		return ""
	case of.IsAnonymous():
		return anonymous
	default:
		return string(of[:])
	}
}

// postModern takes a message for a server of the modern era. The error is errOtherEra if it is of the other era.
func (s *Stdio) postModern(ctx context.Context, m *wire.Message, session string, to recipient) (*wire.Answer, error) {
	switch {
	case m.Kind != wire.Request || m.ProtocolVersion != "":
	case m.Method == wire.MethodInitialize:
		return refuseInitialize(m), nil
	case session != "": // another child has opened it
		return wire.RespondLost(), nil
	}
	return s.pass(ctx, m, to)
}

// refuseInitialize returns a modern server's answer to initialize (MCP 2026-07-28, basic/versioning).
func refuseInitialize(m *wire.Message) *wire.Answer {
	var data json.Members
	data.Texts("supported", []string{wire.Version20260728})
	data.Text("requested", json.Text(m.Params, "/protocolVersion"))
	return wire.Respond(http.StatusBadRequest, wire.AppendError(nil, m.ID, wire.CodeUnsupportedVersion,
		"the server knows no initialize and speaks "+wire.Version20260728+" only", data.AppendTo(nil)))
}

// refuseDiscover returns a legacy server's answer to server/discover.
func refuseDiscover(m *wire.Message) *wire.Answer {
	return wire.RespondError(m.ID, wire.CodeMethodNotFound, "unknown method")
}

// notice handles progress, and other messages from a modern child besides answers (MCP 2026-07-28,
// basic/transports/stdio, "Receiving Messages").
func (r *receiver) notice(m *wire.Message) {
	switch {
	case m.Kind == wire.Request:
		r.odd.quote("a server of the modern era makes no requests", m.Raw)
	case m.Method == wire.MethodProgress:
		r.progress(m)
	case m.Method == wire.MethodCancelled:
		if id, ok := number(m.RequestID); !ok || !r.child.endSubscription(id) {
			r.odd.quote("a cancellation is of no subscription", m.Raw)
		}
	case !m.Subscription.IsZero():
		r.publish(m)
	case m.Method == wire.MethodLog:
		r.child.tellLog(copied(r.scan.Signs(), m.Raw), wire.LogLevelOf(json.Text(m.Params, "/level"))) // without one it belongs to nobody
	default:
		r.odd.quote("a notification does not belong to any request", m.Raw)
	}
}

// publish passes a notification to the subscription that it names. If the reader does not keep up, its
// subscription ends, so that it knows that it missed something.
func (r *receiver) publish(m *wire.Message) {
	id, ok := number(m.Subscription)
	if !ok {
		r.odd.quote("a notification has a subscription that was never made", m.Raw)
		return
	}
	call := r.child.byID(id)
	if call == nil || !call.listens {
		return // it has just ended
	}
	if !call.put(copied(r.scan.Signs(), m.Raw, wire.Edit{At: m.SubscriptionAt, With: call.clientID})) {
		r.child.abandon(call, gaveUp)
		call.End(io.EOF)
	}
}

// endSubscription ends a subscription without an answer, and reports whether it existed.
func (c *child) endSubscription(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.calls[id]
	if call == nil || !call.listens {
		return false
	}
	delete(c.calls, id)
	c.used = time.Now()
	call.End(io.EOF)
	return true
}

// tellLog passes the child's log messages to the calls that asked for them. They do not say which call they
// are about, so if clients share the child, nobody gets them.
func (c *child) tellLog(said delivery, level wire.LogLevel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shared {
		return
	}
	for _, call := range c.calls {
		if call.level != 0 && level >= call.level {
			call.put(said)
		}
	}
}
