package modern

import (
	"maps"
	"net/http"
	"slices"

	"github.com/recoursehq/recourse/internal/bridge/peer"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
)

// headerOf returns the headers of a request of the modern era for the sender of from:
// those that do not belong to the legacy.
func headerOf(from http.Header) http.Header {
	h := from.Clone()
	peer.WithoutEra(h)
	h["Accept"] = []string{wire.TypeJSON + ", " + wire.TypeEventStream}
	h["Content-Type"] = []string{wire.TypeJSON}
	return h
}

// headerFor returns those of a request of the bridge's own.
func headerFor(from http.Header, method string) http.Header {
	h := headerOf(from)
	h[wire.HeaderVersion], h[wire.HeaderMethod] = []string{wire.Version20260728}, []string{method}
	return h
}

// renewed returns the text of a request of the legacy era as one of the modern: with the
// introduction in its _meta, and otherwise as it is. Its params, if there are any,
// are an object.
func renewed(m *wire.Message, introduction []byte) []byte {
	edit := wire.Edit{At: m.MetaAt}
	if m.Meta == nil {
		edit = m.PutMeta(introduction)
	} else {
		edit.With = withIntroduction(m.Meta, introduction)
	}
	return wire.Splice(make([]byte, 0, len(m.Raw)+len(edit.With)), m.Raw, edit)
}

// withIntroduction returns a client's _meta with the introduction in it. What the
// client itself says under the names of the modern era is not taken for it.
func withIntroduction(meta json.Value, introduction []byte) []byte {
	var members map[string]json.Value
	_ = json.Unmarshal(meta, &members) // what is no object is none of the protocol's
	for _, name := range []string{wire.MetaProtocolVersion, wire.MetaClientInfo, wire.MetaClientCapabilities, wire.MetaLogLevel} {
		delete(members, name)
	}
	text := append([]byte{'{'}, introduction...)
	if len(members) > 0 {
		text = append(text, ',')
	}
	return append(appendMembers(text, members), '}')
}

// appendMembers appends the members of an object, sorted, with their values as they
// are spelled.
func appendMembers(dst []byte, members map[string]json.Value) []byte {
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(json.AppendQuote(dst, name), ':'), members[name]...)
	}
	return dst
}

// again returns the request that asks for the same once more, under another id, with
// the answers to what the server has asked and the state that it wants to see again
// (MCP 2026-07-28, multi round-trip requests). Both may be nil.
func again(request []byte, id wire.ID, answers map[string]json.Value, state json.Value) ([]byte, error) {
	m := wire.BorrowMessage()
	defer m.Return()
	if err := wire.Parse(request, m); err != nil {
		return nil, err
	}
	var params map[string]json.Value
	if err := json.Unmarshal(m.Params, &params); err != nil {
		return nil, err
	}
	delete(params, "inputResponses")
	delete(params, "requestState")
	if answers != nil {
		params["inputResponses"] = append(appendMembers([]byte{'{'}, answers), '}')
	}
	if state != nil {
		params["requestState"] = state
	}
	text := append(appendMembers([]byte{'{'}, params), '}')
	return wire.Splice(nil, m.Raw, wire.Edit{At: m.IDAt, With: id}, wire.Edit{At: m.ParamsAt, With: text}), nil
}
