package store

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// usesEvery is how often the last uses of keys are written.
	usesEvery = time.Minute
	// maxUses limits how many keys' uses wait to be written, and usesTimeout limits one write.
	maxUses     = 10_000
	usesTimeout = 10 * time.Second
)

// Uses records when API keys were last used, and writes that in the background. It is safe for concurrent
// use. Create it with [Keys.Uses], and end it with Close.
type Uses struct {
	keys *Keys
	log  *slog.Logger
	end  chan struct{}
	done chan struct{}

	mu   sync.Mutex
	last map[string]time.Time // by id: not written yet
}

// Uses starts recording when keys are used.
func (k *Keys) Uses(log *slog.Logger) *Uses {
	u := &Uses{keys: k, log: log, end: make(chan struct{}), done: make(chan struct{}), last: map[string]time.Time{}}
	go u.run()
	return u
}

// Note records that a key is used now.
func (u *Uses) Note(id string) {
	now := time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, noted := u.last[id]; noted || len(u.last) < maxUses {
		u.last[id] = now
	}
}

// Close writes what is left.
func (u *Uses) Close(ctx context.Context) {
	close(u.end)
	<-u.done
	u.write(ctx)
}

func (u *Uses) run() {
	defer close(u.done)
	ticks := time.NewTicker(usesEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			u.write(context.Background())
		case <-u.end:
			return
		}
	}
}

// write writes the recorded uses. If that fails, it is retried later, unless the key has been used since.
func (u *Uses) write(ctx context.Context) {
	u.mu.Lock()
	last := u.last
	u.last = make(map[string]time.Time, len(last))
	u.mu.Unlock()
	if len(last) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, usesTimeout)
	defer cancel()
	err := u.keys.Used(ctx, last)
	if err == nil {
		return
	}
	u.log.LogAttrs(ctx, slog.LevelWarn, "cannot write when API keys were used", slog.String("cause", err.Error()))
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, at := range last {
		if _, noted := u.last[id]; !noted && len(u.last) < maxUses {
			u.last[id] = at
		}
	}
}
