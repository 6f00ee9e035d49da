package recovery

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/retry"
)

// A Shared is what all callers of one server share: a retry budget, a pace, circuits, and the invalid calls that the server
// has refused. It is safe for concurrent use.
type Shared struct {
	budget retry.Budget

	mu        sync.Mutex
	resumes   time.Time // the pace: nobody calls before
	limit     *recourse.Error
	next      time.Time // at which the next of those who wait begins
	transport circuit   // of the way to the server
	tools     map[string]*toolState
	mistakes  map[[sha256.Size]byte]mistake
}

// A mistake is a call that the server has refused because of its arguments.
type mistake struct {
	failure *recourse.Error
	at      time.Time
}

// A toolState is what is known from calls of a tool.
type toolState struct {
	backend circuit       // the tool's backend
	slow    time.Duration // the longest that a call has taken lately
}

// NewShared returns a Server to pass to [WithShared].
func NewShared() *Shared {
	return &Shared{tools: map[string]*toolState{}, mistakes: map[[sha256.Size]byte]mistake{}}
}

const (
	// spread is the longest time between calls that have waited for the same moment.
	spread = 100 * time.Millisecond
	// maxTools and maxMistakes bound what is remembered.
	maxTools    = 1000
	maxMistakes = 1000
)

// tool returns what is known about a tool.
func (s *Shared) tool(name string) *toolState {
	t := s.tools[name]
	if t == nil {
		if len(s.tools) >= maxTools {
			clear(s.tools)
		}
		t = new(toolState)
		s.tools[name] = t
	}
	return t
}

// admit lets a call begin, whose outcome must be passed to learn; or it returns why not, and how long to wait before asking
// again. last is when the call can wait no longer, zero if it cannot wait at all.
func (s *Shared) admit(now, last time.Time, tool string) (wait time.Duration, why *recourse.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if wait, why = s.turn(now, 0); why != nil {
		return wait, why.WithEffect(recourse.EffectNone).WithRetryAfter(wait)
	}
	t := s.tool(tool)
	if wait = s.transport.wait(now, last); wait > 0 {
		return wait, s.transport.refusal("The server could not be reached", wait)
	}
	if wait = t.backend.wait(now, last); wait > 0 {
		return wait, t.backend.refusal(tool+" has failed", wait)
	}
	s.transport.Begin(now)
	t.backend.Begin(now)
	return 0, nil
}

// turnAfter returns how long a caller waits, at least least.
func (s *Shared) turnAfter(now time.Time, least time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait, _ := s.turn(now, least)
	return wait
}

// turn returns how long a caller waits, at least least, and the limit that it waits for, if any. Callers that wait for the
// same limit take turns.
func (s *Shared) turn(now time.Time, least time.Duration) (wait time.Duration, limit *recourse.Error) {
	if !now.Before(s.resumes) {
		return least, nil
	}
	at := s.next
	s.next = at.Add(min(spread, s.resumes.Sub(now)/10))
	return max(at.Sub(now), least), s.limit
}

// takes estimates how long a call of a tool takes, from a second up to the reserve; 0 means unknown.
func (s *Shared) takes(tool string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slow := s.tool(tool).slow; slow > 0 {
		return min(max(2*slow, time.Second), reserve)
	}
	return 0
}

// health is what the end of an attempt says about the server.
type health int

const (
	answered  health = iota // the server works, whatever its answer was
	unreached               // the server cannot be reached
	down                    // a system behind the tool fails, which may pass
	untold                  // nothing is known: the call was over before
)

// learn records that an attempt of a tool ended with e, and how long it took.
func (s *Shared) learn(now time.Time, tool string, o health, e *recourse.Error, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tool(tool)
	switch o {
	case answered:
		s.transport.close()
		t.backend.close()
	case unreached: // nothing is known about the systems behind the tool
		s.transport.failed(now, e)
		t.backend.Leave()
	case down:
		s.transport.close()
		t.backend.failed(now, e)
	case untold:
		s.transport.Leave()
		t.backend.Leave()
	}
	if e == nil {
		t.slow = max(took, t.slow-t.slow/8)
		return
	}
	if e.Kind != recourse.KindRateLimited || e.RetryAfter <= 0 {
		return
	}
	if resumes := now.Add(min(e.RetryAfter, recourse.MaxWait)); resumes.After(s.resumes) {
		s.resumes, s.next, s.limit = resumes, resumes, e
	}
}

// mistakeFor is how long a mistake is remembered: an invalid call may become valid without anybody writing, and the server
// may have been wrong.
const mistakeFor = 10 * time.Minute

// mistake returns the recent failure of the same call, if it was the caller's mistake.
func (s *Shared) mistake(now time.Time, call [sha256.Size]byte) *recourse.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.mistakes[call]; ok && now.Sub(m.at) < mistakeFor {
		return m.failure
	}
	return nil
}

// remember records a mistake: the same call would fail again.
func (s *Shared) remember(now time.Time, call [sha256.Size]byte, e *recourse.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mistakes) >= maxMistakes {
		clear(s.mistakes)
	}
	s.mistakes[call] = mistake{e, now}
}

// forget forgets all mistakes: after a write, what was invalid may be valid.
func (s *Shared) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.mistakes)
}
