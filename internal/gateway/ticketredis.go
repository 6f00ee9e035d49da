package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"time"
)

// An initialize request that is too long for a ticket is kept in Redis, if there is one. It is sealed, and the ticket holds its key
// instead. Whoever knows both Redis and the session, but not the keys of the gateway, learns nothing and can change nothing.
//
// A Redis that fails is told of once for all sessions: see [limit.Shared].

const (
	// openingPrefix begins the keys of such requests. No JSON begins with it.
	openingPrefix = "recourse:session:"
	// extendEvery is how often the use of a session extends the life of its request in Redis.
	extendEvery = time.Minute
)

// longTicket returns the id of a session whose initialize request is kept in Redis, and its key there. Both are "" if it cannot be
// kept: the session is then one of this process only.
func (c *call) longTicket(t ticket) (id, key string) {
	redis, sealer := c.table.redis, c.table.sealer
	if redis == nil || len(t.open) > maxOpening {
		return "", ""
	}
	key = openingPrefix + rand.Text()
	sealed := sealer.Seal(t.open, c.openingPurpose(key))
	t.open = []byte(key)
	if id = t.seal(sealer, c.ticketPurpose()); id == "" || !c.on.sessions.mayWrite(len(sealed), t.issued) {
		return "", ""
	}
	if err := redis.Put(c.ctx, key, sealed, sessionIdle); err != nil {
		c.g.log.Debug("a session is known to this process only", slog.String("cause", err.Error()))
		return "", ""
	}
	return id, key
}

// openingPurpose binds a request to its key, its caller and its server.
func (c *call) openingPurpose(key string) []byte {
	return append([]byte(key+" "), c.ticketPurpose()...)
}

// readOpening replaces the key in a ticket by the request that Redis keeps, and returns the key; "": the ticket has none. It reports
// false if the request is not there any more, or Redis does not answer.
func (c *call) readOpening(t *ticket) (key string, ok bool) {
	if !bytes.HasPrefix(t.open, []byte(openingPrefix)) {
		return "", true
	}
	if c.table.redis == nil {
		return "", false
	}
	key = string(t.open)
	sealed, err := c.table.redis.Value(c.req.http.Context(), key)
	if err != nil {
		c.g.log.Debug("a session is lost", slog.String("cause", err.Error()))
		return "", false
	}
	t.open, err = c.table.sealer.Open(sealed, c.openingPurpose(key))
	return key, err == nil
}

// extendOpening keeps the request of the call's session in Redis for as long as the session is used.
func (c *call) extendOpening() {
	s, redis := c.session, c.table.redis
	if s.key == "" || redis == nil {
		return
	}
	s.mu.Lock()
	now := time.Now()
	due := now.Sub(s.extended) >= extendEvery
	if due {
		s.extended = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	g := c.g // the call may be over by then
	g.background(g.reach.Redis, func(ctx context.Context) {
		if err := redis.Extend(ctx, s.key, sessionIdle); err != nil {
			g.log.Debug("extend a session in Redis", slog.String("cause", err.Error()))
		}
	})
}

// deleteOpening deletes the request of the call's session from Redis. A client that is gone has ended its session all the same.
func (c *call) deleteOpening() {
	s, redis := c.session, c.table.redis
	if s.key == "" || redis == nil {
		return
	}
	if err := redis.Delete(context.WithoutCancel(c.ctx), s.key); err != nil {
		c.g.log.Debug("a session that has ended stays in Redis for a day", slog.String("cause", err.Error()))
	}
}

// mayWrite reports whether so many more bytes may be written to Redis. In a day it is as many as are kept in memory, so that clients
// that open many sessions cannot fill Redis.
func (t *sessions) mayWrite(size int, now time.Time) bool {
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
