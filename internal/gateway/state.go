package gateway

import (
	"bytes"
	"crypto/sha256"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream/bridge"
)

// A server that asks its client something sends a state, which the client returns with its answer (MCP
// 2026-07-28, multi round-trip requests).

// bindsStates reports whether such a state is tied to the server, the tool, the arguments and the caller that it was given to: a server
// of several could get the state of another one, and a server that is told nothing of verified callers could not tell whose it is.
func (c *call) bindsStates() bool { return c.member != nil || c.on.checks && c.who.verified.Known() }

// bindState ties the state in a server's question to the request that it belongs to.
func (c *call) bindState(text []byte, signs *wire.Signs) []byte {
	if !c.bindsStates() || string(signs.ResultType) != wire.InputRequired {
		return text
	}
	if c.member == nil && bridge.Holds(json.Text(text, "/result/"+wire.RequestState)) {
		return text
	}
	return json.Change(text, "result", func(result json.Value) json.Value {
		return json.Change(result, wire.RequestState, func(state json.Value) json.Value {
			sum := sha256.Sum256(state)
			return json.AppendQuote(nil, c.table.states.Seal(sum[:], c.statePurpose())+"."+string(state))
		})
	})
}

// restoreState restores the server's own state in a request that returns one.
func (c *call) restoreState() *recourse.Error {
	if c.req.msg.State == nil || !c.bindsStates() {
		return nil
	}
	said := json.Text(json.Value(c.req.msg.State), "") // anything but a text is not ours
	if c.member == nil && bridge.Holds(said) {
		return nil
	}
	sealed, state, _ := strings.Cut(said, ".")
	given, err := c.table.states.Open(sealed, c.statePurpose())
	if sum := sha256.Sum256([]byte(state)); err != nil || !bytes.Equal(given, sum[:]) {
		return recourse.New(recourse.KindInvalidValue, "").
			WithMessage("The requestState was not given to this caller for this request of %s. Call again without it.", c.on.entry.Title).
			WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
	}
	return c.req.change(json.Change(c.req.msg.Params, wire.RequestState, func(json.Value) json.Value { return json.Value(state) }))
}

// statePurpose is what a state is tied to.
func (c *call) statePurpose() []byte {
	m := *c.req.msg
	m.Arguments = withoutAgain(m.Arguments) // it has been taken out when the server asks
	sum := m.Sum()
	return []byte(strings.Join([]string{"state", c.on.entry.Name, string(c.who.owner[:]), string(sum[:])}, "\x00"))
}
