package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/policy/pin"
)

func TestPins(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		pins, ctx := open(t, address).Pins(), t.Context()
		at := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
		pay := &pin.Pin{Name: "pay", Pinned: `{"a":"\u0000"}`, Waiting: `{"b":2}`, Changed: at}
		gone := &pin.Pin{Name: "gone", Pinned: `{}`, Gone: true, Changed: at}
		first := &pin.Changes{Whole: true, Tools: []*pin.Pin{pay, gone, {Name: "look", Pinned: `{}`, Changed: at}}}
		for _, want := range []bool{true, false} { // the second one is based on a revision that has passed
			if saved, err := pins.Save(ctx, "shop", first); saved != want || err != nil {
				t.Fatalf("saved %t, %v", saved, err)
			}
		}
		if waiting, err := pins.Waiting(ctx); err != nil || cmp.Diff(map[string]int{"shop": 2}, waiting) != "" {
			t.Errorf("got %v, %v", waiting, err)
		}
		if saved, err := pins.Save(ctx, "shop", &pin.Changes{Since: 1, Whole: true, Dropped: []string{"look"}}); !saved || err != nil {
			t.Errorf("saved %t, %v", saved, err)
		}
		want := &pin.Record{Revision: 2, Whole: true, Tools: map[string]*pin.Pin{"pay": pay, "gone": gone}}
		if got, err := pins.Load(ctx, "shop"); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(want, got))
		}
		if accepted, err := pin.Accept(ctx, pins, "shop", ""); err != nil || len(accepted) != 2 {
			t.Errorf("accepted %v, %v", accepted, err)
		}
		if waiting, err := pins.Waiting(ctx); err != nil || cmp.Diff(map[string]int{"shop": 0}, waiting) != "" {
			t.Errorf("got %v, %v", waiting, err)
		}
		if n, err := pins.Revision(ctx, "shop"); n != 3 || err != nil {
			t.Errorf("the revision is %d, %v", n, err)
		}
		if n, err := pins.Revision(ctx, "other"); n != 0 || err != nil {
			t.Errorf("the revision of nothing is %d, %v", n, err)
		}
	})
}
