package cli_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

// What a killed gateway had not written of its journal is counted by the next one, once: in the log and in the metrics.
func TestKilledGatewaysLossIsCounted(t *testing.T) {
	t.Parallel()
	for name, db := range map[string]struct{ driver, lock string }{
		"SQLite": {"sqlite", "BEGIN IMMEDIATE"}, "PostgreSQL": {"pgx", "BEGIN; LOCK TABLE journal IN EXCLUSIVE MODE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			store, address := "sqlite:"+filepath.Join(dir, "recourse.db"), "file:"+filepath.Join(dir, "recourse.db")
			if name == "PostgreSQL" {
				store = service.Postgres(t)
				address = store
			}
			configuration := fmt.Sprintf("admin: 127.0.0.1:0\nstore: '%s'\nservers:\n  farm: {url: '%s'}\n", store, testkit.NewServer(t).URL())
			for _, calls := range []int{7, 4} { // each counts those of the one before
				kill, log := killable(t, dir, configuration)
				others, err := sql.Open(db.driver, address)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := others.ExecContext(t.Context(), db.lock); err != nil {
					t.Fatal(err)
				}
				client := testkit.NewClient(t, urlOf(t, log), testkit.Modern)
				for range calls {
					if _, err := client.Call(t.Context(), "no_such_tool", `{}`); err != nil {
						t.Fatal(err)
					}
				}
				kill()
				if err := others.Close(); err != nil {
					t.Fatal(err)
				}
			}
			for _, lost := range []string{"4", "0"} {
				kill, log := killable(t, dir, configuration)
				admin, _ := log.await(t, 0, `"address":"`)
				admin, _, _ = strings.Cut(admin, `"`)
				if said := strings.Contains(log.String(), `killed before it had written them","lost":4}`); said != (lost == "4") {
					t.Errorf("lost %s, and the log is\n%s", lost, log)
				}
				shownAt(t, admin+"/metrics", func(_ int, text string) bool {
					return strings.Contains(text, `recourse_journal_calls_total{result="lost"} `+lost+"\n")
				})
				kill()
			}
		})
	}
}

// So is a call that is made once, whose client has its answer while the gateway still writes what became of the call.
func TestKilledGatewaysLossOfOnceIsCounted(t *testing.T) {
	t.Parallel()
	dir, srv := t.TempDir(), testkit.NewServer(t)
	others, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "recourse.db"))
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse("http://" + srv.Addr())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(r *http.Response) (err error) {
		if r.Request.Header.Get("Mcp-Name") == testkit.OrderCreate {
			_, err = others.ExecContext(t.Context(), "BEGIN IMMEDIATE")
		}
		return err
	}
	configuration := fmt.Sprintf("store: 'sqlite:%s'\njournal: {successes: 1}\nservers: {farm: {url: '%s/mcp', tools: {order_create: {once: true}}}}\n",
		filepath.Join(dir, "recourse.db"), testkit.Serve(t, proxy))
	kill, log := killable(t, dir, configuration)
	testkit.NewClient(t, urlOf(t, log), testkit.Modern).MustOrder(t)
	kill()
	if err := others.Close(); err != nil {
		t.Fatal(err)
	}
	_, log = killable(t, dir, configuration)
	log.await(t, 0, `killed before it had written them","lost":1}`)
}

// killable runs a gateway as a process of its own, and returns its log.
func killable(t *testing.T, dir, configuration string) (kill func(), log *output) {
	t.Helper()
	self, err := os.Executable()
	log = new(output)
	file, program := filepath.Join(dir, "recourse.yaml"), filepath.Join(dir, "recourse")
	if err := errors.Join(err, os.WriteFile(file, []byte("listen: 127.0.0.1:0\n"+configuration), 0o600)); err != nil {
		t.Fatal(err)
	}
	_ = os.Symlink(self, program) // it may be there
	process := exec.CommandContext(context.Background(), program, "serve", "-c", file)
	process.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	process.Stdout, process.Stderr = log, log
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = process.Process.Kill() // it may have been killed
		_ = process.Wait()
	}
	t.Cleanup(kill)
	log.await(t, 0, `"msg":"serving","`)
	return kill, log
}
