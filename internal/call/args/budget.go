package args

import (
	"errors"
	"sync/atomic"
)

// The cost limits for the schemas of one list.
const (
	// MaxObjects and MaxInstructions limit the total cost of the schemas of one list: objects take some 13 us
	// and 0.5 KB each, instructions of patterns a microsecond and 350 bytes.
	MaxObjects = 20_000
	// MaxInstructions is the limit for the patterns.
	MaxInstructions = 100_000
)

// errSpent says why a schema is not compiled although it is small enough by itself.
var errSpent = errors.New("the schemas of the list have more objects than are compiled for one list")

// A Budget limits the total cost of the schemas that were made with it. It is safe for concurrent use. A nil
// budget gives each schema a budget of its own.
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

// take takes n of what is left, and reports whether there was enough.
func take(left *atomic.Int64, n int) bool {
	for have := left.Load(); have >= int64(n); have = left.Load() {
		if left.CompareAndSwap(have, have-int64(n)) {
			return true
		}
	}
	return false
}
