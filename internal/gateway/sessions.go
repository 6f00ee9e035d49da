package gateway

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/recent"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
)

const (
	// sessionIdle is how long a session without any request is kept. A client whose
	// session is gone initializes a new one.
	sessionIdle = 24 * time.Hour
	// maxSessions bounds the sessions of a server; the one idle longest goes first.
	maxSessions = 100_000
	// maxOpening bounds the initialize request that is kept for a session, and its
	// headers; one that was opened with more cannot be made anew.
	maxOpening = 16 << 10
	// maxSessionBytes bounds what is kept for the sessions of a server altogether.
	maxSessionBytes = 64 << 20
	// maxInitialize bounds the answer to initialize that is read for a session.
	maxInitialize = 1 << 20
	// renewTimeout bounds the renewing of a session at the server.
	renewTimeout = 15 * time.Second
)

// A session is a legacy session of a client. Its id is the gateway's own and
// stays the same when the session at the server is lost and made anew.
type session struct {
	id     string
	of     upstream.Caller
	open   []byte      // the client's initialize request
	openID wire.ID     // its id
	header http.Header // with which it was sent

	questions questions // that the server waits for the client to answer

	mu         sync.Mutex
	upstream   string // the server's id of the session
	place      *place // where it is known by that
	generation int    // counts the sessions at the server
	renewing   chan struct{}
	renewed    error // of the last renewal
}

// sessions are the sessions of a server.
type sessions struct {
	mu   sync.Mutex
	byID *recent.Map[string, *session]
}

func newSessions() *sessions {
	return &sessions{byID: recent.New[string, *session](recent.Bounds{Most: maxSessions, Bytes: maxSessionBytes, Idle: sessionIdle})}
}

// add makes a session of an initialize request that the server has answered with
// an id of its own.
func (t *sessions) add(c *call, serverID string) *session {
	s := &session{id: rand.Text(), of: c.who.id, upstream: serverID, place: c.to.place}
	header, kept := c.keptHeader(), len(serverID)
	if size := len(c.req.body) + sizeOf(header); size <= maxOpening {
		s.open, s.openID, s.header = bytes.Clone(c.req.body), c.req.msg.ID.Clone(), header.Clone()
		kept += size
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byID.Trim(1, nil)
	t.byID.Put(s.id, s, kept)
	return s
}

// keptHeader returns the headers with which a session can be opened again: nothing of
// the one request, such as how it is traced.
func (c *call) keptHeader() http.Header {
	header := c.upstreamHeader()
	for name := range header {
		switch {
		case slices.Contains(ofOneRequest, name) && !slices.Contains(c.on.forward, name), strings.HasPrefix(name, wire.HeaderParamPrefix):
			delete(header, name)
		}
	}
	return header
}

// ofOneRequest are the headers that say something of one request only.
var ofOneRequest = []string{
	"Traceparent", "Tracestate", "Baggage", wire.HeaderRequestID, wire.HeaderLastEventID, wire.HeaderMethod, wire.HeaderName,
}

// sizeOf returns about how many bytes a header takes.
func sizeOf(header http.Header) (size int) {
	for name, values := range header {
		size += len(name)
		for _, value := range values {
			size += len(value)
		}
	}
	return size
}

// find returns the session of that id, or nil. A session belongs to the credentials
// that it was opened with.
func (t *sessions) find(id string, of upstream.Caller) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.byID.Peek(id); !ok || s.of != of {
		return nil
	}
	s, _ := t.byID.Get(id)
	return s
}

func (t *sessions) remove(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byID.Remove(s.id)
}
