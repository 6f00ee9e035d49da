package connection

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/store"
)

const (
	// redeemTimeout limits a request for a token.
	redeemTimeout = 20 * time.Second
	// storeTimeout limits the attempts to store the new token, since the old one is no longer valid.
	storeTimeout = 20 * time.Second
	// leaseTime is longer than both together: a lease that has expired belongs to a process that has died.
	leaseTime = time.Minute
	// leasePoll is how often another process's refresh is checked.
	leasePoll = 100 * time.Millisecond
	// maxRest limits how long a provider in trouble is not asked.
	maxRest = time.Minute
)

// A flight is a refresh, or an exchange, in progress.
type flight struct {
	done chan struct{}
	got  known // by an exchange, once done is closed
	err  error // the same
}

// work is what a flight does: only an exchange returns something.
type work func(ctx context.Context) (known, error)

// refreshing refreshes the token of that version, once for all who want it. It continues when its callers
// have gone.
func (m *Manager) refreshing(p *Provider, owner string, version int64) *flight {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fly(accountKey{p.Name, owner}, m.refreshWork(p, owner, version))
}

func (m *Manager) refreshWork(p *Provider, owner string, version int64) work {
	return func(ctx context.Context) (known, error) { return known{}, m.refresh(ctx, p, owner, version) }
}

// fly does the work of a flight, once for all who want it. m.mu is held.
func (m *Manager) fly(at accountKey, work work) *flight {
	if f := m.flights[at]; f != nil {
		return f
	}
	f := &flight{done: make(chan struct{})}
	if m.closed {
		f.err = closed()
		close(f.done)
		return f
	}
	m.flights[at] = f
	m.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), leaseTime+redeemTimeout+storeTimeout)
		defer cancel()
		if f.err = m.resting(at); f.err == nil {
			f.got, f.err = work(ctx)
			m.note(at, f.err)
		}
		m.mu.Lock()
		delete(m.flights, at)
		m.known.Remove(at)
		if f.err != nil { // what has failed is told until the token is refreshed
			m.forced.Remove(at)
		}
		m.mu.Unlock()
		close(f.done)
	})
	return f
}

// wait waits for the end of a refresh, or of the call.
func (f *flight) wait(ctx context.Context) error {
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return recourse.From(context.Cause(ctx)).WithEffect(recourse.EffectNone)
	}
}

// resting returns the failure while a provider is not asked.
func (m *Manager) resting(at accountKey) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.rests.Peek(at)
	left := time.Until(r.ends)
	switch {
	case !ok || left <= 0:
		return nil
	case r.err.Retry == recourse.RetryAfterSetup: // no wait helps
		return r.err
	default:
		return r.err.WithRetryAfter(left)
	}
}

// note records how a refresh ended.
func (m *Manager) note(at accountKey, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, failed := errors.AsType[*recourse.Error](err)
	if !failed || e.Origin != recourse.OriginProvider && e.Retry != recourse.RetryAfterSetup {
		m.rests.Remove(at)
		return
	}
	r, _ := m.rests.Peek(at)
	wait := min(time.Second<<min(r.failures, 10), maxRest)
	m.rests.Keep(at, rest{ends: time.Now().Add(max(wait, e.RetryAfter)), failures: r.failures + 1, err: e}, 0)
}

// refresh refreshes the token of that version, or finds that someone else has.
func (m *Manager) refresh(ctx context.Context, p *Provider, owner string, version int64) error {
	for {
		c, err := m.store.Get(ctx, p.Name, owner)
		switch {
		case err != nil:
			return m.storeFailed(ctx, err)
		case p.Flow == ClientCredentials:
			return m.obtain(ctx, p, owner)
		case m.holds(accountKey{p.Name, owner}):
			return m.storeFailed(ctx, errUnsaved) // the stored token was redeemed
		case c == nil, c.State != Connected, c.Version != version:
			return nil
		case c.Lease != "" && time.Now().Before(c.LeaseEnds):
			if !pause.For(ctx, leasePoll) {
				return m.storeFailed(ctx, ctx.Err())
			}
			continue
		case c.Lease != "":
			return m.reconnect(ctx, c, Lost)
		}
		lease := rand.Text()
		err = m.store.Lease(ctx, c, lease, time.Now().Add(leaseTime))
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err != nil {
			return m.storeFailed(ctx, err)
		}
		return m.renew(ctx, p, c, lease)
	}
}

