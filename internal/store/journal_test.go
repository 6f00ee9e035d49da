package store_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/store"
)

// ids returns the request ids of entries.
func ids(entries []*store.Entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, e.RequestID)
	}
	return strings.Join(all, " ")
}

func TestJournal(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		j, ctx := open(t, address).Journal(), t.Context()
		began := time.Date(2026, 11, 23, 10, 0, 0, 123000, time.UTC)
		full := &store.Entry{
			Seq: j.Next(), RequestID: "r1", Began: began, Took: 1500 * time.Microsecond, Server: "farm", Tool: "get_field", Method: "tools/call",
			Access: "team", Caller: "ada", Org: "acme", Ending: "failure", Kind: "timeout", Code: "T", Origin: "server", Effect: "none",
			Attempts: 3, TraceID: "0af7", Message: "It did not answer.", Story: `{"v":1}`,
		}
		odd := &store.Entry{
			Seq: j.Next(), RequestID: "r2\x00" + strings.Repeat("ä", 100), Server: "shop", Caller: "bad\xff", Kind: "unknown",
			Story: `{"of":"` + strings.Repeat("x", 5000) + `"}`,
		}
		success := &store.Entry{Seq: j.Next(), RequestID: "r3", Server: "farm", Caller: "acme"}
		for range 2 { // a write may be repeated after an error
			if _, err := j.Append(ctx, []*store.Entry{full, odd, success}); err != nil {
				t.Fatal(err)
			}
		}
		for name, test := range map[string]struct {
			filter store.Filter
			want   string
		}{
			"all":            {store.Filter{}, "r1 " + odd.RequestID + " r3"},
			"latest":         {store.Filter{Limit: 1}, "r3"},
			"failures":       {store.Filter{Failures: true, Server: "farm"}, "r1"},
			"by tool":        {store.Filter{Tool: "get_field"}, "r1"},
			"by kind":        {store.Filter{Kind: "unknown"}, odd.RequestID},
			"by origin":      {store.Filter{Origin: "server"}, "r1"},
			"by caller":      {store.Filter{Caller: "acme"}, "r1 r3"},
			"after":          {store.Filter{After: odd.Seq}, "r3"},
			"since":          {store.Filter{Since: time.Now().Add(time.Hour)}, ""},
			"since, limited": {store.Filter{Since: time.Now().Add(-time.Hour), Limit: 2}, odd.RequestID + " r3"},
			"hostile":        {store.Filter{Server: "x' OR 1=1 --"}, ""},
		} {
			found, err := j.Find(ctx, &test.filter)
			if got := ids(found); got != test.want || err != nil {
				t.Errorf("%s: %v, %q, want %q", name, err, got, test.want)
			}
		}
		of, err := j.Of(ctx, "r1")
		if diff := cmp.Diff([]*store.Entry{full}, of); diff != "" || err != nil {
			t.Errorf("%v, entry (-want +got):\n%s", err, diff)
		}
		if !strings.HasPrefix(odd.RequestID, "r2\uFFFDä") || len(odd.RequestID) > 128 || odd.Caller != "bad\uFFFD" || len(odd.Story) < 5000 {
			t.Errorf("got %q of %q, story of %d bytes", odd.RequestID, odd.Caller, len(odd.Story))
		}
		size, err := j.Size(ctx)
		if err != nil || size < 6000 || size > 9000 {
			t.Errorf("%v, got size %d", err, size)
		}
	})
}

func TestSeqGrows(t *testing.T) {
	t.Parallel()
	j, last := open(t, "sqlite:"+filepath.Join(t.TempDir(), "r.db")).Journal(), int64(0)
	for range 10_000 {
		next := j.Next()
		if next <= last {
			t.Fatalf("%d after %d", next, last)
		}
		last = next
	}
}

// Entries that are too old or too many are removed; and SQLite's file shrinks.
func TestPrune(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		s := open(t, address)
		j, ctx := s.Journal(), t.Context()
		path, isFile := strings.CutPrefix(address, "sqlite:")
		var empty int64
		if isFile {
			empty = fileSize(t, path)
		}
		var entries []*store.Entry
		for i := range 1300 {
			at := time.Now().Add(-time.Hour)
			if i >= 700 {
				at = time.Now()
			}
			entries = append(entries, &store.Entry{Seq: at.UnixMicro()<<11 + int64(i), RequestID: strconv.Itoa(1000 + i), Story: strings.Repeat("x", 300)})
		}
		if _, err := j.Append(ctx, entries); err != nil {
			t.Fatal(err)
		}
		prune := func(before time.Time, bytes int64, want ...int) {
			t.Helper()
			var rounds []int
			for more := true; more; {
				pruned, again, err := j.Prune(ctx, before, bytes)
				if err != nil {
					t.Fatal(err)
				}
				more, bytes = again, bytes-pruned
				rounds = append(rounds, int(pruned+273)/546) // bytes of a row
			}
			if !slices.Equal(rounds, want) {
				t.Errorf("%d went, want %d", rounds, want)
			}
		}
		prune(time.Now().Add(-time.Minute), 0, 200, 200, 200, 100)
		prune(time.Now().Add(-time.Minute), 0, 0)
		prune(time.Time{}, 550*546, 200, 200, 150)
		left, err := j.Find(ctx, &store.Filter{Limit: 5000})
		if err != nil || len(left) > 51 || len(left) < 49 {
			t.Errorf("%v, %d entries left", err, len(left))
		}
		if !isFile {
			return
		}
		for range 5 {
			if err := s.Tidy(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if size := fileSize(t, path); size > empty+32<<10 { // the size of 50 rows
			t.Errorf("the file has %d bytes, and had %d when empty", size, empty)
		}
	})
}

// fileSize returns the size of an SQLite file with everything written.
func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	if _, err := driver(t, "sqlite:"+path).ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
