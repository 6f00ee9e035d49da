// Package session has the sessions of legacy clients: their ids, their state, and how any replica finds one
// again.
//
//	initialize                     Scope.Open makes a Session: its id for the client, and the server's
//	  v
//	another request with that id   Scope.Find: in memory, or from the id itself if that is a ticket
//	  |                            not found, or another caller's: 404, and the client has to initialize
//	  v
//	the server has lost it         Renew: the client's own initialize is sent again, once for all who wait;
//	                               the client's id stays the same
//
// Sessions are kept by server. A [Scope] is the part that one caller can reach. With keys in the
// configuration the id of a session is a sealed ticket that describes the session; without, only the process
// that has opened it knows it.
package session

import (
	"bytes"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse/internal/gateway/deadline"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/recent"
	"github.com/recoursehq/recourse/internal/upstream"
)

const (
	// sessionIdle is how long a session without any request is kept. A client whose
	// session is gone initializes a new one.
	sessionIdle = 24 * time.Hour
	// maxSessions limits the sessions of a server; the one idle longest is dropped first.
	maxSessions = 100_000
	// maxOpening limits the initialize request that is kept for a session, and its headers; a session opened
	// with a larger one cannot be renewed.
	maxOpening = 16 << 10
	// maxSessionBytes limits the total size of what is kept for a server's sessions.
	maxSessionBytes = 64 << 20
)

// A Session is a legacy session of a client. Its id belongs to the gateway and stays the same when the
// session at the server is lost and renewed.
type Session struct {
	ID        string
	Questions deadline.Questions // that the server waits for the client to answer
	Recalled  atomic.Bool        // the client was shown a list of tools from memory, and is to be told of the server's own

	of        upstream.Caller
	opening   Opening
	key       string    // of the opening in Redis; "": it is not there
	listeners listeners // its open streams

	mu         sync.Mutex
	upstream   string    // the server's id of the session
	place      *Place    // where it is known by that
	generation int       // counts the sessions at the server
	renewing   *Renewal  // nil: it is not being renewed
	asked      []Asked   // of it, and not of the client's first request
	extended   time.Time // when Redis was last asked to keep the opening for longer
}

// An Opening is the initialize request with which a client has opened a session.
type Opening struct {
	Body   []byte // nil: it was too long to be kept
	ID     wire.ID
	Header http.Header // with which it goes to the server
}

// A Place is where sessions are known: another server, or the same one in another process, is another place.
type Place struct{ _ byte } // not empty: each has an address of its own

// Opening returns the request that opened the session. It must not be changed.
func (s *Session) Opening() Opening { return s.opening }

// At returns where the session is known, its id there, and its generation.
func (s *Session) At() (where *Place, serverID string, generation int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.place, s.upstream, s.generation
}

// SetHeader names the session in a request to the server, and returns its generation. A nil session has none.
func (s *Session) SetHeader(header http.Header) (generation int) {
	if s == nil {
		return 0
	}
	_, id, generation := s.At()
	delete(header, wire.HeaderSession)
	if id != "" {
		header[wire.HeaderSession] = []string{id}
	}
	return generation
}

// A Renewal opens a session again at the server, for all callers who have found it lost.
type Renewal struct {
	Done chan struct{} // closed when it has ended
	Err  error         // why it has failed, once it has ended

	of *Session
}

// Renew returns the renewal of that generation of the session, which the server does not know; nil: it has been
// renewed already. However many callers find that out, begun is true for one of them only, who carries the renewal
// out and ends it.
func (s *Session) Renew(generation int) (r *Renewal, begun bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.generation != generation:
		return nil, false
	case s.renewing != nil:
		return s.renewing, false
	}
	s.renewing = &Renewal{of: s, Done: make(chan struct{})}
	return s.renewing, true
}

// End ends the renewal: unless it has failed, the session is now known at that place under an id of the server's.
func (r *Renewal) End(serverID string, at *Place, err error) {
	s := r.of
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Err = err
	if err == nil {
		s.upstream, s.place = serverID, at
		s.generation++
	}
	s.renewing = nil
	close(r.Done)
}

// A Store keeps the sessions of a server. Create it with [NewStore].
type Store struct {
	mu    sync.Mutex
	byID  *recent.Map[string, *Session]
	ended *recent.Map[[sha256.Size]byte, struct{}] // hashes of tickets that are no longer valid

	written      int // bytes, to Redis
	writtenSince time.Time
	unwritten    atomic.Int64 // sessions that wait for Redis
}

// NewStore returns a store without any sessions.
func NewStore() *Store {
	return &Store{
		byID:  recent.New[string, *Session](recent.Bounds{Most: maxSessions, Bytes: maxSessionBytes, Idle: sessionIdle}),
		ended: recent.New[[sha256.Size]byte, struct{}](recent.Bounds{Most: maxSessions, Idle: ticketAge}),
	}
}

// Kept returns how many sessions there are, and how many bytes are kept for them.
func (t *Store) Kept() (sessions, size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID.Len(), t.byID.Bytes()
}

// Clear drops all sessions. Those with tickets are found again.
func (t *Store) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.byID.All() {
		t.byID.Remove(s.ID)
	}
}

// add stores a session that has just been opened. size is that of the opening, with its header.
func (t *Store) add(s *Session, o Opening) {
	kept := len(s.ID) + len(s.upstream)
	if size := len(o.Body) + wire.HeaderSize(o.Header); size <= maxOpening {
		s.opening = Opening{Body: bytes.Clone(o.Body), ID: o.ID.Clone(), Header: o.Header.Clone()}
		kept += size
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byID.Keep(s.ID, s, kept)
}

// find returns the session of that id, or nil. A session belongs to the credentials that it was opened with.
func (t *Store) find(id string, of upstream.Caller) *Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.byID.Peek(id); !ok || s.of != of {
		return nil
	}
	s, _ := t.byID.Get(id)
	return s
}

// adopt stores a session from a ticket, unless its client has ended it. If one is already known by that id,
// it is returned.
func (t *Store) adopt(s *Session) *Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.byID.Get(s.ID); ok {
		return known
	}
	if _, ended := t.ended.Peek(sha256.Sum256([]byte(s.ID))); ended {
		return nil
	}
	t.byID.Keep(s.ID, s, len(s.ID)+len(s.upstream)+len(s.opening.Body)+wire.HeaderSize(s.opening.Header))
	return s
}

// remove ends a session, whose id is then unknown.
func (t *Store) remove(s *Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byID.Remove(s.ID)
	if strings.HasPrefix(s.ID, ticketMark) {
		t.ended.Keep(sha256.Sum256([]byte(s.ID)), struct{}{}, 0)
	}
}
