package wire

import (
	"bytes"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Introduction returns the members of _meta with which a client of the modern era states in each
// request who it is and what it is capable of. info and capabilities are JSON objects.
func Introduction(info, capabilities []byte) []byte {
	text := []byte(`"` + MetaProtocolVersion + `":"` + Version20260728 + `","` + MetaClientInfo + `":`)
	text = append(append(text, info...), `,"`+MetaClientCapabilities+`":`...)
	return append(text, capabilities...)
}

// PutMeta returns the edit of Raw that adds members to the message's _meta, before the existing ones.
// If the message has params and a _meta in them, they must be objects.
func (m *Message) PutMeta(members []byte) Edit {
	with := make([]byte, 0, len(members)+len(`,"params":{"_meta":{}}`))
	at := m.MetaAt
	switch {
	case m.Params == nil:
		end := bytes.LastIndexByte(m.Raw, '}') // the closing brace of the message
		with = append(append(append(with, `,"params":{"_meta":{`...), members...), "}}"...)
		return Edit{At: Span{Start: end, End: end}, With: with}
	case m.Meta == nil:
		at = m.ParamsAt
		with = append(append(append(with, `"_meta":{`...), members...), '}')
	default:
		with = append(with, members...)
	}
	if rest := bytes.TrimLeft(m.Raw[at.Start+1:at.End], " \t\r\n"); rest[0] != '}' {
		with = append(with, ',')
	}
	return Edit{At: Span{Start: at.Start + 1, End: at.Start + 1}, With: with}
}

// WithoutIntroduction returns the members of a _meta, by their names, except those that only the modern era has. If it
// is not an object, there are none.
func WithoutIntroduction(meta json.Value) (members json.Members) {
	if meta.Kind() != '{' {
		return nil
	}
	_ = json.Parts(meta, func(name string, value json.Value) { // it is part of a message
		switch name {
		case MetaProtocolVersion, MetaClientInfo, MetaClientCapabilities, MetaLogLevel:
		default:
			members.Add(name, value)
		}
	})
	slices.SortFunc(members, func(a, b json.Member) int { return strings.Compare(a.Name, b.Name) })
	return members
}

// SpeaksModern reports whether a server says that it does, in its result of server/discover.
func SpeaksModern(discovered []byte) bool {
	return bytes.Contains(json.Lookup(discovered, "/supportedVersions"), []byte(`"`+Version20260728+`"`))
}

// Continues reports whether a request continues one for which the server has asked something (MCP 2026-07-28, multi round-trip
// requests).
func (m *Message) Continues() bool { return m.State != nil || m.Inputs != nil }
