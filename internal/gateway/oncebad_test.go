package gateway_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// Arguments that two readers may read differently are refused, and long numbers are told apart.
func TestOnceOddArguments(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	s, _ := onceStore(t)
	c := startOnce(t, srv, s, "once: {delivered: replay}").Client(t, testkit.Modern)
	c.MustListTools(t)
	for _, arguments := range []string{
		`{"reference":"A-17","amount":1,"amount":2}`,
		`{"reference":"A-17","amount":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`,
	} {
		if a := order(t, c, arguments, ""); a.Succeeded() || srv.Orders("A-17") != 0 {
			t.Errorf("%.60s: %.300s", arguments, a.Body)
		}
	}
	long := strings.Repeat("7", 400)
	for i, amount := range []string{long, long + ".0", strings.Repeat("7", 399) + "8", "12345678901234567", "12345678901234568"} {
		a := order(t, c, fmt.Sprintf(`{"reference":"L-1","amount":%s}`, amount), "")
		if !a.Succeeded() || isReplay(a) != (i == 1) {
			t.Errorf("%d: %.300s", i, a.Body)
		}
	}
}

// Whatever a verify call does, nothing is sent unless it says that the write has not landed.
func TestOnceBadVerifyCalls(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]testkit.Fault{
		"hangs":           faults.Hang(),
		"breaks off":      faults.ResetInBody(),
		"is HTML":         faults.HTMLWith200(),
		"is another's":    faults.WrongID(testkit.JSON),
		"is no data":      faults.Result("", `{"content":[{"type":"text","text":"it is there"}]}`),
		"fails":           faults.ToolError("", "cannot look it up now"),
		"is not found":    faults.StatusWith("", 404, "text/plain", "not found"),
		"is rate limited": faults.StatusWith("", 429, "text/plain", "slow down"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			s, _ := onceStore(t)
			c := startOnce(t, srv, s, "once: {grace: 0s}, "+orderVerify, "timeout: 2s").Client(t, testkit.Modern)
			c.MustListTools(t)
			srv.Next(testkit.OrderCreate, faults.ResetBeforeAnswer().Running(true))
			order(t, c, testkit.OrderArgs, "")
			srv.Always(testkit.OrderGet, fault)
			a := order(t, c, testkit.OrderArgs, "")
			if e := gatewaytest.Record(t, a); e.Code != "outcome_unknown" || e.Verify == nil || srv.Orders("A-17") != 1 {
				t.Errorf("got %s with %d orders", a.Body, srv.Orders("A-17"))
			}
		})
	}
}

// A verify call through a tool that is said to write is not made.
func TestOnceVerifyCallThatWrites(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	s, _ := onceStore(t)
	const tools = `tools: {order_get: {read_only: false}, order_create: {once: {grace: 0s}, ` + orderVerify + `}}`
	front := onceFront(t, s.Once(), gatewaytest.Path, "servers:\n  farm:\n    url: "+srv.URL()+"\n    "+tools+"\n")
	c := front.Client(t, testkit.Modern)
	srv.Next(testkit.OrderCreate, faults.ResetBeforeAnswer())
	order(t, c, testkit.OrderArgs, "")
	a := order(t, c, testkit.OrderArgs, "")
	if e := gatewaytest.Record(t, a); e.Code != "outcome_unknown" || srv.Executions(testkit.OrderGet) != 0 {
		t.Errorf("got %s", a.Body)
	}
}

// What a server says twice, or to another call, is no answer that is kept for this one.
func TestOnceOddAnswers(t *testing.T) {
	t.Parallel()
	for _, form := range []testkit.Form{testkit.JSON, testkit.SSE} {
		for name, c := range map[string]struct {
			fault testkit.Fault
			good  bool
		}{
			"twice": {faults.DuplicateAnswer(form), form == testkit.SSE}, "another's": {faults.WrongID(form), false},
			"a large one": {faults.Large(form, 1<<20, faults.Whole), true},
		} {
			t.Run(fmt.Sprint(form, " ", name), func(t *testing.T) {
				t.Parallel()
				srv := testkit.NewServer(t)
				s, _ := onceStore(t)
				client := startOnce(t, srv, s, "once: {key: /reference}").Client(t, testkit.Modern)
				client.MustListTools(t)
				srv.Next(testkit.OrderCreate, c.fault.Running(true))
				first := order(t, client, testkit.OrderArgs, "")
				if first.Succeeded() != c.good {
					t.Fatalf("got %.300s", first.Body)
				}
				a := order(t, client, testkit.OrderArgs, "")
				switch {
				case srv.Orders("A-17") != 1:
					t.Errorf("there are %d orders", srv.Orders("A-17"))
				case name == "twice" && c.good && plain(t, a) != plain(t, first):
					t.Errorf("got %s, want %s", a.Body, first.Body)
				case name == "a large one" && gatewaytest.Record(t, a).Code != "outcome_known":
					t.Errorf("got %s", a.Body)
				case !c.good && gatewaytest.Record(t, a).Code != "outcome_unknown":
					t.Errorf("got %s", a.Body)
				}
			})
		}
	}
}

// While a file is locked or its disk is full, nothing is sent.
func TestOnceStoreInTrouble(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	address := "sqlite:" + filepath.Join(t.TempDir(), "once.db")
	s := openOnce(t, address)
	c := startOnce(t, srv, s, "once: true").Client(t, testkit.Modern)
	c.MustListTools(t)
	unlock := lockFile(t, address)
	a := order(t, c, testkit.OrderArgs, "")
	unlock()
	if e := gatewaytest.Record(t, a); e.Kind != recourse.KindUnavailable || e.Effect != recourse.EffectNone || srv.Orders("A-17") != 0 {
		t.Errorf("got %s", a.Body)
	}
	if !testkit.Until(func() bool { return order(t, c, testkit.OrderArgs, "").Succeeded() }) || srv.Orders("A-17") != 1 {
		t.Errorf("after that there are %d orders", srv.Orders("A-17"))
	}
}

// lockFile locks an SQLite file until unlock is called.
func lockFile(t *testing.T, address string) (unlock func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(address, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
