package connection

import (
	"context"
	"slices"
	"time"
)

// awaitPoll is how often a waiter looks at an account: another process may connect it.
const awaitPoll = 2 * time.Second

// Await waits until a person has connected an account, in a version later than after, and with those scopes.
// The error is ctx's.
func (m *Manager) Await(ctx context.Context, p *Provider, owner string, after int64, scopes []string) error {
	for {
		m.mu.Lock()
		changed := m.changed
		m.mu.Unlock()
		c, err := m.store.Get(ctx, p.Name, owner)
		lacks := func(scope string) bool { return !slices.Contains(c.Scopes, scope) }
		if err == nil && c != nil && c.State == Connected && c.Version > after && !slices.ContainsFunc(scopes, lacks) {
			m.forget(p.Name, owner)
			return nil
		}
		select {
		case <-changed:
		case <-time.After(awaitPoll):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tell wakes up those who wait for accounts when one has changed.
func (m *Manager) tell() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.changed)
	m.changed = make(chan struct{})
}
