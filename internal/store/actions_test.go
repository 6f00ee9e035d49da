package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/recoursehq/recourse/internal/store"
)

// What operators do is kept beside the calls: nothing that counts or lists calls finds it, and what removes calls leaves it.
func TestActions(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		rows, ctx, began := open(t, address).Journal(), t.Context(), time.Now().Add(-time.Second)
		want := []*store.Action{
			{Operator: "ada", From: "127.0.0.1", What: "closed a breaker", On: map[string]string{"server": "farm", "tool": "pay"}},
			{From: "command line on desk", What: "revoked an API key", On: map[string]string{}},
		}
		for _, a := range want {
			if err := rows.Note(ctx, a); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := rows.Prune(ctx, time.Now().Add(time.Hour), 1<<40); err != nil {
			t.Fatal(err)
		}
		got, err := rows.Actions(ctx, began, 10)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(store.Action{}, "At")); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		if at := got[0].At; at.Before(began) || at.After(time.Now()) {
			t.Errorf("done at %s, not after %s", at, began)
		}
		if got, err = rows.Actions(ctx, began, 1); err != nil || len(got) != 1 || got[0].From != want[1].From {
			t.Errorf("the latest: %v, %+v", err, got)
		}
		if got, err = rows.Actions(ctx, time.Now().Add(time.Hour), 10); err != nil || len(got) > 0 {
			t.Errorf("none yet: %v, %+v", err, got)
		}
		calls, err := rows.Find(ctx, new(store.Filter))
		size, err2 := rows.Size(ctx)
		if err != nil || err2 != nil || len(calls) > 0 || size > 0 {
			t.Errorf("%v, %v: %d calls of %d bytes", err, err2, len(calls), size)
		}
	})
}
