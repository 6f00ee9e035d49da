package wire

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// HeaderRequestID identifies a request in the logs of everybody who handles it.
const HeaderRequestID = "X-Request-Id"

// HeaderForwardedFor is the header in which proxies say for whom they forward a request: each appends
// the address of its peer.
const HeaderForwardedFor = "X-Forwarded-For"

// MetaRequestID is the member of a request's _meta that carries the same id to a server on stdio, where
// there are no headers.
const MetaRequestID = "io.github.recoursehq/requestId"

// Stamp appends the edit of Raw that puts the id into a request's _meta, replacing any other. There is
// none if params or _meta is not an object.
func (m *Message) Stamp(edits []Edit, id string) []Edit {
	const name = `"` + MetaRequestID + `":`
	member := json.AppendQuote(append(make([]byte, 0, len(name)+maxRequestID+len(`""`)), name...), id)
	at := m.requestIDAt
	switch {
	case len(m.Params) == 0 || m.Params[0] != '{', len(m.Meta) > 0 && m.Meta[0] != '{':
		return edits
	case !at.IsZero():
		return append(edits, Edit{At: at, With: member[len(name):]})
	default:
		return append(edits, m.PutMeta(member))
	}
}

// maxRequestID limits a request id that is accepted from a caller, in bytes.
const maxRequestID = 128

// RequestID returns the caller's id if it is usable: up to 128 ASCII letters, digits and any of - _ .
// :. Otherwise it generates one.
func RequestID(given string) string {
	if given != "" && len(given) <= maxRequestID && isToken(given) {
		return given
	}
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails
	id := make([]byte, 0, 4+2*len(random))
	return string(hex.AppendEncode(append(id, "req-"...), random[:]))
}

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' && c != '.' && c != ':' {
			return false
		}
	}
	return true
}
