package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// lockFile locks an SQLite file until unlock is called.
func lockFile(t *testing.T, address string) (unlock func()) {
	t.Helper()
	c, err := driver(t, address).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exec := func(statement string) {
		if _, err := c.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	exec("BEGIN EXCLUSIVE")
	return func() { exec("ROLLBACK") }
}

// While another program holds a write transaction, the file can be opened and read without waiting.
func TestLockedFileIsRead(t *testing.T) {
	t.Parallel()
	address := "sqlite:" + filepath.Join(t.TempDir(), "recourse.db")
	key := &store.Key{ID: "k1", Created: time.Now()}
	if err := open(t, address).Keys().New(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	unlock := lockFile(t, address)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // less than SQLite's own wait
	defer cancel()
	s, err := store.Open(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Keys().Lookup(ctx, "k1"); err != nil || s.Ping(ctx) != nil {
		t.Errorf("%v, %v", err, s.Ping(ctx))
	}
	short, cancelShort := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancelShort()
	entries := []*store.Entry{{Seq: 1}}
	if _, err := s.Journal().Append(short, entries); err == nil {
		t.Error("wrote the journal although the file is locked")
	}
	unlock()
	if _, err := s.Journal().Append(t.Context(), entries); err != nil {
		t.Error(err)
	}
}

// If another program has locked a new file, opening it fails with an error that says so.
func TestLongLockedFileIsRefused(t *testing.T) {
	testkit.Long(t) // SQLite waits for five seconds
	t.Parallel()
	address := "sqlite:" + filepath.Join(t.TempDir(), "recourse.db")
	lockFile(t, address)
	if _, err := store.Open(t.Context(), address); !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), "recourse.db") {
		t.Error(err)
	}
}

// If the disk has no room for an empty store, opening it fails with an error that says so.
func TestFullDiskIsRefused(t *testing.T) {
	t.Parallel()
	for _, pages := range []int{1, 5} {
		if err := store.OpenFull(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "recourse.db"), pages); !errors.Is(err, store.ErrFull) {
			t.Errorf("%d pages: %v", pages, err)
		}
	}
}

// A file that cannot grow can still be read, and written again when there is room.
func TestFullFile(t *testing.T) {
	t.Parallel()
	address := "sqlite:" + filepath.Join(t.TempDir(), "recourse.db")
	s, ctx := open(t, address), t.Context()
	if err := s.LimitPages(ctx, 1); err != nil { // no growth
		t.Fatal(err)
	}
	entries := []*store.Entry{{Seq: 1, Story: `"` + strings.Repeat("x", 64<<10) + `"`}}
	if _, err := s.Journal().Append(ctx, entries); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("got %v", err)
	}
	if _, err := s.Keys().List(ctx); err != nil {
		t.Error(err)
	}
	if err := s.LimitPages(ctx, 1<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Journal().Append(ctx, entries); err != nil {
		t.Error(err)
	}
}
