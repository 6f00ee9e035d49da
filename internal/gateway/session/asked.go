package session

import (
	"bytes"
	"slices"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// maxAsked limits what is kept of what a client has asked of its session, in bytes.
const maxAsked = 16 << 10

// An Asked is something that a client has asked of its session, such as to hear of a resource. The session that replaces it at the server
// is asked the same: the client does not know of it.
type Asked struct {
	Method string
	Params json.Value
}

// Granted takes note of a request that the server has carried out.
func (t *Store) Granted(s *Session, m *wire.Message) {
	if m.Method != wire.MethodSubscribe && m.Method != wire.MethodUnsubscribe && m.Method != wire.MethodSetLevel {
		return
	}
	s.mu.Lock()
	before := sizeOf(s.asked)
	ofLevel, uri := m.Method == wire.MethodSetLevel, json.Text(m.Params, "/uri")
	s.asked = slices.DeleteFunc(s.asked, func(a Asked) bool {
		return (a.Method == wire.MethodSetLevel) == ofLevel && json.Text(a.Params, "/uri") == uri
	})
	if params := json.Without(m.Params, "_meta"); m.Method != wire.MethodUnsubscribe && sizeOf(s.asked)+len(params) <= maxAsked {
		s.asked = append(s.asked, Asked{m.Method, bytes.Clone(params)})
	}
	grown := sizeOf(s.asked) - before
	s.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byID.Grow(s.ID, grown)
}

func sizeOf(all []Asked) (size int) {
	for _, a := range all {
		size += len(a.Params)
	}
	return size
}

// Asked returns what has been asked of the session.
func (s *Session) Asked() []Asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}
