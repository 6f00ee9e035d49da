package session

import (
	"errors"
	"maps"
	"slices"
	"sync"
)

// maxLinks limits the links about which one client is notified.
const maxLinks = 16

// listeners are the streams that a legacy client has opened for what the server says unasked, and the links
// about which it is notified. The zero value is empty.
type listeners struct {
	mu      sync.Mutex
	streams []*Listener
	links   []string // ids
}

// A Listener is one stream. The gateway may send messages of its own on it, between the server's.
type Listener struct {
	of *Session // nil: it belongs to no session

	mu    sync.Mutex                 // held in the middle of an event
	say   func(message []byte) error // nil: it has ended
	event bool                       // an event of the server is under way
}

// Listen makes a stream one of the session's. say sends a message to the client on it. A stream need not
// belong to a session.
func (s *Session) Listen(say func(message []byte) error) *Listener {
	l := &Listener{of: s, say: say}
	if s != nil {
		s.listeners.mu.Lock()
		defer s.listeners.mu.Unlock()
		s.listeners.streams = append(s.listeners.streams, l)
	}
	return l
}

// An Audience is the streams of a server's clients that are told what the gateway changes in its lists. The zero value is empty.
type Audience struct {
	mu  sync.Mutex
	all map[*Listener][]byte // the message
}

// Join has a stream told by that message, until leave is called.
func (a *Audience) Join(l *Listener, message []byte) (leave func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = map[*Listener][]byte{}
	}
	a.all[l] = message
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.all, l)
	}
}

// Tell tells all streams. Each is told by do, since its client may be slow to take it.
func (a *Audience) Tell(do func(tell func())) {
	a.mu.Lock()
	all := maps.Clone(a.all)
	a.mu.Unlock()
	for l, message := range all {
		do(func() { l.tell(message) })
	}
}

// tell sends a message to the client, and reports whether it could be sent.
func (l *Listener) tell(message []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.say != nil && l.say(message) == nil
}

// Begin begins one of the server's events, or continues it.
func (l *Listener) Begin() {
	if !l.event {
		l.mu.Lock()
		l.event = true
	}
}

// End ends the event.
func (l *Listener) End() {
	l.event = false
	l.mu.Unlock()
}

// Close ends the stream.
func (l *Listener) Close() {
	l.Begin()
	l.say = nil
	l.End()
	if l.of == nil {
		return
	}
	all := &l.of.listeners
	all.mu.Lock()
	defer all.mu.Unlock()
	all.streams = slices.DeleteFunc(all.streams, func(other *Listener) bool { return other == l })
}

// Tell sends a message to the client on one of its streams. It reports false if none is open.
func (s *Session) Tell(message []byte) bool {
	s.listeners.mu.Lock()
	open := slices.Clone(s.listeners.streams)
	s.listeners.mu.Unlock()
	return slices.ContainsFunc(open, func(l *Listener) bool { return l.tell(message) })
}

// Say is Tell for a client that has to be told.
func (s *Session) Say(message []byte) error {
	if !s.Tell(message) {
		return errNobody
	}
	return nil
}

var errNobody = errors.New("the client has no stream open")

// Expects records that the client will be notified about a link. It reports false if it already will be, or
// about too many.
func (s *Session) Expects(id string) bool {
	s.listeners.mu.Lock()
	defer s.listeners.mu.Unlock()
	if slices.Contains(s.listeners.links, id) || len(s.listeners.links) >= maxLinks {
		return false
	}
	s.listeners.links = append(s.listeners.links, id)
	return true
}

// ExpectsNoMore forgets the link.
func (s *Session) ExpectsNoMore(id string) {
	s.listeners.mu.Lock()
	defer s.listeners.mu.Unlock()
	s.listeners.links = slices.DeleteFunc(s.listeners.links, func(other string) bool { return other == id })
}
