package gateway

import (
	"net/http"
	"slices"
	"sync"

	"github.com/recoursehq/recourse/internal/gateway/account"
)

// maxSessionNotices bounds the accounts that are waited for on behalf of one session.
const maxSessionNotices = 16

var _ account.Session = (*session)(nil)

// listeners are the streams that a legacy client has opened for what the server says of its own accord, and the links that it
// wants to hear of. The zero value is none.
type listeners struct {
	mu      sync.Mutex
	streams []*listener
	links   []string // ids
}

// A listener is one stream. The gateway may say something of its own on it, between the server's messages.
type listener struct {
	mu    sync.Mutex // held in the middle of an event
	c     *call      // nil: it has ended
	event bool       // one is under way
}

// listen makes the call a stream of its session's.
func (c *call) listen() *listener {
	l := &listener{c: c}
	if c.session != nil && c.req.http.Method == http.MethodGet {
		all := &c.session.listeners
		all.mu.Lock()
		defer all.mu.Unlock()
		all.streams = append(all.streams, l)
	}
	return l
}

// begin begins an event of the server's, or goes on with it, and end ends it.
func (l *listener) begin() {
	if !l.event {
		l.mu.Lock()
		l.event = true
	}
}

func (l *listener) end() {
	l.event = false
	l.mu.Unlock()
}

// close ends the stream.
func (l *listener) close() {
	l.begin()
	s := l.c.session
	l.c = nil
	l.end()
	if s == nil {
		return
	}
	s.listeners.mu.Lock()
	defer s.listeners.mu.Unlock()
	s.listeners.streams = slices.DeleteFunc(s.listeners.streams, func(other *listener) bool { return other == l })
}

// Tell says something to the client on one of its streams. It reports false if none is open.
func (s *session) Tell(event []byte) bool {
	s.listeners.mu.Lock()
	open := slices.Clone(s.listeners.streams)
	s.listeners.mu.Unlock()
	return slices.ContainsFunc(open, func(l *listener) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.c == nil || l.c.reply.put(event) != nil {
			return false
		}
		l.c.reply.flush()
		return true
	})
}

// Expects notes that the client is going to be told of a link. It reports false if it is already, or of too many.
func (s *session) Expects(id string) bool {
	s.listeners.mu.Lock()
	defer s.listeners.mu.Unlock()
	if slices.Contains(s.listeners.links, id) || len(s.listeners.links) >= maxSessionNotices {
		return false
	}
	s.listeners.links = append(s.listeners.links, id)
	return true
}

// ExpectsNoMore ends that.
func (s *session) ExpectsNoMore(id string) {
	s.listeners.mu.Lock()
	defer s.listeners.mu.Unlock()
	s.listeners.links = slices.DeleteFunc(s.listeners.links, func(other string) bool { return other == id })
}
