package cli_test

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A gateway with a full store answers calls as before. The log reports that and the lost entries; /readyz names the
// store until writing succeeds again.
func TestServeWithFullStore(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "recourse.db")
	var log *output
	t.Cleanup(func() { // when the gateway has ended
		if n := strings.Count(log.String(), "cannot write the journal"); n != 2 || !strings.Contains(log.String(), `"lost":1,`) {
			t.Errorf("%d lines about the journal, or none about the lost call:\n%s", n, log)
		}
	})
	var address string
	address, log = served(t, "store: 'sqlite:"+file+"'\nservers:\n  farm: {url: '"+testkit.NewServer(t).URL()+"'}\n")
	farm, _ := log.await(t, 0, `"url":"`)
	farm, _, _ = strings.Cut(farm, `"`)
	ready := func(want string) {
		t.Helper()
		shownAt(t, address+"/readyz", func(status int, text string) bool {
			if status != http.StatusOK {
				t.Fatalf("HTTP %d %s", status, text)
			}
			return strings.Contains(text, "store: ") == (want != "") && strings.Contains(text, want)
		})
	}
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	change := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	fill := func() {
		t.Helper()
		change("CREATE TRIGGER fill BEFORE INSERT ON journal BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END")
		a, err := testkit.NewClient(t, farm, testkit.Modern).Call(t.Context(), "no_such_tool", `{}`)
		if err != nil || !strings.Contains(string(a.Body), "no_such_tool") {
			t.Fatalf("%v, %s", err, a.Body)
		}
		ready("disk is full")
	}
	ready("")
	fill()
	change("DROP TRIGGER fill")
	log.await(t, 0, "the journal is written again")
	ready("")
	fill()
}
