package breaker

import "time"

// windowSlots is how many slots a window has: the oldest one leaves it at a time.
const windowSlots = 10

// A window counts the recent calls by outcome.
type window struct {
	slots [windowSlots]struct {
		at            int64 // when the slot began, in slots since the epoch
		calls, failed int
	}
}

// note counts a call, in a window of that length.
func (w *window) note(now time.Time, length time.Duration, failed bool) {
	at := slotAt(now, length)
	slot := &w.slots[at%windowSlots]
	if slot.at != at {
		slot.at, slot.calls, slot.failed = at, 0, 0
	}
	slot.calls++
	if failed {
		slot.failed++
	}
}

// sums returns the calls in the window, and how many of them failed.
func (w *window) sums(now time.Time, length time.Duration) (calls, failed int) {
	at := slotAt(now, length)
	for i := range w.slots {
		if slot := &w.slots[i]; slot.at > at-windowSlots {
			calls += slot.calls
			failed += slot.failed
		}
	}
	return calls, failed
}

func slotAt(now time.Time, length time.Duration) int64 {
	return now.UnixNano() / max(int64(length)/windowSlots, 1)
}
