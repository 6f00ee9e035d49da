package recovery

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/retry"
)

// A Server is what all callers of one server share: a budget of repetitions, a pace, a circuit, and the mistakes
// that the server has refused. It is safe for concurrent use.
type Server struct {
	budget retry.Budget

	mu       sync.Mutex
	resumes  time.Time // the pace: nobody calls before
	limit    *recourse.Error
	next     time.Time // at which the next of those who wait begins
	failures int       // the circuit: in a row, of the transport
	opens    int       // how often in a row the circuit has opened
	closes   time.Time // when one call may try again
	probing  bool
	down     *recourse.Error
	mistakes map[[sha256.Size]byte]*recourse.Error
}

// NewServer returns what the callers of a server share.
func NewServer() *Server { return &Server{mistakes: map[[sha256.Size]byte]*recourse.Error{}} }

const (
	// spread is the time between the calls of those who have waited for the same moment, at most.
	spread = 100 * time.Millisecond
	// opensAfter is how many calls in a row do not reach the server until nobody tries for a while.
	opensAfter = 5
	// openFirst is how long the circuit is open the first time. It doubles, up to openMost.
	openFirst = time.Second
	openMost  = 30 * time.Second
	// maxMistakes bounds the mistakes that are remembered.
	maxMistakes = 1000
)

// admit returns why a call does not begin: the server cannot be reached. Who is admitted tells learn how it went.
func (s *Server) admit(now time.Time) *recourse.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures < opensAfter {
		return nil
	}
	if now.Before(s.closes) || s.probing {
		return recourse.Unavailable(s.down.Provider).WithEffect(recourse.EffectNone).WithRetry(recourse.RetrySameCall).
			WithRetryAfter(max(s.closes.Sub(now), openFirst)).
			WithMessage("The server could not be reached %d times in a row: it is not called for a while.", s.failures).
			CausedBy(s.down)
	}
	s.probing = true
	return nil
}

// turn returns how long a caller waits that would wait for least anyway, and the limit that it waits for: nil where there is none.
// Those who wait for the same limit have their turns one after the other.
func (s *Server) turn(now time.Time, least time.Duration) (wait time.Duration, limit *recourse.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !now.Before(s.resumes) {
		return least, nil
	}
	at := s.next
	s.next = at.Add(min(spread, s.resumes.Sub(now)/10))
	return max(at.Sub(now), least), s.limit
}

// learn takes in how an attempt has ended. transport says that the failure is not the server's own.
func (s *Server) learn(now time.Time, e *recourse.Error, transport bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.probing = false
	if !transport {
		s.failures, s.opens = 0, 0
	} else if s.failures++; s.failures >= opensAfter {
		s.down = e
		s.closes = now.Add(min(openFirst<<min(s.opens, 8), openMost))
		s.opens++
	}
	if e == nil || e.Kind != recourse.KindRateLimited || e.RetryAfter <= 0 {
		return
	}
	if resumes := now.Add(min(e.RetryAfter, recourse.MaxWait)); resumes.After(s.resumes) {
		s.resumes, s.next, s.limit = resumes, resumes, e
	}
}

// mistake returns the failure that such a call has ended with before, if it is the caller's mistake.
func (s *Server) mistake(call [sha256.Size]byte) *recourse.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mistakes[call]
}

// remember notes a call that is a mistake: to make it again would end in the same way.
func (s *Server) remember(call [sha256.Size]byte, e *recourse.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mistakes) >= maxMistakes {
		clear(s.mistakes)
	}
	s.mistakes[call] = e
}

// forget forgets the mistakes: something was written, and what was wrong may be right now.
func (s *Server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.mistakes)
}
