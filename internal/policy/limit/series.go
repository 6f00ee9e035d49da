package limit

import "slices"

// A series holds the calls of one window that currently count. The calls of a sixtieth of the window share a
// slot, and leave the window with the last of them: none leaves early, and at most 61 slots are needed.
// count.lua does the same.
type series struct {
	slots []slot // the oldest first
	total int64
}

type slot struct {
	last  int64 // of its calls
	calls int64
}

// expire drops what has left the window, and returns the time to count with: a clock that several callers
// read can seem to go backwards.
func (s *series) expire(now, length int64) int64 {
	gone := 0
	for gone < len(s.slots) && s.slots[gone].last+length <= now {
		s.total -= s.slots[gone].calls
		gone++
	}
	s.slots = slices.Delete(s.slots, 0, gone)
	if n := len(s.slots); n > 0 {
		return max(now, s.slots[n-1].last)
	}
	return now
}

// add counts a call.
func (s *series) add(now, length int64) {
	width := max(length/slotsPerWindow, 1)
	n := len(s.slots)
	if n == 0 || s.slots[n-1].last/width != now/width {
		s.slots = append(s.slots, slot{})
		n++
	}
	s.slots[n-1].last = now
	s.slots[n-1].calls++
	s.total++
}

// remove takes back a call that was counted at that time.
func (s *series) remove(at, length int64) {
	width := max(length/slotsPerWindow, 1)
	for i := range s.slots {
		if s.slots[i].last/width != at/width {
			continue
		}
		s.total--
		if s.slots[i].calls--; s.slots[i].calls == 0 {
			s.slots = slices.Delete(s.slots, i, i+1)
		}
		return
	}
}

// reset returns the time until there is room for one more call than now.
func (s *series) reset(now, length, most int64) int64 {
	left := s.total
	for i := range s.slots {
		if left -= s.slots[i].calls; left < most {
			return s.slots[i].last + length - now
		}
	}
	return 0
}
