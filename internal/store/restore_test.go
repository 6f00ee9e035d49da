package store_test

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

func newKey(t *testing.T, s *store.Store, id string) {
	t.Helper()
	if err := s.Keys().New(t.Context(), &store.Key{ID: id, Name: id, Hash: id, Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
}

func onlyKey(t *testing.T, address string) {
	t.Helper()
	keys, err := open(t, address).Keys().List(t.Context())
	if err != nil || len(keys) != 1 || keys[0].ID != "before" {
		t.Errorf("%v: %v", err, keys)
	}
}

// A backup of SQLite that is made while the gateway runs, as docs/operating.md says, is what the store was at that time.
func TestRestoreSQLite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, "sqlite:"+filepath.Join(dir, "recourse.db"))
	newKey(t, s, "before")
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "recourse.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "VACUUM INTO '"+filepath.Join(dir, "backup.db")+"'"); err != nil {
		t.Fatal(err)
	}
	newKey(t, s, "after")
	onlyKey(t, "sqlite:"+filepath.Join(dir, "backup.db"))
}

// So is one of PostgreSQL.
func TestRestorePostgres(t *testing.T) {
	t.Parallel()
	from, to := service.Postgres(t), service.Postgres(t)
	for _, program := range []string{"pg_dump", "psql"} {
		if _, err := exec.LookPath(program); err != nil {
			testkit.LeaveOut(t, fmt.Errorf("%s is not installed", program))
		}
	}
	s := open(t, from)
	newKey(t, s, "before")
	dump, err := exec.CommandContext(t.Context(), "pg_dump", "--no-owner", from).Output()
	if err != nil {
		t.Fatal(err)
	}
	newKey(t, s, "after")
	file := filepath.Join(t.TempDir(), "dump.sql")
	if err := os.WriteFile(file, dump, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), "psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", file, to).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	onlyKey(t, to)
}

// columns returns the columns of each table, and whether a row must have a value for it.
func columns(t *testing.T, address string) map[string]bool {
	t.Helper()
	db, err := sql.Open("sqlite", strings.Replace(address, "sqlite:", "file:", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), `SELECT m.name || '.' || p.name, p."notnull" AND p.dflt_value IS NULL
		FROM sqlite_master m JOIN pragma_table_info(m.name) p WHERE m.type = 'table'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]bool{}
	for rows.Next() {
		var name string
		var needed bool
		if err := rows.Scan(&name, &needed); err != nil {
			t.Fatal(err)
		}
		table, _, _ := strings.Cut(name, ".")
		all[name], all[table] = needed, false
	}
	if err := rows.Err(); err != nil || len(all) < 20 {
		t.Fatal(err, all)
	}
	return all
}

// A program that goes on while a newer one brings the schema up to date can still read and write: the last migration takes nothing away,
// and adds nothing that its rows would need. So both may run at once during an upgrade.
func TestUpgradeLeavesTheOlderProgramRunning(t *testing.T) {
	t.Parallel()
	address := "sqlite:" + filepath.Join(t.TempDir(), "recourse.db")
	if err := store.MigrateBefore(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	older := columns(t, address)
	newKey(t, open(t, address), "before")
	onlyKey(t, address)
	newer := columns(t, address)
	for name := range older {
		if _, stays := newer[name]; !stays {
			t.Errorf("%s is gone", name)
		}
	}
	for name, needed := range newer {
		table, _, _ := strings.Cut(name, ".")
		_, had := older[name]
		if _, known := older[table]; known && !had && needed {
			t.Errorf("%s is new, and each row needs it", name)
		}
	}
}
