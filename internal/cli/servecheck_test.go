package cli_test

import (
	"bytes"
	"database/sql"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

// serve --check reports why a store or Redis cannot be used.
func TestCheckStores(t *testing.T) {
	t.Parallel()
	const made = "the store is created or updated when the gateway starts"
	dir := t.TempDir()
	at := func(name string) string { return "sqlite:" + filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// makes creates a store and changes it, as another version of the program would.
	makes := func(address, statement string) {
		t.Helper()
		s, err := store.Open(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", strings.Replace(address, "sqlite:", "file:", 1))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	makes(at("good.db"), "SELECT 1")
	makes(at("newer.db"), "INSERT INTO recourse_schema (version_id, is_applied) VALUES (99, true)")
	makes(at("older.db"), "DELETE FROM recourse_schema WHERE version_id = (SELECT MAX(version_id) FROM recourse_schema)")
	write("empty.db", "")
	write("text", strings.Repeat("no database ", 100))
	silent := silentServer(t)
	for name, test := range map[string]struct {
		yaml           string
		code           int
		stdout, stderr string
	}{
		"a good store":         {yaml: "store: " + at("good.db")},
		"a new store":          {yaml: "store: " + at("new.db"), stdout: made},
		"an empty file":        {yaml: "store: " + at("empty.db"), stdout: made},
		"an older schema":      {yaml: "store: " + at("older.db"), stdout: made},
		"a newer schema":       {"store: " + at("newer.db"), cli.ExitFailure, "", "written by a later version of this program: its schema is 99"},
		"a folder":             {"store: 'sqlite:" + dir + "'", cli.ExitFailure, "", "is a directory"},
		"missing folder":       {"store: " + at("none/recourse.db"), cli.ExitFailure, "", "none: no such file or directory"},
		"a text file":          {"store: " + at("text"), cli.ExitFailure, "", "not a database"},
		"no PostgreSQL":        {"store: postgres://u:hunter2@127.0.0.1:1/d", cli.ExitOK, "", "warning: the gateway could not start now: open the store postgres://127.0.0.1:1/d: connection refused"},
		"a hanging PostgreSQL": {"store: postgres://u:hunter2@" + silent + "/d?connect_timeout=1&sslmode=disable", cli.ExitOK, "", "/d: the database does not answer"},
		"no Redis":             {"redis: redis://:hunter2@127.0.0.1:1", cli.ExitOK, "", "warning: Redis cannot be used now: count in Redis: dial tcp 127.0.0.1:1: "},
		"a store without a program": {
			"store: " + at("newer.db") + "\nservers: {tool: {command: [no-such-program]}}", cli.ExitFailure, "",
			"\ncannot find the program no-such-program (server tool)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := checked(t, test.yaml)
			if code != test.code || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) ||
				test.stdout == "" && strings.Contains(stdout, "the store") || test.stderr == "" && stderr != "" || strings.Contains(stderr, "hunter2") {
				t.Errorf("%d\n%s\n%s", code, stdout, stderr)
			}
		})
	}
}

// checked returns the output of serve --check for a configuration.
func checked(t *testing.T, yaml string) (code int, stdout, stderr string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "recourse.yaml")
	if !strings.Contains(yaml, "servers:") {
		yaml += "\nservers: {farm: {url: 'http://127.0.0.1:1/mcp'}}"
	}
	if err := os.WriteFile(file, []byte(yaml+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code = cli.Run(t.Context(), cli.Environment{
		Args: []string{"serve", "--check", "-c", file}, Stdout: &out, Stderr: &errs, LookupEnv: os.LookupEnv,
	})
	return code, out.String(), errs.String()
}

// silentServer returns the address of a server that accepts connections and never answers.
func silentServer(t *testing.T) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln.Addr().String() // the backlog accepts a few connections
}

// serve --check creates no file, and changes none.
func TestCheckChangesNoStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"empty.db": "", "text": "no database"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"empty.db", "text", "new.db"} {
		checked(t, "store: sqlite:"+filepath.Join(dir, name))
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 2 {
		t.Errorf("%v, the folder has %q", err, left)
	}
	if info, err := os.Stat(filepath.Join(dir, "empty.db")); err != nil || info.Size() > 0 {
		t.Errorf("%v, the empty file has %d bytes", err, info.Size())
	}
}

// serve --check accepts a Redis that answers, and a PostgreSQL that is still empty.
func TestCheckServers(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := checked(t, "store: '"+service.Postgres(t)+"'\nredis: '"+service.Redis(t)+"'")
	if code != cli.ExitOK || stderr != "" || !strings.Contains(stdout, "the store is created or updated") {
		t.Errorf("%d\n%s\n%s", code, stdout, stderr)
	}
}

// serve --check warns of callers who have no token that could be exchanged. Token exchange needs no store.
func TestCheckExchange(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ entries, more, stderr string }{
		{"access: [staff], ", "", ""},
		{"access: [staff, loopback, robots], ", "", "warning: server farm: its calls need a caller with a token (`jwt`), and fail for those that are let in by loopback, robots\n"},
		{"", "", "are let in by an endpoint without `access`\n"},
		{"access: [staff], ", "endpoints: {all: {servers: [farm], access: [loopback]}}", "are let in by loopback\n"},
	} {
		code, _, stderr := checked(t, `
access:
  staff: {jwt: {issuer: 'http://127.0.0.1:1', audience: [farm]}}
  robots: {keys: [{name: r2, hash: 'sha256:`+strings.Repeat("0", 64)+`'}]}
providers: {login: {flow: token_exchange, token_url: 'http://127.0.0.1:1/token', client_id: recourse, client_secret: hunter2}}
servers: {farm: {url: 'http://127.0.0.1:1/mcp', `+test.entries+`connection: login}}
`+test.more)
		stderr, _, _ = strings.Cut(stderr, "recourse: warning: access staff: the keys of")
		if code != cli.ExitOK || !strings.HasSuffix(stderr, test.stderr) || test.stderr == "" && stderr != "" {
			t.Errorf("%s %s: %d\n%s", test.entries, test.more, code, stderr)
		}
	}
}
