package journal_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// fake are rows that fail on request.
type fake struct {
	mu     sync.Mutex
	seq    int64
	down   error // the error of every statement
	hangs  bool  // until the statement's context ends
	kept   []*store.Entry
	size   int64
	pruned []int64   // in bytes
	before time.Time // of the last Prune
}

func (f *fake) Next() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq++
	return f.seq
}

func (f *fake) set(down error, hangs bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down, f.hangs = down, hangs
}

// fault returns the error of a statement.
func (f *fake) fault(ctx context.Context) error {
	f.mu.Lock()
	down, hangs := f.down, f.hangs
	f.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return down
}

func (f *fake) Append(ctx context.Context, entries []*store.Entry) (int64, error) {
	if err := f.fault(ctx); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept = append(f.kept, entries...)
	return int64(len(entries)) * 1000, nil
}

func (f *fake) Of(context.Context, string) ([]*store.Entry, error) { return nil, nil }

func (f *fake) Retell(context.Context, *store.Entry) error { return nil }

func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.kept)
}

func (f *fake) Size(ctx context.Context) (int64, error) {
	f.mu.Lock()
	size := f.size
	f.mu.Unlock()
	return size, f.fault(ctx)
}

func (f *fake) Prune(ctx context.Context, before time.Time, n int64) (int64, bool, error) {
	f.mu.Lock()
	f.pruned, f.before = append(f.pruned, n), before
	f.mu.Unlock()
	return max(0, min(n, 1000)), n > 1000, f.fault(ctx)
}

func (f *fake) Count(ctx context.Context, _ time.Time) (bool, error) { return false, f.fault(ctx) }

func (f *fake) Tidy(ctx context.Context) error { return f.fault(ctx) }

var errDown = errors.New("disk full: password=hunter2-s3cr3t")

// failing returns a failed call.
func failing(id int) *observe.Outcome {
	return &observe.Outcome{
		ID: strconv.Itoa(id), Method: "tools/call", Name: "get_field", End: "failure", Began: time.Now(), Took: time.Millisecond,
		Record: recourse.Unavailable("farm"),
	}
}

// closing closes a journal within a time limit.
func closing(j *journal.Journal, within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	j.Close(ctx)
}

// Calls that end together are written together, at the latest when the journal is closed.
func TestBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &fake{}
		j := journal.New(rows, all(), slog.New(slog.DiscardHandler))
		for i := range 10 {
			j.Ended(failing(i))
		}
		if rows.count() != 0 {
			t.Error("written one by one")
		}
		time.Sleep(time.Second)
		if rows.count() != 10 {
			t.Errorf("wrote %d", rows.count())
		}
		j.Ended(failing(11))
		closing(j, time.Second)
		if s := j.Stats(); rows.count() != 11 || s.Written != 11 || s.Lost != 0 {
			t.Errorf("wrote %d, %+v", rows.count(), s)
		}
		j.Ended(failing(12)) // too late
		if s := j.Stats(); s.Lost != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// A short outage of the store loses nothing; the log reports it once, without secrets.
func TestStoreIsDownForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows, log := &fake{down: errDown}, new(testkit.Buffer)
		j := journal.New(rows, all(), slog.New(slog.NewTextHandler(log, nil)))
		for i := range 30 {
			j.Ended(failing(i))
			time.Sleep(time.Second)
		}
		rows.set(nil, false)
		time.Sleep(15 * time.Second)
		if s := j.Stats(); s.Written != 30 || s.Lost != 0 {
			t.Errorf("%+v", s)
		}
		closing(j, time.Second)
		if n := strings.Count(log.String(), "level=WARN"); n != 1 || strings.Count(log.String(), "level=INFO") != 1 ||
			strings.Contains(log.String(), "s3cr3t") {
			t.Errorf("got log %s", log)
		}
	})
}

// A long outage loses calls, which are counted, and reported once a minute. Lost calls do not delay later ones.
func TestStoreStaysDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows, log := &fake{hangs: true}, new(testkit.Buffer)
		j := journal.New(rows, all(), slog.New(slog.NewTextHandler(log, nil)))
		began := time.Now()
		for i := range 20_000 {
			j.Ended(failing(i))
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("calls were blocked for %s", took)
		}
		time.Sleep(10 * time.Minute)
		s := j.Stats()
		if s.Written != 0 || s.Waiting > 8192 || s.Lost < 20_000-8192-256 {
			t.Errorf("%+v", s)
		}
		if n := strings.Count(log.String(), "\n"); n < 5 || n > 11 {
			t.Errorf("%d lines in ten minutes: %s", n, log)
		}
		rows.set(nil, false)
		time.Sleep(time.Minute)
		j.Ended(failing(0))
		time.Sleep(time.Second)
		if s := j.Stats(); s.Waiting != 0 || s.Written == 0 || s.Written+s.Lost != 20_001 {
			t.Errorf("%+v", s)
		}
		closing(j, time.Second)
	})
}

