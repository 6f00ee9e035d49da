package gateway

import (
	"bytes"
	"crypto/sha256"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/privacy/seal"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream/bridge"
)

// A server that asks its client something sends a state, which the client returns with its answer (MCP
// 2026-07-28, multi round-trip requests).

// A binding ties such a state to the server, the tool, the arguments and the caller that it was given to: a server of several could
// get the state of another one, and a server that is told nothing of verified callers could not tell whose it is.
type binding struct {
	by     *seal.Sealer // nil: they are not tied
	on     *endpoint
	req    *request
	who    *caller
	nested bool
}

func (c *call) binding() binding {
	b := binding{on: c.on, req: &c.req, who: &c.who, nested: c.member != nil}
	if b.nested || c.on.checks && c.who.verified.Known() {
		b.by = c.table.states
	}
	return b
}

// bind ties the state in a server's question to the request that it belongs to.
func (b binding) bind(text []byte, signs *wire.Signs) []byte {
	if b.by == nil || string(signs.ResultType) != wire.InputRequired {
		return text
	}
	if !b.nested && bridge.Holds(json.Text(text, "/result/"+wire.RequestState)) {
		return text
	}
	return json.Change(text, "result", func(result json.Value) json.Value {
		return json.Change(result, wire.RequestState, func(state json.Value) json.Value {
			sum := sha256.Sum256(state)
			return json.AppendQuote(nil, b.by.Seal(sum[:], b.purpose())+"."+string(state))
		})
	})
}

// restore restores the server's own state in a request that returns one.
func (b binding) restore() *recourse.Error {
	if b.req.msg.State == nil || b.by == nil {
		return nil
	}
	said := json.Text(json.Value(b.req.msg.State), "") // anything but a text is not ours
	if !b.nested && bridge.Holds(said) {
		return nil
	}
	sealed, state, _ := strings.Cut(said, ".")
	given, err := b.by.Open(sealed, b.purpose())
	if sum := sha256.Sum256([]byte(state)); err != nil || !bytes.Equal(given, sum[:]) {
		return recourse.New(recourse.KindInvalidValue, "").
			WithMessage("The requestState was not given to this caller for this request of %s. Call again without it.", b.on.entry.Title).
			WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
	}
	return b.req.change(json.Change(b.req.msg.Params, wire.RequestState, func(json.Value) json.Value { return json.Value(state) }))
}

// purpose is what a state is bound to.
func (b binding) purpose() []byte {
	m := *b.req.msg
	m.Arguments = withoutAgain(m.Arguments) // it has been taken out when the server asks
	sum := m.Sum()
	return []byte(strings.Join([]string{"state", b.on.entry.Name, string(b.who.owner[:]), string(sum[:])}, "\x00"))
}
