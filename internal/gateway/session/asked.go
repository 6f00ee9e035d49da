package session

import (
	"bytes"
	"context"
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

// Granted takes note of a request that the server has carried out, if a session that replaces this one is asked the same.
func (s *Scope) Granted(ctx context.Context, of *Session, m *wire.Message) {
	of.mu.Lock()
	before := sizeOf(of.asked)
	of.asked = noted(of.asked, m)
	grown := sizeOf(of.asked) - before
	of.mu.Unlock()
	s.Store.mu.Lock()
	s.Store.byID.Grow(of.ID, grown)
	s.Store.mu.Unlock()
	s.share(ctx, of, m)
}

// IsAsked reports whether a request is one of those of which [Scope.Granted] takes note.
func IsAsked(m *wire.Message) bool {
	return m.Method == wire.MethodSubscribe || m.Method == wire.MethodUnsubscribe || m.Method == wire.MethodSetLevel
}

// noted returns what has been asked of a session once a request has been carried out as well.
func noted(all []Asked, m *wire.Message) []Asked {
	ofLevel, uri := m.Method == wire.MethodSetLevel, json.Text(m.Params, "/uri")
	all = slices.DeleteFunc(all, func(a Asked) bool {
		return (a.Method == wire.MethodSetLevel) == ofLevel && json.Text(a.Params, "/uri") == uri
	})
	if params := json.Without(m.Params, "_meta"); m.Method != wire.MethodUnsubscribe && sizeOf(all)+len(params) <= maxAsked {
		all = append(all, Asked{m.Method, bytes.Clone(params)})
	}
	return all
}

func sizeOf(all []Asked) (size int) {
	for _, a := range all {
		size += len(a.Params)
	}
	return size
}

// Asked returns what has been asked of a session, here and at other replicas.
func (s *Scope) Asked(ctx context.Context, of *Session) []Asked {
	of.mu.Lock()
	all := slices.Clone(of.asked)
	of.mu.Unlock()
	m := wire.BorrowMessage()
	defer m.Return()
	for _, text := range s.shared(ctx, of) {
		if wire.Parse(text, m) == nil && IsAsked(m) {
			all = noted(all, m)
		}
	}
	return all
}