// renew redeems c's refresh token. This process holds c's lease.
func (m *Manager) renew(ctx context.Context, p *Provider, c *store.Connection, lease string) error {
	old, err := tokenOf(c, m.sealer)
	if err != nil {
		m.release(ctx, c, lease)
		return recourse.New(recourse.KindInternal, "").WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).CausedBy(err)
	}
	if old.Refresh == "" {
		return m.reconnect(ctx, c, Expired)
	}
	redeeming, cancel := context.WithTimeout(m.withClient(ctx), redeemTimeout)
	defer cancel()
	fresh, err := p.redeem(redeeming, old)
	verdict := judge(err)
	switch {
	case err == nil:
		if err := m.keep(ctx, c, old, fresh); err != nil {
			m.hold(c, old, fresh, err)
		}
		return nil
	case verdict == refused, verdict == lapsed:
		now, readErr := m.store.Get(ctx, c.Provider, c.Owner)
		if readErr == nil && (now == nil || now.Version != c.Version || now.Lease != lease) {
			return nil // someone has reconnected it meanwhile
		}
		m.log.LogAttrs(ctx, slog.LevelWarn, "a provider refuses to renew a connection: it has to be made again",
			slog.String("provider", p.Name), slog.String("owner", c.Owner))
		why := Revoked
		if verdict == lapsed {
			why = Expired
		}
		return m.reconnect(ctx, c, why)
	default:
		m.release(ctx, c, lease)
		return p.failure(err)
	}
}

// keep stores the new token of c.
func (m *Manager) keep(ctx context.Context, c *store.Connection, old, fresh Token) error {
	for {
		putToken(c, fresh, m.sealer)
		c.State, c.Reason = Connected, ""
		if err := m.swap(ctx, c); !errors.Is(err, store.ErrConflict) {
			return err
		}
		now, err := m.store.Get(ctx, c.Provider, c.Owner)
		if err != nil || now == nil {
			return nil
		}
		there, err := tokenOf(now, m.sealer)
		if now.Reason != Lost && (err != nil || there.Refresh != old.Refresh) {
			return nil
		}
		c = now // another process considered this one dead, or has resealed the old token
	}
}

// obtain gets a token for client credentials, which is possible at any time.
func (m *Manager) obtain(ctx context.Context, p *Provider, owner string) error {
	redeeming, cancel := context.WithTimeout(m.withClient(ctx), redeemTimeout)
	defer cancel()
	t, err := p.redeem(redeeming, Token{})
	if err != nil {
		return p.failure(err)
	}
	if err := m.Connect(ctx, p, owner, "the gateway", t); err != nil {
		c := &store.Connection{Provider: p.Name, Owner: owner, State: Connected, Expires: t.Expires, Updated: time.Now()}
		m.mu.Lock()
		m.unsaved[accountKey{p.Name, owner}] = known{c: c, token: t}
		m.mu.Unlock()
		m.log.LogAttrs(ctx, slog.LevelError, keptInMemory,
			slog.String("provider", p.Name), slog.String("owner", owner), slog.String("cause", err.Error()))
	}
	return nil
}

// reconnect records that an account has to be connected again.
func (m *Manager) reconnect(ctx context.Context, c *store.Connection, why string) error {
	c.State, c.Reason, c.Sealed, c.KeyID = ReconnectNeeded, why, "", ""
	if err := m.swap(ctx, c); err != nil && !errors.Is(err, store.ErrConflict) { // the current row wins
		return m.storeFailed(context.WithoutCancel(ctx), err)
	}
	return nil
}

// swap replaces a connection, unless it has changed.
func (m *Manager) swap(ctx context.Context, c *store.Connection) error {
	return m.insist(ctx, func(ctx context.Context) error { return m.store.Swap(ctx, c) })
}

// insist retries until something is stored, for at most storeTimeout.
func (*Manager) insist(ctx context.Context, put func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := put(ctx)
		if err == nil || errors.Is(err, store.ErrConflict) || !pause.For(ctx, wait) {
			return err
		}
	}
}

func (m *Manager) release(ctx context.Context, c *store.Connection, lease string) {
	if err := m.store.Release(ctx, c.Provider, c.Owner, lease); err != nil {
		m.log.LogAttrs(ctx, slog.LevelWarn, "the lease of a connection cannot be given back", slog.String("cause", err.Error()))
	}
}
