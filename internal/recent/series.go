package recent

import "slices"

// A Series holds the calls that count at the moment, in a window of time that slides. Times and lengths are in nanoseconds. The
// calls of a sixtieth of the window share a slot, and leave the window with the last of them: none leaves early, and at most 61
// slots are needed. The limiter's count.lua does the same.
type Series struct {
	Total int64 // calls that count

	slots []slot // the oldest first
}

type slot struct {
	last  int64 // of its calls
	calls int64
}

// slotBytes is the size of a slot.
const slotBytes = 16

// SlotsPerWindow is the number of slots in a window.
const SlotsPerWindow = 60

// Expire drops what has left the window, and returns the time to count with: a clock that several callers
// read can seem to go backwards.
func (s *Series) Expire(now, length int64) int64 {
	gone := 0
	for gone < len(s.slots) && s.slots[gone].last+length <= now {
		s.Total -= s.slots[gone].calls
		gone++
	}
	s.slots = slices.Delete(s.slots, 0, gone)
	if n := len(s.slots); n > 0 {
		return max(now, s.slots[n-1].last)
	}
	return now
}

// Add counts some calls, and returns by how many bytes the series has grown.
func (s *Series) Add(now, length, calls int64) (grown int) {
	before := cap(s.slots)
	width := max(length/SlotsPerWindow, 1)
	n := len(s.slots)
	if n == 0 || s.slots[n-1].last/width != now/width {
		s.slots = append(s.slots, slot{})
		n++
	}
	s.slots[n-1].last = now
	s.slots[n-1].calls += calls
	s.Total += calls
	return (cap(s.slots) - before) * slotBytes
}

// Remove takes back a call that was counted at that time, if it still counts.
func (s *Series) Remove(at, length int64) {
	width := max(length/SlotsPerWindow, 1)
	for i := range s.slots {
		if s.slots[i].last/width != at/width {
			continue
		}
		s.Total--
		if s.slots[i].calls--; s.slots[i].calls == 0 {
			s.slots = slices.Delete(s.slots, i, i+1)
		}
		return
	}
}

// Drop takes out that many calls, the oldest first.
func (s *Series) Drop(calls int64) {
	for calls > 0 && len(s.slots) > 0 {
		some := min(calls, s.slots[0].calls)
		calls -= some
		s.Total -= some
		if s.slots[0].calls -= some; s.slots[0].calls == 0 {
			s.slots = slices.Delete(s.slots, 0, 1)
		}
	}
}

// Reset returns the time until there is room for one more call than now.
func (s *Series) Reset(now, length, most int64) int64 {
	left := s.Total
	for i := range s.slots {
		if left -= s.slots[i].calls; left < most {
			return s.slots[i].last + length - now
		}
	}
	return 0
}
