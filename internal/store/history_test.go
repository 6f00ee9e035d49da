package store_test

import (
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/store"
)

// Counts by time and by code match the lists.
func TestHistoryMatchesLists(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		j, ctx := open(t, address).Journal(), t.Context()
		entries := manyFailures(j, 300)
		began := time.Now().Add(-10 * time.Hour)
		for i, e := range entries {
			e.Seq = began.Add(time.Duration(i)*2*time.Minute).UnixMicro()<<11 + int64(i)
			e.Code = "E" + e.Kind
		}
		for range 2 { // a write may be repeated: nothing is counted twice
			if _, err := j.Append(ctx, entries); err != nil {
				t.Fatal(err)
			}
		}
		for more, rounds := true, 0; more; rounds++ { // the last minutes are not counted yet
			var err error
			if more, err = j.Count(ctx, began.Add(9*time.Hour)); err != nil || rounds > 20 {
				t.Fatal(err, rounds)
			}
		}
		found := map[string]int64{}
		codes, since, err := j.Codes(ctx)
		for _, c := range codes {
			found[c.Server+" "+c.Code] -= c.Failures
		}
		if err != nil || !since.IsZero() {
			t.Errorf("%v, codes since %v only", err, since)
		}
		for _, server := range []string{"farm", "shop", "barn"} {
			f := &store.Filter{Server: server, Failures: true}
			listed, err := j.Find(ctx, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range listed {
				found[server+" "+e.Code]++
			}
			f.Since = began.Add(3 * time.Hour).Truncate(time.Hour)
			if listed, err = j.Find(ctx, f); err != nil {
				t.Fatal(err)
			}
			bars, err := j.History(ctx, server, f.Since, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range listed {
				found[server+time.UnixMicro(e.Seq>>11).UTC().Truncate(time.Hour).String()+e.Kind]++
			}
			for _, b := range bars {
				found[server+b.Began.String()+b.Kind] -= b.Failures
			}
			culprits, more, err := j.Culprits(ctx, server, f.Since)
			found[server] = int64(len(listed))
			for _, n := range culprits {
				found[server] -= n.Failures
			}
			if err != nil || more {
				t.Errorf("%v, %t", err, more)
			}
		}
		for what, n := range found {
			if n != 0 {
				t.Errorf("%s is off by %d", what, n)
			}
		}
	})
}
