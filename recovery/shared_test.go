package recovery_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/retry"
)

// After a limit that any client was told of, none calls too early, and then not all at once.
func TestLimitIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serve("recourse", map[string][]any{"get": {recourse.RateLimited(10 * time.Second).WithEffect(recourse.EffectNone), done}})
		shared := recovery.NewShared()
		var all sync.WaitGroup
		for i := range 20 {
			client := recovery.New(s, s.contract, recovery.WithShared(shared))
			if i == 1 {
				time.Sleep(time.Second)
			}
			all.Go(func() {
				if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "get", Arguments: json.RawMessage(`{}`)}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		later := s.times[1:]
		if len(later) != 20 || slices.Min(later) < 10*time.Second {
			t.Errorf("repeated after %v", later)
		}
		if span := slices.Max(later) - slices.Min(later); span < time.Second || span > 5*time.Second {
			t.Errorf("all calls within %v", span)
		}
	})
}

// A server that cannot be reached gets no calls for a while; then one client tries.
func TestCircuit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serve("terra", map[string][]any{"get": {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}})
		shared := recovery.NewShared()
		client := recovery.New(s, s.contract, recovery.WithShared(shared), recovery.WithNature("get", retry.Reads), recovery.WithTimeout(500*time.Millisecond))
		get := func() error {
			_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "get", Arguments: json.RawMessage(`{}`)})
			return err
		}
		for range 50 {
			if err := get(); !errors.Is(err, recourse.ClassUpstream) {
				t.Fatal(err)
			}
		}
		if len(s.calls) != 5 {
			t.Errorf("%d calls of an unreachable server", len(s.calls))
		}
		time.Sleep(2 * time.Second)
		for range 10 {
			_ = get() // fails
		}
		if len(s.calls) != 6 {
			t.Errorf("%d calls after the wait, want one more", len(s.calls))
		}
		s.script["get"] = []any{done}
		time.Sleep(4 * time.Second)
		for range 10 {
			if err := get(); err != nil {
				t.Error(err)
			}
		}
	})
}

// Together, clients repeat at most a fifth of their calls, plus ten.
func TestBudgetIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serve("recourse", map[string][]any{"get": {recourse.ServerError("", 500).WithEffect(recourse.EffectNone).WithRetry(recourse.RetrySameCall)}})
		shared := recovery.NewShared()
		for range 200 {
			client := recovery.New(s, s.contract, recovery.WithShared(shared))
			if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "get"}); err == nil {
				t.Fatal("the call succeeded")
			}
		}
		if n := len(s.calls); n > 200+40+10 || n < 240 {
			t.Errorf("%d attempts for 200 calls", n)
		}
	})
}

// No client repeats a mistake of another, until a write has succeeded.
func TestMistakeIsRemembered(t *testing.T) {
	t.Parallel()
	s := serve("recourse", map[string][]any{"get": {recourse.Missing("id")}, "put": {done}})
	shared := recovery.NewShared()
	get := func(arguments string) error {
		_, _, err := call(t, s, "get", arguments, recovery.WithShared(shared))
		return err
	}
	for _, arguments := range []string{`{"a":1}`, `{"a":1}`, `{"a":2}`, `{"a":1}`} {
		if err := get(arguments); !errors.Is(err, recourse.KindMissingParam) {
			t.Errorf("%v", err)
		}
	}
	if len(s.calls) != 2 {
		t.Errorf("sent %d times", len(s.calls))
	}
	if _, _, err := call(t, s, "put", `{}`, recovery.WithShared(shared)); err != nil {
		t.Fatal(err)
	}
	if _ = get(`{"a":1}`); len(s.calls) != 4 {
		t.Errorf("sent %d times after a write", len(s.calls))
	}
}

// A mistake is forgotten after a while: a future date comes, or the server was wrong.
func TestMistakeIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serve("fieldmcp", map[string][]any{"get": {recourse.InvalidValue("from", "a day that is over", "tomorrow"), done}})
		shared := recovery.NewShared()
		for _, test := range []struct {
			after time.Duration
			calls int
		}{{0, 1}, {time.Minute, 1}, {8 * time.Minute, 1}, {2 * time.Minute, 2}} {
			time.Sleep(test.after)
			_, _, err := call(t, s, "get", "", recovery.WithShared(shared))
			if len(s.calls) != test.calls || (err == nil) != (test.calls == 2) {
				t.Errorf("after %s more: sent %d times, %v", test.after, len(s.calls), err)
			}
		}
	})
}

// Cancelling ends a wait immediately, and returns the failure before the wait.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serve("fieldmcp", map[string][]any{"get": {recourse.RateLimited(time.Minute).WithOrigin(recourse.OriginProvider)}})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		began := time.Now()
		_, err := recovery.New(s, s.contract).CallTool(ctx, &mcp.CallToolParams{Name: "get"})
		if !errors.Is(err, recourse.KindRateLimited) || !errors.Is(err, context.Canceled) || time.Since(began) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// The verify call is made only if its tool is known to only read.
func TestVerifyCallReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		named := lost.WithVerify(recourse.Verify{Tool: "drop_all"})
		s := serve("recourse", map[string][]any{"put": {named}, "drop_all": {done}})
		if _, _, err := call(t, s, "put", `{}`); !errors.Is(err, recourse.KindTimeout) || len(s.calls) != 1 {
			t.Errorf("%v after %v", err, s.calls)
		}
	})
}
