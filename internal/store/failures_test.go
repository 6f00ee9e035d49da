package store_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/store"
)

// manyFailures returns entries with few different values, so that many entries share them. Every tenth one is a
// success.
func manyFailures(j *store.Journal, n int) []*store.Entry {
	random := rand.New(rand.NewPCG(1, 2))
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	entries := make([]*store.Entry, n)
	for i := range entries {
		entries[i] = &store.Entry{
			Seq: j.Next(), RequestID: fmt.Sprint("r", i), Server: one("farm", "shop"), Tool: one("get", "put", ""), Caller: one("ada", "bob", "acme", ""),
			Org: one("acme", ""), Kind: one("timeout", "conflict"), Origin: one("server", "gateway"),
			Message: one("100% of IT", "100 and IT", "Ärger"), Story: "{}",
		}
		if i%10 == 0 {
			entries[i].Kind = ""
		}
	}
	return entries
}

// For every filter, the counts match the lists.
func TestPageCountsWhatItLists(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		j, ctx := open(t, address).Journal(), t.Context()
		entries := manyFailures(j, 500)
		if _, err := j.Append(ctx, entries); err != nil {
			t.Fatal(err)
		}
		middle := time.UnixMicro(entries[250].Seq >> 11)
		for name, f := range map[string]store.Filter{
			"all":                {},
			"server":             {Server: "farm"},
			"tool":               {Tool: "get"},
			"kind":               {Kind: "timeout"},
			"origin":             {Origin: "gateway"},
			"caller":             {Caller: "ada"},
			"caller, org":        {Caller: "acme"},
			"several":            {Server: "shop", Tool: "put", Kind: "conflict", Origin: "server", Caller: "bob"},
			"since":              {Since: middle},
			"until":              {Until: middle, Server: "farm"},
			"text":               {Text: "00% OF it"},
			"a literal wildcard": {Text: "1%IT"},
			"other case":         {Text: "ÄRGER"},
			"unknown":            {Caller: "\x00'; DROP TABLE journal; --"},
		} {
			page, err := j.Page(ctx, &f)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			counted := 0
			for _, c := range page.Counts {
				if c.Chosen(&f) {
					counted += int(c.Failures)
				}
			}
			groups, err := j.Groups(ctx, &f)
			for _, g := range groups {
				counted -= int(g.Failures)
			}
			if err != nil || counted != 0 {
				t.Errorf("%s: %v, groups of %d failures too few", name, err, counted)
			}
			counted = len(page.Entries)
			f.Failures = true
			listed, err := j.Find(ctx, &f)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			slices.Reverse(listed)
			if counted != len(page.Entries) || ids(listed) != ids(page.Entries) || page.More {
				t.Errorf("%s: counted %d, listed %d, found %d", name, counted, len(page.Entries), len(listed))
			}
			if none := name == "unknown" || name == "a literal wildcard"; none != (counted == 0) && name != "other case" { // SQLite only folds the case of ASCII
				t.Errorf("%s: counted %d", name, counted)
			}
		}
	})
}

// The pages together have each failure once, the latest first.
func TestPageByPage(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		j, ctx := open(t, address).Journal(), t.Context()
		if last, err := j.Last(ctx); last != 0 || err != nil {
			t.Errorf("with an empty journal: got last %d, %v", last, err)
		}
		entries := manyFailures(j, 100)
		if _, err := j.Append(ctx, entries); err != nil {
			t.Fatal(err)
		}
		if last, err := j.Last(ctx); last != entries[99].Seq || err != nil {
			t.Errorf("got last %d, %v", last, err)
		}
		f := store.Filter{Limit: 7}
		var met []*store.Entry
		for more := true; more; {
			page, err := j.Page(ctx, &f)
			if err != nil {
				t.Fatal(err)
			}
			met, more = append(met, page.Entries...), page.More
			f.Before = met[len(met)-1].Seq
		}
		slices.Reverse(met)
		want := slices.DeleteFunc(entries, func(e *store.Entry) bool { return e.Kind == "" })
		if ids(met) != ids(want) {
			t.Errorf("got %s, want %s", ids(met), ids(want))
		}
	})
}

