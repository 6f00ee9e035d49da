package connection

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/store"
)

// Once a token has been redeemed, the old one is useless. If the store does not accept the new one, because
// its disk is full, it is kept in memory and used until the store does.

const (
	// unsavedPause is the time between two attempts to store such a token, and unsavedLast how long the last one may take.
	unsavedPause = 5 * time.Second
	unsavedLast  = 2 * time.Second

	keptInMemory = "a new token cannot be stored: it is kept in memory until it can"
)

var errUnsaved = errors.New("the token has yet to be stored")

// holds reports whether there is a token that the store has not accepted.
func (m *Manager) holds(at accountKey) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.unsaved[at]
	return ok
}

// drop removes a token that is no longer valid, or has been stored.
func (m *Manager) drop(at accountKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.unsaved, at)
	m.known.Remove(at)
}

// hold keeps the new token of c until it is stored. It is called by a refresh, which Close waits for.
func (m *Manager) hold(c *store.Connection, old, fresh Token, why error) {
	at := accountKey{c.Provider, c.Owner}
	about := []slog.Attr{slog.String("provider", c.Provider), slog.String("owner", c.Owner)}
	m.log.LogAttrs(m.life, slog.LevelError, keptInMemory, append(about, slog.String("cause", why.Error()))...)
	now := *c
	m.mu.Lock()
	m.unsaved[at] = known{c: &now, token: fresh}
	m.mu.Unlock()
	m.work.Go(func() {
		for m.holds(at) {
			most, last := storeTimeout, false
			if !pause.For(m.life, unsavedPause) {
				most, last = unsavedLast, true
			}
			ctx, cancel := context.WithTimeout(context.Background(), most)
			err := m.keep(ctx, c, old, fresh)
			cancel()
			switch {
			case err == nil:
				m.drop(at)
				m.log.LogAttrs(m.life, slog.LevelInfo, "a token that was kept in memory is stored", about...)
			case last:
				m.log.LogAttrs(m.life, slog.LevelError, "a token is lost: the store has not taken it before the end", about...)
				return
			}
		}
	})
}
