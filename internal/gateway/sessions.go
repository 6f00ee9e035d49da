package gateway

import (
	"bytes"
	"container/list"
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

// credentials tells callers apart by the credentials that they send to the
// server, and by the user that their path names. Callers of whom nothing goes on
// are one.
type credentials [sha256.Size]byte

func (x *exchange) credentials() credentials {
	switch {
	case len(x.s.forward) == 0 && x.user == "":
		return credentials{}
	case x.session != nil: // it was found for them
		return x.session.of
	}
	sum := sha256.New()
	_, _ = sum.Write([]byte(x.user + "\x00")) // never fails
	for _, name := range x.s.forward {
		for _, value := range x.r.Header[name] {
			_, _ = sum.Write([]byte(name + "\x00" + value + "\x00")) // never fails
		}
	}
	return credentials(sum.Sum(nil))
}

// A session is an legacy session of a client. Its id is the gateway's own and
// stays the same when the session at the server is lost and made anew.
type session struct {
	id       string
	of       credentials
	open     []byte      // the client's initialize request
	openID   wire.ID     // its id
	header   http.Header // with which it was sent
	lastUsed time.Time   // guarded by sessions.mu, as its place among the others is
	bytes    int         // that are kept for it

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
	mu    sync.Mutex
	byID  map[string]*list.Element
	byUse *list.List // of *session, the one used last in front
	bytes int        // that are kept for all of them
}

func newSessions() *sessions {
	return &sessions{byID: map[string]*list.Element{}, byUse: list.New()}
}

// add makes a session of an initialize request that the server has answered with
// an id of its own.
func (t *sessions) add(x *exchange, serverID string) *session {
	s := &session{
		id: rand.Text(), of: x.credentials(), upstream: serverID, place: x.s.place, bytes: len(serverID),
	}
	header := x.keptHeader()
	if size := len(x.body) + sizeOf(header); size <= maxOpening {
		s.open, s.openID, s.header = bytes.Clone(x.body), x.msg.ID.Clone(), header.Clone()
		s.bytes += size
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.lastUsed = time.Now()
	t.trim(s.lastUsed)
	t.byID[s.id] = t.byUse.PushFront(s)
	t.bytes += s.bytes
	return s
}

// keptHeader returns the headers with which a session can be opened again: nothing of
// the one request, such as how it is traced.
func (x *exchange) keptHeader() http.Header {
	header := x.upstreamHeader()
	for name := range header {
		switch {
		case slices.Contains(ofOneRequest, name) && !slices.Contains(x.s.forward, name), strings.HasPrefix(name, wire.HeaderParamPrefix):
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
func (t *sessions) find(id string, of credentials) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.byID[id]
	if at == nil {
		return nil
	}
	s, _ := at.Value.(*session)
	if s.of != of {
		return nil
	}
	s.lastUsed = time.Now()
	t.byUse.MoveToFront(at)
	return s
}

func (t *sessions) remove(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := t.byID[s.id]; at != nil {
		t.drop(at, s)
	}
}

// drop forgets a session. The lock is held.
func (t *sessions) drop(at *list.Element, s *session) {
	t.byUse.Remove(at)
	delete(t.byID, s.id)
	t.bytes -= s.bytes
}

// trim drops what has been idle too long, and makes room for one more.
func (t *sessions) trim(now time.Time) {
	for at := t.byUse.Back(); at != nil; at = t.byUse.Back() {
		s, _ := at.Value.(*session)
		if now.Sub(s.lastUsed) <= sessionIdle && len(t.byID) < maxSessions && t.bytes <= maxSessionBytes {
			return
		}
		t.drop(at, s)
	}
}

// at returns the server's id of the session, and which one it is.
func (s *session) at() (serverID string, generation int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.upstream, s.generation
}

// isAt reports whether the session is known at a place, and which one it is.
func (s *session) isAt(at *place) (here bool, generation int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.place == at, s.generation
}

// moveSession opens the session of x at its server, where that has taken the place of
// the one at which it was opened: nothing was sent yet, so that it can be done for
// every message.
func (x *exchange) moveSession() *recourse.Error {
	if x.session == nil {
		return nil
	}
	here, generation := x.session.isAt(x.s.place)
	if here {
		return nil
	}
	if err := x.session.renew(x.ctx, x, generation); err != nil {
		return recourse.From(err).WithEffect(recourse.EffectNone)
	}
	return nil
}

// renew makes the session at the server anew after the server has said that it
// does not know the generation-th one. However many callers find that out, it is
// done once, and all of them wait for it.
func (s *session) renew(ctx context.Context, x *exchange, generation int) error {
	s.mu.Lock()
	if s.generation != generation {
		s.mu.Unlock()
		return nil // somebody has done it already
	}
	if s.renewing == nil {
		up := x.s
		if !up.hold() {
			s.mu.Unlock()
			return recourse.Unavailable(up.Title).WithMessage("%s is not served any more.", up.Title).
				WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone)
		}
		done := make(chan struct{})
		s.renewing = done
		header := s.openingHeader(x)
		x.g.background(min(renewTimeout, up.Timeout), func(ctx context.Context) {
			defer up.leave()
			id, err := s.reopen(ctx, up, header)
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
		return x.s.up.Broken(ctx, context.Cause(ctx))
	}
}

var initialized = []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)

// openingHeader returns the headers with which the session is opened again: those of
// the client's own initialize. A program knows no credentials, so that its clients may
// change theirs within a session: those of x count.
func (s *session) openingHeader(x *exchange) http.Header {
	header := s.header.Clone()
	if header == nil {
		return nil
	}
	header[wire.HeaderRequestID] = []string{x.requestID}
	if len(x.s.Command) == 0 {
		return header
	}
	delete(header, "Authorization")
	if values := x.programCaller(); len(values) > 0 {
		header["Authorization"] = values
	}
	return header
}

// reopen sends the client's own initialize once more, and what follows it.
func (s *session) reopen(ctx context.Context, up *server, header http.Header) (string, error) {
	if s.open == nil {
		return "", recourse.New(recourse.KindUnknownSession, "").WithOrigin(recourse.OriginServer)
	}
	answer, err := up.up.Ask(ctx, header.Clone(), s.open, s.openID, maxInitialize)
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
		header[wire.HeaderSession] = []string{id}
	}
	if version := json.Lookup(answer.Result, "/protocolVersion"); version.Kind() == '"' {
		var text string
		if json.Unmarshal(version, &text) == nil {
			header[wire.HeaderVersion] = []string{text}
		}
	}
	resp, err := up.up.Send(ctx, http.MethodPost, header, initialized)
	if err != nil {
		return "", err
	}
	return id, resp.Body.Close()
}
