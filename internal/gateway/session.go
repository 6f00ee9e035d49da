package gateway

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/recent"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
)

const (
	// sessionIdle is how long a session without any request is kept. A client whose
	// session is gone initializes a new one.
	sessionIdle = 24 * time.Hour
	// maxSessions bounds the sessions of a server; the one idle longest is dropped first.
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

// inSession looks up the session that a legacy message names. One that is not known, and one
// that was opened with other credentials, such as a token that has been refreshed since, is
// answered with 404, which tells clients to initialize another (MCP 2025-11-25,
// basic/transports, "Session Management").
func inSession(c *call, next next) error {
	id := c.req.http.Header.Get(wire.HeaderSession)
	if c.req.era != wire.Legacy || id == "" || c.req.msg.Method == wire.MethodInitialize {
		return next(c)
	}
	if c.session = c.on.sessions.find(id, c.who.owner); c.session == nil {
		c.session = c.adopt(id)
	}
	if c.session == nil {
		return refuse(http.StatusNotFound, recourse.New(recourse.KindUnknownSession, ""))
	}
	c.extendOpening()
	return next(c)
}

// openSession makes a session of the answer to initialize, when the server has given it an id.
func (c *call) openSession(resp *http.Response) {
	if c.req.msg.Method != wire.MethodInitialize || c.session != nil {
		return
	}
	if id := resp.Header.Get(wire.HeaderSession); id != "" {
		c.session = c.on.sessions.add(c, id)
		c.reply.header()[wire.HeaderSession] = []string{c.session.id}
	}
}

// A session is a legacy session of a client. Its id is the gateway's own and
// stays the same when the session at the server is lost and made anew.
type session struct {
	id     string
	of     upstream.Caller
	open   []byte      // the client's initialize request
	openID wire.ID     // its id
	header http.Header // with which it was sent
	key    string      // of the request in Redis; "": it is not there

	questions questions // that the server waits for the client to answer
	listeners listeners // its open streams

	mu         sync.Mutex
	upstream   string // the server's id of the session
	place      *place // where it is known by that
	generation int    // counts the sessions at the server
	renewing   chan struct{}
	renewed    error     // of the last renewal
	extended   time.Time // when Redis was last asked to keep the request for longer
}

// sessions are the sessions of a server.
type sessions struct {
	mu    sync.Mutex
	byID  *recent.Map[string, *session]
	ended *recent.Map[[sha256.Size]byte, struct{}] // hashes of tickets that count no more

	written      int // bytes, to Redis
	writtenSince time.Time
}

func newSessions() *sessions {
	return &sessions{
		byID:  recent.New[string, *session](recent.Bounds{Most: maxSessions, Bytes: maxSessionBytes, Idle: sessionIdle}),
		ended: recent.New[[sha256.Size]byte, struct{}](recent.Bounds{Most: maxSessions, Idle: ticketAge}),
	}
}

// add makes a session of an initialize request that the server has answered with
// an id of its own.
func (t *sessions) add(c *call, serverID string) *session {
	id, key := c.ticket(serverID)
	s := &session{id: cmp.Or(id, rand.Text()), of: c.who.owner, upstream: serverID, place: c.to.place, key: key, extended: time.Now()}
	header, kept := c.keptHeader(), len(s.id)+len(serverID)
	if size := len(c.req.body) + wire.HeaderSize(header); size <= maxOpening {
		s.open, s.openID, s.header = bytes.Clone(c.req.body), c.req.msg.ID.Clone(), header.Clone()
		kept += size
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byID.Keep(s.id, s, kept)
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
	wire.HeaderTraceParent, wire.HeaderTraceState, wire.HeaderBaggage, wire.HeaderRequestID,
	wire.HeaderLastEventID, wire.HeaderMethod, wire.HeaderName,
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

// len returns how many there are.
func (t *sessions) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID.Len()
}

// remove ends a session, whose id is not known again.
func (t *sessions) remove(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byID.Remove(s.id)
	if strings.HasPrefix(s.id, ticketMark) {
		t.ended.Keep(sha256.Sum256([]byte(s.id)), struct{}{}, 0)
	}
}

// at returns where the session is known, its id there, and its generation.
func (s *session) at() (where *place, serverID string, generation int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.place, s.upstream, s.generation
}

// moveSession opens the session of c at its server when that has taken the place of the one at
// which it was opened. Nothing has been sent yet, so that it can be done for any message.
func (c *call) moveSession() *recourse.Error {
	if c.session == nil {
		return nil
	}
	where, _, generation := c.session.at()
	if where == c.to.place {
		return nil
	}
	if err := c.session.renew(c.ctx, c, generation); err != nil {
		return recourse.From(err).WithEffect(recourse.EffectNone)
	}
	return nil
}

// renew opens the session anew at the server, which does not know that generation of it.
// However many callers find that out, it is done once, and all of them wait for it.
func (s *session) renew(ctx context.Context, c *call, generation int) error {
	s.mu.Lock()
	if s.generation != generation {
		s.mu.Unlock()
		return nil // somebody has done it already
	}
	if s.renewing == nil {
		up := c.to
		if !up.hold() {
			s.mu.Unlock()
			return up.unserved()
		}
		done := make(chan struct{})
		s.renewing = done
		r, of := s.opening(c), c.outer
		c.g.background(min(renewTimeout, up.Timeout), func(ctx context.Context) {
			defer up.leave()
			id, err := s.reopen(of.within(ctx), up, r)
			s.mu.Lock()
			if s.renewed = err; err == nil {
				s.upstream, s.place = id, up.place
				s.generation++
			}
			s.renewing = nil
			s.mu.Unlock()
			close(done)
		})
	}
	done := s.renewing
	s.mu.Unlock()
	select {
	case <-done:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.generation != generation {
			return nil
		}
		return s.renewed
	case <-ctx.Done():
		return c.to.broken(ctx, context.Cause(ctx))
	}
}

var initialized = []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)

// opening returns the client's own initialize, on behalf of the caller of c. A program knows
// no credentials, so that its clients may change theirs within a session: those of c count.
func (s *session) opening(c *call) *upstream.Request {
	header := s.header.Clone()
	if header != nil {
		header[wire.HeaderRequestID] = []string{c.req.id}
		if c.who.verified.Known() { // the credentials may have been refreshed since
			for _, name := range c.on.forward {
				header[name] = c.forwarded(name)
			}
		}
	}
	return c.who.request(header, s.open)
}

// reopen sends the client's own initialize once more, and what follows it.
func (s *session) reopen(ctx context.Context, up *target, r *upstream.Request) (string, error) {
	if s.open == nil {
		return "", recourse.New(recourse.KindUnknownSession, "").WithOrigin(recourse.OriginServer)
	}
	answer, err := upstream.Ask(ctx, up.up, r.Clone(), s.openID, maxInitialize)
	if err != nil {
		return "", err
	}
	if answer.Status != http.StatusOK {
		return "", up.readHTTP(answer.Status, answer.Header, answer.Body, "").Error()
	}
	id := answer.Header.Get(wire.HeaderSession)
	if answer.Error != nil {
		return "", recourse.BadResponse(up.Title).WithMessage("%s refused to open the session again.", up.Title).
			WithOrigin(recourse.OriginServer).WithEffect(recourse.EffectNone)
	}
	if id != "" {
		r.Header[wire.HeaderSession] = []string{id}
	}
	if version := json.Lookup(answer.Result, "/protocolVersion"); version.Kind() == '"' {
		var text string
		if json.Unmarshal(version, &text) == nil {
			r.Header[wire.HeaderVersion] = []string{text}
		}
	}
	r.Body = initialized
	resp, err := up.up.Do(ctx, r)
	if err != nil {
		return "", err
	}
	return id, resp.Body.Close()
}
