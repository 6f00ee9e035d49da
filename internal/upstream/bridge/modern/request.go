package modern

import (
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// renewed returns a legacy request in modern form: with the introduction in its _meta, and otherwise
// unchanged.
func renewed(m *wire.Message, introduction []byte) []byte {
	var edit wire.Edit
	if m.Meta == nil {
		edit = m.PutMeta(introduction)
	} else { // the client's own members of the same names are replaced
		meta := append([]byte{'{'}, introduction...)
		others := wire.WithoutIntroduction(m.Meta)
		if len(others) > 0 {
			meta = append(meta, ',')
		}
		edit = wire.Edit{At: m.MetaAt, With: append(meta, others.AppendTo(nil)[1:]...)}
	}
	return wire.Splice(nil, m.Raw, edit)
}

// again returns the call's request under a new id, with the answers to the server's questions and its state;
// both may be nil.
func (c *exchange) again(id wire.ID, answers map[string]json.Value, state json.Value) []byte {
	params := json.Lookup(c.text, "/params")
	members := json.MembersOf(json.Without(json.Without(params, "inputResponses"), "requestState"))
	if answers != nil {
		members.Add("inputResponses", append(json.AppendMembers([]byte{'{'}, answers), '}'))
	}
	members.Add("requestState", state)
	return wire.AppendRequest(nil, id, c.method, members.AppendTo(nil))
}
