package many

import (
	"bytes"
	"crypto/sha256"
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/seal"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A server that asks its client something sends a state, which the client returns with its answer (MCP
// 2026-07-28, multi round-trip requests). The state is bound to the server, the tool, the arguments and the
// caller that it was given to; otherwise another server, or another caller's call, could receive a state with
// answers that nobody gave.

// BindState binds the state in a result that asks something to a purpose.
func BindState(result json.Value, by *seal.Sealer, purpose []byte) json.Value {
	return json.Change(result, wire.RequestState, func(state json.Value) json.Value {
		return json.AppendQuote(nil, by.Seal(sumOf(state), purpose)+"."+string(state))
	})
}

// OwnState puts the server's own state into the params of a request that returns one. It reports false
// if the state was not issued for that purpose.
func OwnState(params json.Value, by *seal.Sealer, purpose []byte) (own json.Value, ok bool) {
	text := json.Text(params, "/"+wire.RequestState) // otherwise it is not one of ours
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
