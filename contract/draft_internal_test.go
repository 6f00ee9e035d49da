package contract

import (
	"errors"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A draft is reused, and must contain nothing of the previous answer.
func TestDropLeavesNothing(t *testing.T) {
	t.Parallel()
	var used draft
	if err := testkit.Use(&used); err != nil {
		t.Fatal(err)
	}
	if err := testkit.Use(used.e, errors.New("a cause")); err != nil { // its memory is kept
		t.Fatal(err)
	}
	used.reset()
	for _, left := range testkit.Unlike(&used, newDraft()) {
		t.Error("left:", left)
	}
}
