package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"net/http"
	"time"

	"github.com/recoursehq/recourse/internal/policy/limit"
	"github.com/recoursehq/recourse/internal/privacy/seal"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/work"
)

// A Scope is the sessions of one caller at one endpoint. The caller can name no others.
type Scope struct {
	Caller   upstream.Caller
	Endpoint string
	Store    *Store
	Place    *Place // where sessions are opened now
	URL      string // of the server; "": other processes cannot know its sessions
	Sealer   *seal.Sealer
	Redis    *limit.Shared // for what is too long for a session id; nil: there is none
	Work     *work.Group   // what takes longer than a request
	Log      *slog.Logger
}

// Find returns the session of that id, or nil. It may come from another process, with a ticket as its id:
// header is then the session's. The credentials in it are the same, or the ticket would not open. It is an error if
// Redis, which knows, does not say.
func (s *Scope) Find(ctx context.Context, id string, header func() http.Header) (*Session, error) {
	if found := s.Store.find(id, s.Caller); found != nil {
		return found, nil
	}
	t, ok := openTicket(id, s.Sealer, s.purpose())
	if !ok {
		return nil, nil
	}
	key, err := s.readOpening(ctx, &t)
	if err != nil {
		return nil, err
	}
	m := wire.BorrowMessage()
	defer m.Return()
	if wire.Parse(t.open, m) != nil {
		return nil, nil
	}
	adopted := &Session{
		ID: id, of: s.Caller, upstream: t.server, key: key,
		opening: Opening{Body: t.open, ID: m.ID.Clone(), Header: header()},
	}
	if t.place != 0 && t.place == s.placeOfTickets() {
		adopted.place = s.Place
	}
	return s.Store.adopt(adopted), nil
}

// Open makes a session from an initialize request that the server has answered with an id of its own.
func (s *Scope) Open(ctx context.Context, serverID string, o Opening) *Session {
	var id, key string
	var unwritten error
	if s.Sealer != nil {
		t := ticket{issued: time.Now(), server: serverID, place: s.placeOfTickets(), open: o.Body}
		if id = t.seal(s.Sealer, s.purpose()); id == "" {
			id, key, unwritten = s.longTicket(ctx, t)
		}
	}
	opened := &Session{
		ID: cmp.Or(id, rand.Text()), of: s.Caller, upstream: serverID, place: s.Place, key: key, extended: time.Now(),
	}
	s.Store.add(opened, o)
	if unwritten != nil {
		s.writeLater(opened, unwritten)
	}
	return opened
}

// Remove ends a session, whose id is then unknown.
func (s *Scope) Remove(ctx context.Context, of *Session) {
	s.Store.remove(of)
	for _, key := range []string{of.key, s.askedKey(of)} {
		if key == "" || s.Redis == nil {
			continue
		}
		if err := s.Redis.Delete(context.WithoutCancel(ctx), key); err != nil {
			s.Log.Debug("a session that has ended stays in Redis for days", slog.String("cause", err.Error()))
		}
	}
}

// purpose says what a ticket is for: one caller at one server.
func (s *Scope) purpose() []byte {
	return append([]byte("session "+s.Endpoint+" "), s.Caller[:]...)
}

// placeOfTickets identifies the place to other processes; 0: they cannot know it.
func (s *Scope) placeOfTickets() uint64 {
	if s.URL == "" {
		return 0
	}
	sum := sha256.Sum256([]byte(s.URL))
	return binary.BigEndian.Uint64(sum[:])
}
