package many

import (
	"bytes"
	"crypto/sha256"
	"strings"

	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/seal"
	"github.com/recoursehq/recourse/internal/wire"
)

// A server that asks its client something gives it a state, to be brought back with the answer (MCP 2026-07-28, multi
// round-trip requests). At an endpoint with several servers the state is bound to the server, the tool and the caller
// that it was given to: one that comes to another server would say there what nobody has said.

// BindState binds the state in a result that asks something to a purpose.
func BindState(result json.Value, by *seal.Sealer, purpose []byte) json.Value {
	return json.Change(result, wire.RequestState, func(state json.Value) json.Value {
		return json.AppendQuote(nil, by.Seal(sumOf(state), purpose)+"."+string(state))
	})
}

// OwnState puts the server's own state into the params of a request that brings one back. It reports false if the state was not
// given for that purpose.
func OwnState(params json.Value, by *seal.Sealer, purpose []byte) (own json.Value, ok bool) {
	var text string
	_ = json.Unmarshal(json.Lookup(params, "/"+wire.RequestState), &text) // else it is none of ours
	sealed, state, ok := strings.Cut(text, ".")
	sum, err := by.Open(sealed, purpose)
	if !ok || err != nil || !bytes.Equal(sum, sumOf(json.Value(state))) {
		return nil, false
	}
	return json.Change(params, wire.RequestState, func(json.Value) json.Value { return json.Value(state) }), true
}

func sumOf(state json.Value) []byte {
	sum := sha256.Sum256(state)
	return sum[:]
}
