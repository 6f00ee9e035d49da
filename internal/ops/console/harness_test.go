package console_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/ops/console"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

// openStore returns an empty store.
func openStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "recourse.db"))
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

// write writes calls into the journal, with their own end times if they have any.
func write(t *testing.T, s *store.Store, calls ...*journal.Row) {
	t.Helper()
	var entries []*store.Entry
	for i, c := range calls {
		c.Seq = c.Ended().UnixMicro()<<11 + int64(i)
		entries = append(entries, c.Entry(c.Seq))
	}
	if _, err := s.Journal().Append(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
}

// failed returns a call that failed after two attempts.
func failed(id string, e *recourse.Error) *journal.Row {
	return &journal.Row{
		RequestID: id, TraceID: "0af7651916cd43dd8448eb211c80319c", Began: time.Now().Add(-time.Minute), Took: ms(400), Server: "farm",
		Contract: "recourse", Method: "tools/call", Tool: "get_field", Nature: "reads", Arguments: json.RawMessage(`{"field_id":"F-1"}`),
		Access: "team", Caller: "ada", Org: "acme", Peer: "127.0.0.1:44974", Ending: "failure", Status: 200, Bytes: 853, Sent: 2,
		Final: "gave up after 2 attempts", Failure: e, Cause: "dial tcp 127.0.0.1:9101: connect: connection refused",
		Attempts: []journal.Attempt{
			{After: ms(1), Took: ms(20), Failure: recourse.KindUnreachable, Reason: "the tool only reads"},
			{After: ms(120), Wait: ms(99), Took: ms(200), Status: 503, Failure: recourse.KindUnavailable},
		},
	}
}

func ms(n int) journal.Millis { return journal.Millis(time.Duration(n) * time.Millisecond) }

// timeout is a failure with unknown effect.
func timeout() *recourse.Error {
	e := recourse.New(recourse.KindTimeout, "The farm did not answer.").WithOrigin(recourse.OriginServer).WithEffect(recourse.EffectUnknown)
	return e.With(func(r *recourse.Error) {
		r.Verify = &recourse.Verify{Tool: "order_get", Args: recourse.Args{}.With("reference", "A-17"), LookAt: "status"}
	})
}

// mixed returns calls that differ in everything that failures can be filtered by.
func mixed(n int) []*journal.Row {
	failures := []*recourse.Error{
		timeout(), recourse.NotFound("field", "F-1").WithOrigin(recourse.OriginServer),
		recourse.RateLimited(time.Second).WithOrigin(recourse.OriginGateway), recourse.Missing("orgId").WithOrigin(recourse.OriginCaller),
	}
	var calls []*journal.Row
	for i := range n {
		c := failed(fmt.Sprintf("req-%04d", i), failures[i%4])
		c.Began = c.Began.Add(time.Duration(i-n) * time.Second)
		c.Server, c.Tool = []string{"farm", "shop", "deere"}[i%3], []string{"get", "put"}[i/3%2]
		c.Caller, c.Org = []string{"ada", "bob", "acme"}[i%5%3], []string{"acme", ""}[i%2]
		calls = append(calls, c)
	}
	return calls
}

// withJournal returns the URL of a console, and its store with these calls.
func withJournal(t *testing.T, calls ...*journal.Row) (url string, s *store.Store) {
	t.Helper()
	s = openStore(t)
	write(t, s, calls...)
	return serve(t, console.Sources{Journal: s.Journal()}), s
}
