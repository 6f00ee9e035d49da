package gateway

import (
	"bytes"
	"crypto/sha256"
	"net/http"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/seal"
	"github.com/recoursehq/recourse/internal/wire"
)

// A server that asks its client something gives it a state, to be brought back with the answer (MCP 2026-07-28, multi
// round-trip requests). At an endpoint with several servers the state is bound to the server, the tool and the caller
// that it was given to: one that comes to another server would say there what nobody has said.

// bindState binds the state in a question of the server's.
func (c *call) bindState(text []byte) []byte {
	if c.member == nil || string(c.in.signs.ResultType) != wire.InputRequired {
		return text
	}
	at := c.in.signs.Result
	bound := json.Change(at.Of(text), wire.RequestState, func(state json.Value) json.Value {
		return json.AppendQuote(nil, c.sealer().Seal(sumOf(state), c.statePurpose())+"."+string(state))
	})
	return wire.Splice(nil, text, wire.Edit{At: at, With: bound})
}

// ownState puts the server's own state into a request that brings one back.
func (c *call) ownState() *recourse.Error {
	if c.member == nil {
		return nil
	}
	given := json.Lookup(c.req.msg.Params, "/"+wire.RequestState)
	if given == nil {
		return nil
	}
	var text string
	_ = json.Unmarshal(given, &text) // else it is none of ours
	sealed, state, ok := strings.Cut(text, ".")
	sum, err := c.sealer().Open(sealed, c.statePurpose())
	if !ok || err != nil || !bytes.Equal(sum, sumOf(json.Value(state))) {
		return recourse.New(recourse.KindInvalidValue, "").
			WithMessage("The requestState was not given to this caller for this request of %s. Call again without it.", c.to.Title).
			WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
	}
	return c.req.change(json.Change(c.req.msg.Params, wire.RequestState, func(json.Value) json.Value { return json.Value(state) }))
}

// refuseState returns the failure of a request whose state is not the server's. It is for the client's program, not for
// its model, so that it is a JSON-RPC error whatever the contract says.
func (c *call) refuseState(e *recourse.Error) error {
	text := wire.AppendError(nil, c.req.msg.ID, wire.CodeInvalidParams, e.Sentence(), nil)
	if c.in.rescan(text) != nil {
		return settled(e)
	}
	return c.rpcFailure(http.StatusOK, text, e)
}

// sealer seals states: with the keys of sessions, so that any replica can open them, else with one of this process.
func (c *call) sealer() *seal.Sealer {
	if c.table.sealer != nil {
		return c.table.sealer
	}
	return c.g.states
}

func sumOf(state json.Value) []byte {
	sum := sha256.Sum256(state)
	return sum[:]
}

// statePurpose says what a state is for.
func (c *call) statePurpose() []byte {
	return []byte(strings.Join([]string{"state", c.on.Name, c.req.msg.Method, c.req.msg.Name, string(c.who.id[:])}, "\x00"))
}
