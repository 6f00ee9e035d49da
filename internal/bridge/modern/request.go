package modern

import (
	"net/http"

	"github.com/recoursehq/recourse/internal/bridge/peer"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
)

// headerOf returns the headers of a modern request for the sender of from.
func headerOf(from http.Header) http.Header {
	h := from.Clone()
	peer.WithoutEra(h)
	h["Accept"] = []string{wire.TypeJSON + ", " + wire.TypeEventStream}
	h["Content-Type"] = []string{wire.TypeJSON}
	return h
}

// headerFor returns the headers of one of the bridge's own requests.
func headerFor(from http.Header, method string) http.Header {
	h := headerOf(from)
	h[wire.HeaderVersion], h[wire.HeaderMethod] = []string{wire.Version20260728}, []string{method}
	return h
}

// renewed returns a legacy request in modern form: with the introduction in its _meta, and otherwise
// unchanged.
func renewed(m *wire.Message, introduction []byte) []byte {
	edit := wire.Edit{At: m.MetaAt}
	if m.Meta == nil {
		edit = m.PutMeta(introduction)
	} else {
		edit.With = withIntroduction(m.Meta, introduction)
	}
	return wire.Splice(make([]byte, 0, len(m.Raw)+len(edit.With)), m.Raw, edit)
}

// withIntroduction returns a client's _meta with the introduction, which replaces the client's own members of
// the same names.
func withIntroduction(meta json.Value, introduction []byte) []byte {
	members := wire.WithoutIntroduction(meta)
	text := append([]byte{'{'}, introduction...)
	if len(members) > 0 {
		text = append(text, ',')
	}
	return append(json.AppendMembers(text, members), '}')
}

// again returns the request under a new id, with the answers to the server's questions and its state; both
// may be nil.
func again(request []byte, id wire.ID, answers map[string]json.Value, state json.Value) ([]byte, error) {
	m := wire.BorrowMessage()
	defer m.Return()
	if err := wire.Parse(request, m); err != nil {
		return nil, err
	}
	params := json.MembersOf(json.Without(json.Without(m.Params, "inputResponses"), "requestState"))
	if answers != nil {
		params.Add("inputResponses", append(json.AppendMembers([]byte{'{'}, answers), '}'))
	}
	params.Add("requestState", state)
	return wire.Splice(nil, m.Raw, wire.Edit{At: m.IDAt, With: id}, wire.Edit{At: m.ParamsAt, With: params.AppendTo(nil)}), nil
}
