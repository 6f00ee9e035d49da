package upstream

import "time"

const (
	lastDelay = 10 * time.Second
	// health is how long a child has to live before the pauses start over.
	health = time.Minute
	// hopeless is how many children in a row must die at their start before calls no longer wait.
	hopeless = 3
)

// starts says when a child may be started. The zero value means at once.
type starts struct {
	delay   time.Duration
	next    time.Time
	atStart int   // how many in a row died at their start
	last    error // why the last of them died
}

// died records the end of a child. The pauses begin with first; ready says that it had been initialized.
func (s *starts) died(first time.Duration, now time.Time, lived time.Duration, ready bool, why error) {
	if ready && lived >= health {
		s.delay = 0
	}
	s.delay = min(max(2*s.delay, first), lastDelay)
	s.next = now.Add(s.delay)
	s.atStart, s.last = s.atStart+1, why
	if ready {
		s.atStart, s.last = 0, nil
	}
}

// wait returns how long it is until a child may be started.
func (s *starts) wait(now time.Time) time.Duration { return max(0, s.next.Sub(now)) }

// refuses returns why calls should not wait that long, or nil.
func (s *starts) refuses(now time.Time) error {
	if s.atStart < hopeless || s.wait(now) == 0 {
		return nil
	}
	return s.last
}
