package cli_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// onceRows makes a store with calls that are made once: oncerows FILE.
func onceRows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: oncerows FILE")
	}
	s, err := store.Open(context.Background(), "sqlite:"+ts.MkAbs(args[0]))
	ts.Check(err)
	defer s.Close()
	began := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
	for id, state := range map[string]once.State{"req-1": once.Unknown, "req-2": once.Unknown, "req-3": once.Answered} {
		_, err := s.Once().Begin(context.Background(), &once.Row{
			ID: once.ID(id), Fence: 1, State: state, Note: "it failed, and may have happened", Server: "shop", Tool: "pay",
			Caller: "alice", RequestID: id, Created: began, Changed: began, Expires: began.Add(24 * time.Hour),
		})
		ts.Check(err)
	}
}

// The key of a call travels in its _meta.
func TestCallSendsItsKey(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	got := callTool(t, srv.URL(), nil, "--key", "k-1", testkit.OrderCreate, testkit.OrderArgs)
	calls := srv.Calls(testkit.OrderCreate)
	if got.code != cli.ExitOK || len(calls) != 1 || !strings.Contains(string(calls[0].Body), `"io.github.recoursehq/idempotencyKey":"k-1"`) {
		t.Errorf("%+v: %+v", got, calls)
	}
}
