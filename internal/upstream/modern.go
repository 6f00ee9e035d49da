package upstream

import (
	"context"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
)

// DiscoverParams are those of a server/discover of our own.
var DiscoverParams = append(append([]byte(`{"_meta":{`), wire.Introduction(ClientInfo, []byte("{}"))...), "}}"...)

// discovers finds out whether a child that has refused initialize is of the modern era.
func (c *child) discovers(ctx context.Context) bool {
	said, err := c.ask(ctx, wire.MethodDiscover, DiscoverParams)
	if err != nil {
		return false
	}
	if said.long != nil {
		said.long.close()
		return false
	}
	modern := wire.SpeaksModern(said.member("/result"))
	c.modern.Store(modern)
	return modern
}

func (c *child) era() wire.Era {
	if c.modern.Load() {
		return wire.Modern
	}
	return wire.Legacy
}

// isStateless reports whether a message is to be taken as one of the modern era. Where each
// client has its own child, and none has shown its era yet, the message has to say so.
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

// anonymous is the key of clients of the modern era of whom nothing is known. They share a
// child, and are kept from each other as where all do.
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

// postModern takes a message for a server of the modern era. The error is errOtherEra when the
// server turns out to be of the other.
func (s *Stdio) postModern(ctx context.Context, m *wire.Message, session string, to recipient) (*http.Response, error) {
	switch {
	case m.Kind != wire.Request || m.ProtocolVersion != "":
	case m.Method == wire.MethodInitialize:
		return refuseInitialize(m), nil
	case session != "": // it is one that another child has opened
		return wire.RespondLost(), nil
	}
	return s.pass(ctx, m, to)
}

// refuseInitialize returns the answer of a server of the modern era to initialize (MCP
// 2026-07-28, basic/versioning).
func refuseInitialize(m *wire.Message) *http.Response {
	data := `{"supported":["` + wire.Version20260728 + `"],"requested":` + string(json.AppendQuote(nil, askedVersion(m.Params))) + `}`
	return wire.Respond(http.StatusBadRequest, wire.AppendError(nil, m.ID, wire.CodeUnsupportedVersion,
		"the server knows no initialize and speaks "+wire.Version20260728+" only", []byte(data)))
}

// refuseDiscover returns the answer of a server of the legacy era to server/discover.
func refuseDiscover(m *wire.Message) *http.Response {
	return wire.RespondError(m.ID, wire.CodeMethodNotFound, "unknown method")
}

// notice deals with what a child of the modern era says beside answers and progress (MCP
// 2026-07-28, basic/transports/stdio, "Receiving Messages").
func (r *receiver) notice(kind wire.Kind, text []byte) {
	if err := wire.Parse(text, &r.message); err != nil {
		r.complain(notMessage, text)
		return
	}
	m := &r.message
	switch {
	case kind == wire.Request:
		r.complain("a server of the modern era makes no requests", text)
	case m.Method == wire.MethodCancelled:
		if id, ok := number(m.RequestID); !ok || !r.child.endSubscription(id) {
			r.complain("a cancellation is of no subscription", text)
		}
	case !m.Subscription.IsZero():
		r.publish(m)
	case m.Method == wire.MethodLog:
		var name string
		_ = json.Unmarshal(json.Lookup(m.Params, "/level"), &name) // without one it is nobody's
		r.child.tellLog(text, wire.LogLevelOf(name))
	default:
		r.complain("a notification does not belong to any request", text)
	}
}

// publish passes a notification to the subscription that it names. The subscription of a
// reader that does not keep up ends, so that it knows that it has missed something.
func (r *receiver) publish(m *wire.Message) {
	id, ok := number(m.Subscription)
	if !ok {
		r.complain("a notification has a subscription that was never made", m.Raw)
		return
	}
	call := r.child.byID(id)
	if call == nil || !call.listens {
		return // it has just ended
	}
	text := wire.Splice(nil, m.Raw, wire.Edit{At: m.SubscriptionAt, With: call.clientID})
	if !call.Put(text) {
		r.child.abandon(call, noLonger)
		call.End(io.EOF)
	}
}

// endSubscription ends a subscription without an answer, and reports whether there is one.
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

// tellLog passes what the child logs to the calls that have asked for it. It does not say
// which of them it is about, so that nobody hears it where clients share the child.
func (c *child) tellLog(text []byte, level wire.LogLevel) {
	text = slices.Clone(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shared {
		return
	}
	for _, call := range c.calls {
		if call.level != 0 && level >= call.level {
			call.Put(text)
		}
	}
}
