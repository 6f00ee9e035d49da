// Package backend keeps what a gateway has of a server besides its entry in the configuration: the connection,
// the sessions and the lists of its tools. It survives changes of the entry that do not affect how the server
// is reached, and is closed after its last call.
//
//	an entry of the configuration
//	  |  Set.Connect      makes a connection, and a bridge around it
//	  v
//	Backend
//	  |  Hold ... Leave   each call that uses it
//	  |  Leave            the entry has gone, or the server is reached in another way
//	  v
//	closed by the last Leave
package backend

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/recoursehq/recourse/internal/gateway/session"
	"github.com/recoursehq/recourse/internal/gateway/toollist"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/retry"
)

// A Backend is what the gateway has of one server.
type Backend struct {
	Bridged  upstream.Connection // for clients of both eras
	Direct   upstream.Connection // the same without the bridge: it passes messages on unchanged
	Sessions *session.Store
	Place    *session.Place // where sessions were opened that need not be reopened
	Lists    *toollist.Lists
	Budget   retry.Budget
	Audience session.Audience

	// Streams ends the streams that have no end of their own. They do not hold the backend, but end after its
	// last call: a server may ask its client something on them for that call.
	Streams    context.Context
	endStreams context.CancelFunc

	all   *Set
	holds atomic.Int64 // number of calls in progress and of the table; at zero it is closed
}

// Hold keeps the backend open until Leave is called. It reports false when the backend is closed already.
func (b *Backend) Hold() bool {
	for n := b.holds.Load(); n > 0; n = b.holds.Load() {
		if b.holds.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// Leave releases a hold. The last one closes the backend.
func (b *Backend) Leave() {
	if b.holds.Add(-1) == 0 {
		b.all.retire(b)
	}
}

// close ends what is left of the backend and waits until it has ended.
func (b *Backend) close() {
	b.endStreams()
	b.Bridged.Close()
}

// A Set is all backends of a gateway. It is safe for concurrent use. Close it after the last call.
type Set struct {
	reach Reach
	work  sync.WaitGroup // closing

	mu     sync.Mutex
	closed bool
	open   map[*Backend]bool // those in use, and older ones with calls in progress
}

// NewSet returns a set without backends.
func NewSet(reach Reach) *Set { return &Set{reach: reach, open: map[*Backend]bool{}} }

// New returns a server's backend, held once. It closes the connection.
func (s *Set) New(name string, bridged, direct upstream.Connection) *Backend {
	b := &Backend{
		Bridged: bridged, Direct: direct, Sessions: session.NewStore(), Place: &session.Place{},
		Lists: toollist.New(name, s.reach.Log), all: s,
	}
	b.Streams, b.endStreams = context.WithCancel(s.reach.Streams)
	b.holds.Store(1)
	return b
}

// Adopt makes the set responsible for a backend.
func (s *Set) Adopt(b *Backend) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[b] = true
}

// Abandon closes a backend unless it has been adopted.
func (s *Set) Abandon(b *Backend) {
	s.mu.Lock()
	adopted := s.open[b]
	s.mu.Unlock()
	if !adopted {
		b.close()
	}
}

// retire closes a backend that nobody holds any more.
func (s *Set) retire(b *Backend) {
	b.endStreams()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return // Close closes it
	}
	s.work.Go(func() {
		b.close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, b)
	})
}

// Close closes all backends and waits until they have ended.
func (s *Set) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.work.Wait() // from here on only this function uses them
	for b := range s.open {
		b.close()
	}
}
