package limit

import (
	"context"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/recent"
)

// Memory counts in memory. The size of each window is limited: beyond [maxBytes] the least recently used
// counts are dropped. Get one with [NewMemory].
type Memory struct {
	epoch time.Time

	mu     sync.Mutex
	tables map[tableID]*table
	found  []*counts // of the call that is being counted
}

// A tableID identifies a table.
type tableID struct {
	id     string
	length time.Duration
}

// A table holds the counts of a window, by key.
type table = recent.Map[Key, *counts]

// Counts are those of a key in a window.
type counts struct {
	recent.Series

	told // by Redis; nothing if this process counts alone
}

const (
	// maxBytes limits the counts of one window to 20,000 to 70,000 keys.
	maxBytes = 32 << 20
	// seriesBytes is the approximate size of a key without its slots.
	seriesBytes = 500
)

// NewMemory returns a counter without any counts.
func NewMemory() *Memory { return &Memory{epoch: time.Now(), tables: map[tableID]*table{}} }

// Take implements [Counter]. It never fails.
func (m *Memory) Take(_ context.Context, now time.Time, charges []Charge) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.take(now, charges, false), nil
}

// Look implements [Counter]. It never fails.
func (m *Memory) Look(_ context.Context, now time.Time, charges []Charge) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.look(now, charges)
	for i, s := range m.found {
		if c := &charges[i]; s != nil && !c.Full() {
			c.Reset = time.Duration(s.Reset(c.here, int64(c.Window.Length), s.Total))
		}
	}
	return nil
}

// take counts a call as one or, among replicas that do not hear of each other, as its weight.
func (m *Memory) take(now time.Time, charges []Charge, among bool) bool {
	at, ok := m.look(now, charges)
	if !ok {
		return false
	}
	for i := range charges {
		c := &charges[i]
		s := m.found[i]
		if s == nil {
			s = m.enter(c)
		}
		c.weight = 1
		if among {
			c.weight = s.weight()
		}
		m.add(s, c, c.weight)
		c.Remaining = max(c.Remaining-c.weight, 0)
		c.Reset = time.Duration(s.Reset(at, int64(c.Window.Length), s.Total))
	}
	return true
}

// look finds the counts of the charges, and reports whether each has room for a call at a time.
func (m *Memory) look(now time.Time, charges []Charge) (at int64, ok bool) {
	at, ok = int64(now.Sub(m.epoch)), true
	m.found = m.found[:0]
	for i := range charges {
		c := &charges[i]
		s := m.find(c, now)
		m.found = append(m.found, s)
		if s == nil {
			c.here, c.Remaining, c.Reset = at, c.Window.Calls, 0
		} else {
			c.here = s.Expire(at, int64(c.Window.Length))
			most := c.Window.Calls - s.asked
			c.Remaining = max(most-s.Total, 0)
			if c.Reset = time.Duration(s.Reset(at, int64(c.Window.Length), most)); c.Full() && c.Reset <= 0 {
				c.Reset = time.Second // by then Redis has been asked
			}
		}
		ok = ok && !c.Full()
	}
	return at, ok
}

// add counts some calls where a charge is counted.
func (m *Memory) add(s *counts, c *Charge, calls int64) {
	grown := s.Add(c.here, int64(c.Window.Length), calls)
	if grown == 0 {
		return
	}
	t := m.table(c.Window)
	t.Grow(c.Key, grown)
	t.Trim(0, func(other *counts) bool { return other == s })
}

// Give implements [Counter].
func (m *Memory) Give(_ context.Context, charges []Charge) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for i := range charges {
		c := &charges[i]
		s := m.find(c, now)
		for n := c.weight; s != nil && n > 0; n-- {
			s.Remove(c.here, int64(c.Window.Length))
		}
		if s != nil {
			s.takenBack(c)
		}
	}
}

// Keep drops the counts of all windows but these.
func (m *Memory) Keep(windows []*Window) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := make(map[tableID]*table, len(windows))
	for _, w := range windows {
		id := tableID{w.ID, w.Length}
		if t := m.tables[id]; t != nil {
			kept[id] = t
		}
	}
	m.tables = kept
}

func (m *Memory) find(c *Charge, now time.Time) *counts {
	t := m.tables[tableID{c.Window.ID, c.Window.Length}]
	if t == nil {
		return nil
	}
	s, _ := t.GetAt(c.Key, now)
	return s
}

func (m *Memory) table(w *Window) *table {
	id := tableID{w.ID, w.Length}
	t := m.tables[id]
	if t == nil {
		// Whatever was not used for that long has left the window.
		t = recent.New[Key, *counts](recent.Bounds{Bytes: maxBytes, Idle: w.Length + w.Length/recent.SlotsPerWindow})
		m.tables[id] = t
	}
	return t
}

func (m *Memory) enter(c *Charge) *counts {
	t, s := m.table(c.Window), new(counts)
	t.Keep(c.Key.clone(), s, seriesBytes)
	return s
}