// A text is searched in the latest failures first, then in earlier ones, until all have been searched.
func TestPageLooksForATextBitByBit(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		j, ctx := open(t, address).Journal(), t.Context()
		entries := manyFailures(j, 100)
		began := time.Now().Add(-time.Minute).Truncate(time.Microsecond)
		for i, e := range entries {
			e.Seq = began.Add(time.Duration(i)*time.Second).UnixMicro()<<11 + 7
		}
		if _, err := j.Append(ctx, entries); err != nil {
			t.Fatal(err)
		}
		f := store.Filter{Text: "it", Looked: 20}
		var met []*store.Entry
		rounds, counted := 0, int64(0)
		for more := true; more; rounds++ {
			page, err := j.Page(ctx, &f)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range page.Counts {
				counted += n.Failures
			}
			met, more, f.Until = append(met, page.Entries...), !page.Since.IsZero(), page.Since
		}
		slices.Reverse(met)
		want := slices.DeleteFunc(entries, func(e *store.Entry) bool { return e.Kind == "" || e.Message == "Ärger" })
		if rounds != 5 || ids(met) != ids(want) || counted != int64(len(want)) {
			t.Errorf("got %s in %d rounds, counted %d; want %s", ids(met), rounds, counted, ids(want))
		}
		if page, err := j.Page(ctx, &store.Filter{Text: "it", Looked: 20, Since: began.Add(90 * time.Second)}); err != nil || !page.Since.IsZero() {
			t.Errorf("%v: few failures in a short period, but searched only those since %v", err, page.Since)
		}
	})
}

// Of many failures, the latest are counted, and compared with several marks; the rest can be looked at after that. With one mark,
// the list goes all the way back.
func TestPageLooksAtTheLatest(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		j, ctx := open(t, address).Journal(), t.Context()
		entries := manyFailures(j, 400)
		for i, e := range entries {
			e.Seq = time.Now().Add(time.Duration(i)*time.Second).UnixMicro() << 11
		}
		entries[11].Server, entries[13].Caller = "rare", "rare"
		if _, err := j.Append(ctx, entries); err != nil {
			t.Fatal(err)
		}
		for name, f := range map[string]store.Filter{
			"none": {}, "server": {Server: "rare"}, "caller": {Caller: "rare"}, "origin": {Origin: "gateway"}, "org": {Caller: "acme"},
			"server and kind": {Server: "farm", Kind: "timeout"}, "caller and tool": {Caller: "ada", Tool: "put"},
		} {
			f.Failures = true
			listed, err := j.Find(ctx, &f)
			if err != nil {
				t.Fatal(err)
			}
			f.Looked, f.Limit = 30, 7
			var met []*store.Entry
			for rounds := 0; ; rounds++ {
				page, err := j.Page(ctx, &f)
				if err != nil || rounds > 100 {
					t.Fatalf("%s: %v, %d rounds", name, err, rounds)
				}
				if counted := total(page.Counts); counted != 30 || page.Since.IsZero() {
					t.Errorf("%s: counted %d since %v", name, counted, page.Since)
				}
				met = append(met, page.Entries...)
				if f.Before = page.Back; page.More {
					f.Before = met[len(met)-1].Seq
				}
				if f.Before == 0 {
					break
				}
				if page.Back != 0 && f.Server+f.Caller == "rare" {
					t.Errorf("%s: looked only down to %d", name, page.Back)
				}
			}
			slices.Reverse(met)
			if ids(met) != ids(listed) {
				t.Errorf("%s: got %s, want %s", name, ids(met), ids(listed))
			}
		}
	})
}

func total(counts []store.Count) (n int64) {
	for i := range counts {
		n += counts[i].Failures
	}
	return n
}

// However many failures there are, the latest of a mark are found in its index, in their order.
func TestEachMarkHasItsIndex(t *testing.T) {
	t.Parallel()
	j := open(t, "sqlite:"+filepath.Join(t.TempDir(), "r.db")).Journal()
	for index, f := range map[string]store.Filter{
		"journal_latest": {}, "journal_server": {Server: "x"}, "journal_tool": {Tool: "x", Server: "x"}, "journal_kind": {Kind: "x", Origin: "x"},
		"journal_caller": {Caller: "x"}, "journal_org": {Caller: "x", Kind: "x"},
	} {
		f.Failures = true
		plan, err := j.Plan(t.Context(), &f)
		if err != nil || !strings.Contains(plan, index) || strings.Contains(plan, "SCAN journal\n") ||
			strings.Contains(plan, ")\nUSE TEMP B-TREE") { // sorts what it has found in the index
			t.Errorf("%s: %v\n%s", index, err, plan)
		}
	}
}
