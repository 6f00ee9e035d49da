package once_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/policy/once"
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
	for _, form := range []testkit.AnswerForm{testkit.JSON, testkit.SSE} {
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

// While a file is locked, nothing is sent.
func TestOnceStoreInTrouble(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	address := "sqlite:" + filepath.Join(t.TempDir(), "once.db")
	s := gatewaytest.OpenStore(t, address)
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

// On a full disk nothing is sent. If it is full after the effect, the client gets its answer, and a repetition the same one when there is room.
func TestOnceOnFullDisk(t *testing.T) {
	t.Parallel()
	for when, sent := range map[string]int{"INSERT": 0, "UPDATE": 1} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			s, address := onceStore(t)
			c := startOnce(t, srv, s, "once: {key: /reference}").Client(t, testkit.Modern)
			c.MustListTools(t)
			db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(address, "sqlite:")+"?_pragma=busy_timeout(5000)")
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for i, statement := range []string{
				"CREATE TRIGGER fill BEFORE " + when + " ON once BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END", "DROP TRIGGER fill",
			} {
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
				if i > 0 {
					break
				}
				a := order(t, c, testkit.OrderArgs, "")
				if a.Succeeded() != (sent == 1) || srv.Orders("A-17") != sent {
					t.Errorf("got %s with %d orders", a.Body, srv.Orders("A-17"))
				}
				if sent == 0 && gatewaytest.Record(t, a).Kind != recourse.KindUnavailable {
					t.Errorf("got %s", a.Body)
				}
			}
			if a := order(t, c, testkit.OrderArgs, ""); !a.Succeeded() || isReplay(a) != (sent == 1) || srv.Orders("A-17") != 1 {
				t.Errorf("got %s with %d orders", a.Body, srv.Orders("A-17"))
			}
		})
	}
}

// A gateway whose clock is hours ahead of another one's, or behind it, lets nothing happen twice: its calls are neither free nor unknown.
func TestOnceWithWrongClocks(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{5 * time.Hour, -5 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			s, _ := onceStore(t)
			repeated, repeats := context.WithCancel(t.Context())
			srv.Next(testkit.OrderCreate, testkit.Fault{Name: "slow", Happen: func(e *testkit.Exchange) {
				<-repeated.Done()
				e.Answer(e.Result(`{"content":[{"type":"text","text":"the first"}]}`))
			}}.Running(true))
			open := func(st once.Store) *testkit.Client {
				return onceFront(t, st, gatewaytest.Path, "servers:\n  farm:\n    url: "+srv.URL()+"\n    tools: {order_create: {once: true}}\n").
					Client(t, testkit.Modern)
			}
			wrong, right := open(skewedStore{s.Once(), by}), open(begunStore{s.Once(), repeats})
			right.MustListTools(t)
			var first *testkit.Answer
			var both sync.WaitGroup
			both.Go(func() { first = order(t, wrong, testkit.OrderArgs, "") })
			if !testkit.Until(func() bool { return srv.Orders("A-17") == 1 }) {
				t.Fatal("the call does not arrive")
			}
			again := order(t, right, testkit.OrderArgs, "")
			both.Wait()
			if !first.Succeeded() || !isReplay(again) || srv.Orders("A-17") != 1 {
				t.Errorf("got %s and %s with %d orders", first.Body, again.Body, srv.Orders("A-17"))
			}
		})
	}
}

// A skewedStore is one as it is used by a process whose clock is wrong.
type skewedStore struct {
	once.Store

	by time.Duration
}

func (s skewedStore) skewed(row *once.Row) *once.Row {
	r := *row
	r.Created, r.Changed, r.Expires = r.Created.Add(s.by), r.Changed.Add(s.by), r.Expires.Add(s.by)
	return &r
}

func (s skewedStore) Begin(ctx context.Context, row *once.Row) (*once.Row, error) {
	return s.Store.Begin(ctx, s.skewed(row))
}

func (s skewedStore) Change(ctx context.Context, row *once.Row, fence int64, from ...once.State) (bool, error) {
	return s.Store.Change(ctx, s.skewed(row), fence, from...)
}

// A begunStore says when a call has asked whether it is the first.
type begunStore struct {
	once.Store

	begun func()
}

func (s begunStore) Begin(ctx context.Context, row *once.Row) (*once.Row, error) {
	defer s.begun()
	return s.Store.Begin(ctx, row)
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
