package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/policy/limit"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// An initialize request that is too long for a ticket is kept in Redis, if there is one. It is sealed, and
// the ticket holds its key instead. Someone who knows both Redis and the session, but not the gateway's keys,
// can learn and change nothing.
//
// A failing Redis is logged once for all sessions: see [limit.Shared].

const (
	// openingPrefix is the prefix of the keys of such requests. No JSON begins with it.
	openingPrefix = "recourse:session:"
	// extendEvery is how often using a session extends the life of its request in Redis.
	extendEvery = time.Minute
)

// longTicket returns the id of a session whose initialize request is kept in Redis, and its key there. Both
// are "" if it cannot be kept: the session is then known to this process only. The error says why Redis has not taken it yet.
func (s *Scope) longTicket(ctx context.Context, t ticket) (id, key string, err error) {
	if s.Redis == nil || len(t.open) > maxOpening {
		return "", "", nil
	}
	key = openingPrefix + rand.Text()
	sealed := s.Sealer.Seal(t.open, s.openingPurpose(key))
	t.open = []byte(key)
	if id = t.seal(s.Sealer, s.purpose()); id == "" || !s.Store.mayWrite(len(sealed), t.issued) {
		return "", "", nil
	}
	return id, key, s.Redis.Put(ctx, key, sealed, sessionIdle)
}

const (
	// writeEvery is how often Redis is asked to take a session that it has not taken, and maxUnwritten how many of a server wait for that.
	writeEvery   = time.Second
	maxUnwritten = 1000
)

// writeLater has a session's opening written once Redis answers again. Until then only this process knows it.
func (s *Scope) writeLater(of *Session, err error) {
	s.Log.Debug("a session is known to this process only, for the time being", slog.String("cause", err.Error()))
	if of.opening.Body == nil || s.Store.unwritten.Add(1) > maxUnwritten {
		s.Store.unwritten.Add(-1)
		return
	}
	scope := *s
	s.Work.Go(func(life context.Context) {
		defer scope.Store.unwritten.Add(-1)
		for pause.For(life, writeEvery) && scope.Store.find(of.ID, of.of) == of {
			sealed := scope.Sealer.Seal(of.opening.Body, scope.openingPurpose(of.key))
			if scope.Redis.Put(life, of.key, sealed, sessionIdle) == nil {
				return
			}
		}
	})
}

// openingPurpose binds a request to its key, its caller and its server.
func (s *Scope) openingPurpose(key string) []byte {
	return append([]byte(key+" "), s.purpose()...)
}

// readOpening replaces the key in a ticket by the request kept in Redis, and returns the key; "" if the
// ticket has none. The request is empty if it no longer exists. It is an error if Redis does not answer.
func (s *Scope) readOpening(ctx context.Context, t *ticket) (key string, err error) {
	if s.Redis == nil || !bytes.HasPrefix(t.open, []byte(openingPrefix)) {
		return "", nil
	}
	key = string(t.open)
	sealed, err := s.Redis.Value(ctx, key)
	if err != nil {
		return "", err
	}
	t.open, _ = s.Sealer.Open(sealed, s.openingPurpose(key)) // what cannot be opened is none
	return key, nil
}

// maxShared is how many of the requests of a session Redis keeps for other replicas.
const maxShared = 256

// askedKey returns where Redis has what was asked of a session, in its order; "": other replicas cannot know the session.
func (s *Scope) askedKey(of *Session) string {
	if s.Redis == nil || !strings.HasPrefix(of.ID, ticketMark) {
		return ""
	}
	sum := sha256.Sum256([]byte(of.ID))
	return openingPrefix + "asked:" + hex.EncodeToString(sum[:])
}

// share lets other replicas know of a request that has been carried out.
func (s *Scope) share(ctx context.Context, of *Session, m *wire.Message) {
	key := s.askedKey(of)
	if key == "" || len(m.Params) > maxAsked {
		return
	}
	text := wire.AppendRequest(nil, wire.ID("0"), m.Method, json.Without(m.Params, "_meta"))
	sealed := s.Sealer.Seal(text, s.openingPurpose(key))
	if !s.Store.mayWrite(len(sealed), time.Now()) {
		return
	}
	if err := s.Redis.Append(ctx, key, sealed, maxShared, ticketAge); err != nil {
		s.Log.Debug("other replicas do not know what is asked of a session", slog.String("cause", err.Error()))
	}
}

// shared returns the requests that replicas have carried out in a session, as far as Redis tells.
func (s *Scope) shared(ctx context.Context, of *Session) (texts [][]byte) {
	key := s.askedKey(of)
	if key == "" {
		return nil
	}
	all, _ := s.Redis.List(ctx, key) // what is not told was not asked
	for _, sealed := range all {
		if text, err := s.Sealer.Open(sealed, s.openingPurpose(key)); err == nil {
			texts = append(texts, text)
		}
	}
	return texts
}

// IsDue reports whether it is time to extend, with [Session.Extend], the life of a session's opening in
// Redis.
func (s *Session) IsDue() bool {
	if s.key == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	due := now.Sub(s.extended) >= extendEvery
	if due {
		s.extended = now
	}
	return due
}

// Extend extends the life of the session's opening in Redis.
func (s *Session) Extend(ctx context.Context, redis *limit.Shared, log *slog.Logger) {
	if err := redis.Extend(ctx, s.key, sessionIdle); err != nil {
		log.Debug("extend a session in Redis", slog.String("cause", err.Error()))
	}
}

// mayWrite reports whether that many more bytes may be written to Redis. The limit per day is what is kept in
// memory, so that clients that open many sessions cannot fill Redis.
func (t *Store) mayWrite(size int, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.writtenSince) >= sessionIdle {
		t.written, t.writtenSince = 0, now
	}
	if t.written+size > maxSessionBytes {
		return false
	}
	t.written += size
	return true
}
