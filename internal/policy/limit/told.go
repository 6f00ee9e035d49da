package limit

import (
	"errors"
	"net"
	"time"
)

// What Redis tells of a window is kept in memory, in two ways. A refusal is remembered until the window has room again, so that
// callers who do not wait cost Redis nothing. And the series in memory has as many calls as Redis told last, so that counting goes
// on from there while Redis is late or away. Then nobody hears of what the other replicas let through: each call counts as many as
// all replicas made for each one of this process. What Redis could not be told meanwhile, it is told with the next call.
type told struct {
	at      int64 // the time of Redis's last answer, by its clock
	reset   int64 // when the window has room for one more call, on the memory's clock
	refused int64 // how many calls the window allowed when Redis refused one; 0: it did not
	mine    int64 // calls that passed here
	all     int64 // and at all replicas meanwhile
	owed    int64 // calls that Redis has not counted
	asked   int64 // calls that Redis is being told of: it may count them, or refuse the one that asks
}

const (
	// maxWeight limits as how many a call counts: one replica in nine may get few of the calls.
	maxWeight = 8
	// memorable is how many calls it takes until older ones say half as much about how many the others make.
	memorable = 1024
	// disorder is by how much answers of Redis may overtake each other, in microseconds. Beyond that, its clock was set back.
	disorder = 1_000_000
)

// weight returns as how many calls one counts.
func (t *told) weight() int64 {
	if t.mine == 0 {
		return 1
	}
	return min(max((t.all+t.mine/2)/t.mine, 1), maxWeight)
}

// passed notes that a call passed here, and others elsewhere.
func (t *told) passed(mine, others int64) {
	t.mine, t.all = t.mine+mine, t.all+mine+others
	if t.all > memorable {
		t.mine, t.all = t.mine/2, t.all/2
	}
}

func (t *told) takenBack(c *Charge) {
	t.refused = 0
	if c.local && t.owed > 0 {
		t.owed--
	}
}

// refuses reports whether Redis has refused such a call, and would again. It fills in the state of each charge.
func (m *Memory) refuses(now time.Time, charges []Charge) (refused bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := int64(now.Sub(m.epoch))
	for i := range charges {
		c := &charges[i]
		s, length := m.find(c, now), int64(c.Window.Length)
		if s == nil || s.at == 0 {
			return false
		}
		s.Expire(at, length)
		c.Remaining, c.Reset = max(c.Window.Calls-s.Total, 0), time.Duration(s.reset-at)
		if c.Reset <= 0 {
			c.Reset = time.Duration(s.Reset(at, length, c.Window.Calls))
		}
		if s.refused >= c.Window.Calls && s.reset > at {
			c.Remaining, refused = 0, true
		}
	}
	return refused
}

// learn remembers Redis's answer.
func (m *Memory) learn(now time.Time, charges []Charge, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	passed := int64(0)
	if ok {
		passed = 1
	}
	for i := range charges {
		c := &charges[i]
		s, others := m.find(c, now), int64(0)
		if s == nil {
			s = m.enter(c)
		}
		s.answered(c)
		c.here, c.weight = s.Expire(int64(now.Sub(m.epoch)), int64(c.Window.Length)), passed
		if c.at < s.at && s.at-c.at < disorder { // the answer that overtook this one has counted its call
			s.passed(passed, -passed)
			continue
		}
		heard := c.Window.Calls - c.Remaining + s.owed - s.Total
		if s.at != 0 || s.Total > 0 {
			others = max(heard-passed, 0)
		}
		s.passed(passed, others)
		if heard >= 0 {
			m.add(s, c, heard)
		} else {
			s.Drop(max(-heard-s.asked, 0)) // what Redis is being told of, it may count yet
		}
		s.at, s.reset, s.refused = c.at, c.here+int64(min(c.Reset, c.Window.Length)), 0
		if !ok && c.Full() {
			s.refused = c.Window.Calls
		}
	}
}

// asks notes that Redis is asked for a call, and told with its charges of those that it has not counted.
func (m *Memory) asks(now time.Time, charges []Charge) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range charges {
		c := &charges[i]
		s := m.find(c, now)
		if s == nil {
			s = m.enter(c)
		}
		c.owed, s.owed, c.asked = s.owed, 0, true
		s.asked += c.owed + 1
	}
}

// answered notes that Redis is no longer asked.
func (t *told) answered(c *Charge) {
	if c.asked {
		t.asked, c.asked = max(t.asked-c.owed-1, 0), false
	}
}

// unanswered notes that Redis has not answered. If it was not sent the call, it has to be told again.
func (m *Memory) unanswered(now time.Time, charges []Charge, unsent bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range charges {
		c := &charges[i]
		c.local = true
		if s := m.find(c, now); s != nil {
			s.answered(c)
			if unsent {
				s.owed += c.owed
			}
		}
		c.owed = 0
	}
}

// countOn counts a call that Redis could not.
func (m *Memory) countOn(now time.Time, charges []Charge, unsent bool) (ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ok = m.take(now, charges, true)
	for i := range charges {
		c := &charges[i]
		if s := m.find(c, now); s != nil && ok {
			s.passed(1, c.weight-1)
			if unsent {
				s.owed++
			}
		}
	}
	return ok
}

// sent reports whether Redis was sent a call that failed, and has probably counted it: its answer is late.
func sent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "read" && op.Timeout()
}
