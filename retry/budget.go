package retry

import "sync"

const (
	// budgetFloor is how many retries are allowed before any call has earned one.
	budgetFloor = 10
	// budgetShare is how much of a retry each call earns.
	budgetShare = 0.2
	// budgetMost bounds what is saved up in good times, so that an outage cannot
	// spend all of it at once.
	budgetMost = 100
)

// Budget bounds the load that retries add to a failing server: in any run of calls
// the attempts are at most 1.2 times the calls, plus 10 (plus 100 after a long time
// without failures). The zero value is a full budget. It is safe for concurrent use.
type Budget struct {
	mu    sync.Mutex
	spent float64 // the floor is what can be spent before anything was earned
}

// Call records a call, which earns its share of a retry.
func (b *Budget) Call() {
	b.mu.Lock()
	b.spent = max(b.spent-budgetShare, budgetFloor-budgetMost)
	b.mu.Unlock()
}

// Left returns how many retries are left in the budget.
func (b *Budget) Left() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return budgetFloor - b.spent
}

// Take takes a retry from the budget, and reports whether there was one left.
func (b *Budget) Take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent+1 > budgetFloor {
		return false
	}
	b.spent++
	return true
}
