package once

import (
	"context"
	"log/slog"
	"maps"
	"time"
)

// expireAtOnce is how many rows that have expired are removed in one go, so that nobody waits for long.
const expireAtOnce = 100

// keepUp beats while calls are under way, writes what could not be written, and removes what has expired.
func (l *Ledger) keepUp() {
	beat, sweep := time.NewTicker(l.times.Lease/5), time.NewTicker(l.times.Sweep)
	defer beat.Stop()
	defer sweep.Stop()
	for {
		select {
		case <-l.end:
			return
		case <-beat.C:
			l.settlePending()
			l.mu.Lock()
			needed := l.open > 0 || len(l.pending) > 0
			l.mu.Unlock()
			if needed {
				_ = l.beat(context.Background()) // MaySend knows
			}
		case <-sweep.C:
			l.sweep()
		}
	}
}

// ensureBeat beats if the last one is too long ago for a call to be sent.
func (l *Ledger) ensureBeat(ctx context.Context) error {
	l.mu.Lock()
	fresh := time.Since(l.beaten) < l.times.Lease/3 && !l.beaten.IsZero()
	l.mu.Unlock()
	if fresh {
		return nil
	}
	return l.beat(ctx)
}

func (l *Ledger) beat(ctx context.Context) error {
	l.mu.Lock()
	l.beats++
	n, began := l.beats, time.Now()
	l.mu.Unlock()
	if err := l.store.Beat(ctx, l.owner, n); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if began.After(l.beaten) {
		l.beaten = began
	}
	return nil
}

// maxOwners limits how many others are watched. Those that are forgotten are watched anew.
const maxOwners = 1000

// isDead reports whether another process has not beaten for as long as a lease. If that cannot be found out, it has.
func (l *Ledger) isDead(ctx context.Context, owner string) bool {
	n, err := l.store.Beats(ctx, owner)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	last, ok := l.owners[owner]
	if !ok || last.beat != n {
		if len(l.owners) >= maxOwners {
			clear(l.owners)
		}
		l.owners[owner] = heartbeat{beat: n, since: time.Now()}
		return false
	}
	return time.Since(last.since) > l.times.Lease
}

// later has something written as soon as the store allows.
func (l *Ledger) later(id string, write func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending[id] = &write
}

// settlePending writes what could not be written before.
func (l *Ledger) settlePending() {
	l.mu.Lock()
	due := maps.Clone(l.pending)
	l.mu.Unlock()
	for id, write := range due {
		if err := (*write)(); err != nil {
			return // the others would fail as well
		}
		l.mu.Lock()
		if l.pending[id] == write {
			delete(l.pending, id)
		}
		l.mu.Unlock()
	}
}

// sweep removes rows that have expired, a few at a time.
func (l *Ledger) sweep() {
	for {
		n, err := l.store.Expire(context.Background(), l.now(), expireAtOnce)
		if err != nil {
			l.log.LogAttrs(context.Background(), slog.LevelWarn, "cannot remove calls that are made once",
				slog.String("cause", err.Error()))
			return
		}
		select {
		case <-l.end:
			return
		case <-time.After(20 * time.Millisecond): // for others
		}
		if n < expireAtOnce {
			return
		}
	}
}
