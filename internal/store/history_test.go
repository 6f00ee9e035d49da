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
		if _, err := j.Append(ctx, entries); err != nil {
			t.Fatal(err)
		}
		for name, f := range map[string]store.Filter{
			"all": {}, "server": {Server: "farm"}, "kind": {Kind: "timeout", Since: began.Add(3 * time.Hour)}, "none": {Server: "barn"},
		} {
			f.Failures = true
			listed, err := j.Find(ctx, &f)
			if err != nil {
				t.Fatal(err)
			}
			bars, err := j.History(ctx, &f, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]int64{}
			for _, e := range listed {
				ended := time.UnixMicro(e.Seq >> 11).UTC().Truncate(time.Hour)
				found[ended.String()+e.Kind]++
				found[e.Server+" "+e.Code]++
			}
			for _, b := range bars {
				found[b.Began.String()+b.Kind] -= b.Failures
			}
			codes, err := j.Codes(ctx, &f)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range codes {
				found[c.Server+" "+c.Code] -= c.Failures
			}
			for what, n := range found {
				if n != 0 {
					t.Errorf("%s: %s is off by %d", name, what, n)
				}
			}
		}
	})
}
