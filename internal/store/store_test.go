package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

// databases runs a test with an empty store of each kind.
func databases(t *testing.T, test func(t *testing.T, address string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, "sqlite:"+filepath.Join(t.TempDir(), "odd name? #1 %41.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, service.Postgres(t))
	})
}

func open(t *testing.T, address string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestKeys(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		keys, ctx := open(t, address).Keys(), t.Context()
		created := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
		first := &store.Key{
			ID: "k1", Name: "deploy", Hash: "h1", Org: "acme", Roles: []string{"reader", "writer"},
			Created: created, Expires: created.Add(time.Hour),
		}
		second := &store.Key{ID: "k2", Name: "deploy", Hash: "h2", Created: created.Add(time.Second)}
		for _, key := range []*store.Key{second, first} {
			if err := keys.New(ctx, key); err != nil {
				t.Fatal(err)
			}
		}
		if err := keys.New(ctx, first); err == nil {
			t.Error("got the same id twice")
		}
		if err := errors.Join(
			keys.Revoke(ctx, "k2", created.Add(time.Minute)), keys.Revoke(ctx, "k2", created.Add(time.Hour)),
			keys.Used(ctx, map[string]time.Time{"k1": created.Add(2 * time.Second), "nobody": created}),
			keys.Used(ctx, map[string]time.Time{"k1": created.Add(time.Second)}),
		); err != nil {
			t.Fatal(err)
		}
		first.LastUsed, second.Revoked, second.Roles = created.Add(2*time.Second), created.Add(time.Minute), []string{}
		all, err := keys.List(ctx)
		if diff := cmp.Diff([]*store.Key{first, second}, all); diff != "" || err != nil {
			t.Errorf("%v, keys (-want +got):\n%s", err, diff)
		}
		one, err := keys.Lookup(ctx, "k1")
		if diff := cmp.Diff(first, one); diff != "" || err != nil {
			t.Errorf("%v, key (-want +got):\n%s", err, diff)
		}
		if _, err := keys.Lookup(ctx, "k3"); !errors.Is(err, store.ErrNoKey) {
			t.Errorf("unknown key: %v", err)
		}
		if err := keys.Revoke(ctx, "k3", created); !errors.Is(err, store.ErrNoKey) {
			t.Errorf("unknown key: %v", err)
		}
	})
}

// Processes that start at the same time migrate the schema one at a time.
func TestManyOpenAtOnce(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		var opening sync.WaitGroup
		for range 8 {
			opening.Go(func() {
				s, err := store.Open(t.Context(), address)
				if err != nil {
					t.Error(err)
					return
				}
				_, err = s.Keys().List(t.Context())
				if err := errors.Join(err, s.Close()); err != nil {
					t.Error(err)
				}
			})
		}
		opening.Wait()
		if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
			left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
			if err != nil || len(left) != 1 {
				t.Errorf("%v, leftover files: %q", err, left)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, got mode %v", err, info.Mode())
			}
		}
	})
}

// The lock for migrating the schema is released, and does not last as long as its connection.
func TestSchemaLockIsReleased(t *testing.T) {
	t.Parallel()
	address := service.Postgres(t)
	open(t, address)
	var locks int
	err := driver(t, address).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND "+
		"database = (SELECT oid FROM pg_database WHERE datname = current_database())").Scan(&locks)
	if err != nil || locks != 0 {
		t.Errorf("%v, %d locks left", err, locks)
	}
}

// driver returns a connection for changes that a later version would make.
func driver(t *testing.T, address string) *sql.DB {
	t.Helper()
	name, at := "pgx", address
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		name, at = "sqlite", strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace("file:"+path)
	}
	db, err := sql.Open(name, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		open(t, address)
		db := driver(t, address)
		if _, err := db.ExecContext(t.Context(), "INSERT INTO recourse_schema (version_id, is_applied) VALUES (99, true)"); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob("migrations/*.sql")
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("its schema is 99, and this program knows %d", len(files))
		if s, err := store.Open(t.Context(), address); !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v", s, err)
		}
		if s, err := store.OpenExisting(t.Context(), address); !errors.Is(err, store.ErrNewer) {
			t.Errorf("%v, %v", s, err)
		}
	})
}

// Opening a store for reading does not create it.
func TestOpenExisting(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		if s, err := store.OpenExisting(t.Context(), address); !errors.Is(err, store.ErrNone) {
			t.Errorf("%v, %v", s, err)
		}
		open(t, address)
		s, err := store.OpenExisting(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestBadAddresses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	noDatabase := filepath.Join(dir, "text")
	if err := os.WriteFile(noDatabase, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"mysql://h/d":                         "has to begin with `sqlite:` or `postgres:`",
		"sqlite:" + dir + "/none/recourse.db": "no such file",
		"sqlite:" + dir:                       "is a directory",
		"sqlite:" + noDatabase:                "not a database",
		"postgres://u:hunter2@127.0.0.1:1/d":  "connect",
		"postgres://u:hunter2@[":              "failed to parse as URL",
	} {
		_, err := store.Open(t.Context(), address)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
