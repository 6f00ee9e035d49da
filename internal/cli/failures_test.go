package cli_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

// journalAt returns an empty journal in a file, and its store's address.
func journalAt(t *testing.T) (*store.Journal, string) {
	t.Helper()
	address := "sqlite:" + filepath.Join(t.TempDir(), "recourse.db")
	return journalIn(t, address), address
}

// journalIn returns the journal of a store.
func journalIn(t *testing.T, address string) *store.Journal {
	t.Helper()
	s, err := store.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.Journal()
}

// keep stores a failed call.
func keep(t *testing.T, rows *store.Journal, seq int64, id, message string) {
	t.Helper()
	story := `{"requestId":"` + id + `","began":"2026-11-23T10:00:00Z","tookMs":1.5,"server":"farm","tool":"get_field","nature":"reads",` +
		`"ending":"failure","sent":0,"failure":{"v":1,"kind":"timeout","message":"` + message + `","hints":["` + message + `"]},"cause":"` + message + `"}`
	if _, err := rows.Append(t.Context(), []*store.Entry{{Seq: seq, RequestID: id, Kind: "timeout", Story: story}}); err != nil {
		t.Fatal(err)
	}
}

// following runs `recourse failures --follow` until stop is called; stop checks the exit code.
func following(t *testing.T, args ...string) (out *testkit.Buffer, stop func()) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	out = new(testkit.Buffer)
	code := make(chan int, 1)
	go func() {
		code <- cli.Run(ctx, cli.Environment{Args: append([]string{"failures", "--follow"}, args...), Stdout: out, Stderr: out})
	}()
	return out, func() {
		t.Helper()
		end()
		if got := <-code; got != cli.ExitOK {
			t.Errorf("exit code %d: %s", got, out)
		}
	}
}

// listedOnce checks that each word is in the output once.
func listedOnce(t *testing.T, out *testkit.Buffer, words ...string) {
	t.Helper()
	for _, word := range words {
		if n := strings.Count(out.String(), word); n != 1 {
			t.Errorf("%s is listed %d times, want 1: %s", word, n, out)
		}
	}
}

// --follow lists calls as they are written, each once, even if a replica writes them late. Calls beyond --limit do not
// come back.
func TestFailuresFollow(t *testing.T) {
	t.Parallel()
	rows, address := journalAt(t)
	keep(t, rows, rows.Next(), "r-left-out", "No answer.")
	early := rows.Next()
	keep(t, rows, rows.Next(), "r-first", "No answer.")
	out, stop := following(t, "--store", address, "--limit", "1")
	out.Await(t, "r-first")
	late := rows.Next()
	keep(t, rows, early, "r-early", "No answer.")
	out.Await(t, "r-early")
	keep(t, rows, rows.Next(), "r-second", "No answer.")
	out.Await(t, "r-second")
	keep(t, rows, late, "r-late", "No answer.")
	out.Await(t, "r-late")
	stop()
	listedOnce(t, out, "r-first", "r-early", "r-second", "r-late", "REQUEST")
	if strings.Contains(out.String(), "r-left-out") {
		t.Errorf("an older call is listed: %s", out)
	}
}

// --follow reports a database that restarts, and continues when it is back.
func TestFailuresFollowPostgres(t *testing.T) {
	t.Parallel()
	database := service.NewPostgres(t)
	rows := journalIn(t, database.URL)
	keep(t, rows, rows.Next(), "r-first", "No answer.")
	out, stop := following(t, "--store", database.URL)
	out.Await(t, "r-first")
	database.Stop()
	out.Await(t, "recourse: cannot read the journal now: ")
	database.Start(t)
	out.Await(t, "recourse: reading the journal again")
	keep(t, rows, rows.Next(), "r-second", "No answer.")
	out.Await(t, "r-second")
	stop()
	listedOnce(t, out, "r-first", "r-second", "cannot read", "REQUEST")

	var told bytes.Buffer
	code := cli.Run(t.Context(), cli.Environment{Args: []string{"explain", "r-second", "--store", database.URL}, Stdout: &told, Stderr: &told})
	if code != cli.ExitOK || !strings.Contains(told.String(), "the tool get_field of farm") {
		t.Errorf("explain: %d, %s", code, &told)
	}
}

// Text from a server or client cannot control the terminal.
func TestFailuresOfHostileCalls(t *testing.T) {
	t.Parallel()
	rows, address := journalAt(t)
	keep(t, rows, rows.Next(), "r-1", `\u001b[2J\u009b31m\u202eevil\nREQUEST r-0`)
	for _, args := range [][]string{{"failures"}, {"failures", "--json"}, {"explain", "r-1"}, {"explain", "r-1", "--json"}} {
		var out bytes.Buffer
		code := cli.Run(t.Context(), cli.Environment{Args: append(args, "--store", address), Stdout: &out, Stderr: &out})
		if code != cli.ExitOK || !strings.Contains(out.String(), "evil") || strings.ContainsAny(out.String(), "\x1b\u009b\u202e") ||
			args[0] == "failures" && strings.Contains(out.String(), "\nREQUEST r-0") {
			t.Errorf("%q: %d, %q", args, code, &out)
		}
	}
}
