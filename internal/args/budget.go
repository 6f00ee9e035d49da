package args

import (
	"errors"
	"sync/atomic"
)

// What the schemas of one list may cost.
const (
	// MaxObjects and MaxInstructions are what the schemas of one list may cost
	// together: objects take some 13 us and 0.5 KB each, instructions of patterns a
	// microsecond and 350 bytes.
	MaxObjects = 20_000
	// MaxInstructions is the bound of the patterns.
	MaxInstructions = 100_000
)

// errSpent says why a schema is not compiled although it is small enough by itself.
var errSpent = errors.New("the schemas of the list have more objects than are compiled for one list")

// A Budget is what the schemas that were made with it may cost together. It is safe
// for concurrent use. A nil budget is one for each schema.
type Budget struct {
	objects, instructions atomic.Int64 // left
}

// NewBudget returns the budget for the schemas of one list.
func NewBudget() *Budget {
	b := &Budget{}
	b.objects.Store(MaxObjects)
	b.instructions.Store(MaxInstructions)
	return b
}

// take takes n of what is left, and reports whether there was as much.
func take(left *atomic.Int64, n int) bool {
	for have := left.Load(); have >= int64(n); have = left.Load() {
		if left.CompareAndSwap(have, have-int64(n)) {
			return true
		}
	}
	return false
}
