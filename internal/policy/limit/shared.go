package limit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Shared counts in Redis, and keeps values there (values.go). What Redis refuses is refused from memory until it
// would pass again. While Redis fails, calls are either counted in memory, from what Redis told last, or not at
// all: see [NewShared].
//
// After a few failures in a row Redis is left alone for a while, and then tried by one call at a time until
// it answers. A hanging Redis therefore delays only a few calls, each by a tenth of a second.
type Shared struct {
	redis  *Redis
	memory *Memory // of what Redis told
	closed bool    // calls are refused while Redis fails
	log    *slog.Logger

	failures atomic.Int64

	mu     sync.Mutex
	inARow int
	again  time.Time // Redis is not used before then; zero: it works
	logged time.Time
}

const (
	// tripsAfter is how many failures in a row it takes to leave Redis alone, and restsFor for how long.
	tripsAfter = 3
	restsFor   = 250 * time.Millisecond
	// logsEvery is how often a failing Redis is logged.
	logsEvery = time.Minute
)

// ErrUncounted says that Redis fails, and that calls may not pass uncounted.
var ErrUncounted = errors.New("calls cannot be counted while Redis fails")

// errResting says that Redis has just failed.
var errResting = errors.New("Redis is left alone for a moment, since it has failed")

// NewShared returns a counter in redis. While Redis fails, calls are counted in memory or, if it is closed, the error of Take is
// [ErrUncounted]. Failures are logged once a minute.
func NewShared(redis *Redis, memory *Memory, closed bool, log *slog.Logger) *Shared {
	return &Shared{redis: redis, memory: memory, closed: closed, log: log}
}

// RestsFor is how long Redis is left alone after it has failed.
func (s *Shared) RestsFor() time.Duration { return restsFor }

// Failures returns how many times Redis has failed.
func (s *Shared) Failures() int64 { return s.failures.Load() }

// Check returns why Redis cannot count or store anything. The error is also [ErrUncounted] if calls are
// refused meanwhile.
func (s *Shared) Check(ctx context.Context) error {
	err := s.redis.Check(ctx)
	if err != nil && s.closed {
		return fmt.Errorf("%w: %w", ErrUncounted, err)
	}
	return err
}

// Take implements [Counter].
func (s *Shared) Take(ctx context.Context, now time.Time, charges []Charge) (ok bool, err error) {
	if s.memory.refuses(now, charges) {
		return false, nil
	}
	began := time.Now()
	err = s.ask(ctx, now, func() (err error) {
		s.memory.asks(now, charges)
		ok, err = s.redis.Take(ctx, now, charges)
		return err
	})
	if err == nil {
		s.memory.learn(now.Add(time.Since(began)), charges, ok)
		return ok, nil
	}
	unsent := !sent(err)
	s.memory.unanswered(now, charges, unsent)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case s.closed:
		return false, ErrUncounted
	}
	return s.memory.countOn(now, charges, unsent), nil
}

// Look implements [Counter].
func (s *Shared) Look(ctx context.Context, now time.Time, charges []Charge) error {
	if s.memory.refuses(now, charges) {
		return nil
	}
	err := s.ask(ctx, now, func() error { return s.redis.Look(ctx, now, charges) })
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.closed:
		return ErrUncounted
	}
	return s.memory.Look(ctx, now, charges)
}

// Give implements [Counter].
func (s *Shared) Give(ctx context.Context, charges []Charge) {
	switch {
	case len(charges) == 0:
	case charges[0].local:
		s.memory.Give(ctx, charges)
	default:
		s.memory.Give(ctx, charges)
		if s.asks(time.Now()) {
			s.redis.Give(ctx, charges)
		}
	}
}

// ask uses Redis, unless it is left alone.
func (s *Shared) ask(ctx context.Context, now time.Time, do func() error) error {
	if !s.asks(now) {
		return errResting
	}
	began := time.Now()
	err := do()
	switch {
	case err == nil:
		s.answered()
	case ctx.Err() == nil: // otherwise it says nothing about Redis
		s.failed(now.Add(time.Since(began)), err)
	}
	return err
}

// asks reports whether Redis may be used.
func (s *Shared) asks(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.again.IsZero() {
		return true
	}
	if now.Before(s.again) {
		return false
	}
	s.again = now.Add(restsFor) // this call is the one that tries
	return true
}

func (s *Shared) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.again.IsZero() {
		s.log.Info("Redis works again")
	}
	s.inARow, s.again = 0, time.Time{}
}

func (s *Shared) failed(now time.Time, err error) {
	s.failures.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inARow++; s.inARow >= tripsAfter {
		s.again = now.Add(restsFor)
	}
	if !s.logged.IsZero() && now.Sub(s.logged) < logsEvery {
		return
	}
	s.logged = now
	meanwhile := "limits are counted in memory"
	if s.closed {
		meanwhile = "calls that have limits are refused"
	}
	s.log.Warn("Redis fails: until it works again, "+meanwhile+", and long sessions stay with the process that opened them",
		slog.String("cause", err.Error()))
}