// A hanging store does not prevent the program's end.
func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows, log := &fake{}, new(testkit.Buffer)
		j := journal.New(rows, all(), slog.New(slog.NewTextHandler(log, nil)))
		time.Sleep(time.Second) // its first upkeep
		rows.set(nil, true)
		for i := range 1000 {
			j.Ended(failing(i))
		}
		began := time.Now()
		closing(j, 3*time.Second)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %s", took)
		}
		if s := j.Stats(); s.Lost != 1000 || !strings.Contains(log.String(), "lost=") {
			t.Errorf("%+v, %s", s, log)
		}
	})
}

// Old and excess entries are removed in small steps.
func TestUpkeep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		settings := all()
		settings.MaxSize = 1 << 20
		rows := &fake{size: 1<<20 + 25_500}
		j := journal.New(rows, settings, slog.New(slog.DiscardHandler))
		time.Sleep(10 * time.Second)
		rows.mu.Lock()
		if n := len(rows.pruned); n != 26 || rows.pruned[0] != 25_500 || rows.pruned[25] != 500 {
			t.Errorf("%d steps: %d", n, rows.pruned)
		}
		if age := time.Since(rows.before); age < settings.Keep || age > settings.Keep+10*time.Second {
			t.Errorf("calls are removed at an age of %s, want %s", age, settings.Keep)
		}
		rows.size, rows.pruned = 1<<20+500, nil // another replica has written
		rows.mu.Unlock()
		time.Sleep(12 * time.Minute)
		rows.mu.Lock()
		if !slices.Contains(rows.pruned, 500) {
			t.Errorf("entries of another replica are not counted: %d", rows.pruned)
		}
		rows.mu.Unlock()
		for i := range 5 {
			j.Ended(failing(i))
		}
		time.Sleep(2 * time.Minute)
		rows.mu.Lock()
		if !slices.Contains(rows.pruned, 5000) {
			t.Errorf("later entries are not counted: %d", rows.pruned)
		}
		rows.mu.Unlock()
		closing(j, time.Second)
	})
}

// A call that succeeded only after a retry is kept with the failures.
func TestRepeatedCallIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows, settings := &fake{}, all()
		settings.Successes = 0
		j := journal.New(rows, settings, slog.New(slog.DiscardHandler))
		for sent := range 3 {
			o := failing(sent)
			o.Record, o.Sent = nil, sent
			j.Ended(o)
		}
		closing(j, time.Second)
		if len(rows.kept) != 1 || rows.kept[0].RequestID != "2" {
			t.Errorf("kept %d calls", len(rows.kept))
		}
	})
}

// Requests of unwritten calls use a limited amount of memory, and none after they are written.
func TestHeldRequestsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &fake{}
		j := journal.New(rows, all(), slog.New(slog.DiscardHandler))
		for round := range 3 {
			for i := range 20 {
				o := failing(i)
				o.Request.Held = 1 << 20
				j.Ended(o)
			}
			time.Sleep(time.Second)
			if s := j.Stats(); s.Written != uint64(16*(round+1)) || s.Lost != uint64(4*(round+1)) {
				t.Errorf("round %d: %+v", round, s)
			}
		}
		closing(j, time.Second)
	})
}

// If a method only serves to find out a server's era, its being unknown is not a failure.
func TestJournalSkipsEraProbes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows, settings := &fake{}, all()
		settings.Successes = 0
		j := journal.New(rows, settings, slog.New(slog.DiscardHandler))
		for _, record := range []*recourse.Error{recourse.New(recourse.KindUnknownMethod, ""), recourse.Unavailable("farm")} {
			o := failing(1)
			o.Method, o.Record = "server/discover", record
			j.Ended(o)
		}
		closing(j, time.Second)
		if len(rows.kept) != 1 || rows.kept[0].Kind != string(recourse.KindUnavailable) {
			t.Errorf("kept %d calls", len(rows.kept))
		}
	})
}
