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

// After a limit nobody calls before its time, whoever was told of it, and then not all at once.
func TestLimitIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serve("recourse", map[string][]any{"get": {recourse.RateLimited(10 * time.Second).WithEffect(recourse.EffectNone), done}})
		shared := recovery.NewServer()
		var all sync.WaitGroup
		for i := range 20 {
			client := recovery.New(s, s.contract, recovery.WithServer(shared))
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
			t.Errorf("called again after %v", later)
		}
		if span := slices.Max(later) - slices.Min(later); span < time.Second || span > 5*time.Second {
			t.Errorf("all in %v", span)
		}
	})
}

// A server that cannot be reached is left alone for a while, by all; then one tries.
func TestCircuit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serve("terra", map[string][]any{"get": {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}})
		shared := recovery.NewServer()
		client := recovery.New(s, s.contract, recovery.WithServer(shared), recovery.WithNature("get", retry.Reads), recovery.WithTimeout(500*time.Millisecond))
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
			t.Errorf("%d calls of a server that cannot be reached", len(s.calls))
		}
		time.Sleep(2 * time.Second)
		for range 10 {
			_ = get() // it is down
		}
		if len(s.calls) != 6 {
			t.Errorf("%d calls after a while, want one more", len(s.calls))
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

// All together repeat no more than a fifth of what they call, and ten.
func TestBudgetIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serve("recourse", map[string][]any{"get": {recourse.ServerError("", 500).WithEffect(recourse.EffectNone).WithRetry(recourse.RetrySameCall)}})
		shared := recovery.NewServer()
		for range 200 {
			client := recovery.New(s, s.contract, recovery.WithServer(shared))
			if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "get"}); err == nil {
				t.Fatal("it succeeds")
			}
		}
		if n := len(s.calls); n > 200+40+10 || n < 240 {
			t.Errorf("%d attempts of 200 calls", n)
		}
	})
}

// The same mistake is not sent twice, by anybody, until something was written.
func TestMistakeIsRemembered(t *testing.T) {
	t.Parallel()
	s := serve("recourse", map[string][]any{"get": {recourse.Missing("id")}, "put": {done}})
	shared := recovery.NewServer()
	get := func(arguments string) error {
		_, _, err := call(t, s, "get", arguments, recovery.WithServer(shared))
		return err
	}
	for _, arguments := range []string{`{"a":1}`, `{"a":1}`, `{"a":2}`, `{"a":1}`} {
		if err := get(arguments); !errors.Is(err, recourse.KindMissingParam) {
			t.Errorf("%v", err)
		}
	}
	if len(s.calls) != 2 {
		t.Errorf("it was sent %d times", len(s.calls))
	}
	if _, _, err := call(t, s, "put", `{}`, recovery.WithServer(shared)); err != nil {
		t.Fatal(err)
	}
	if _ = get(`{"a":1}`); len(s.calls) != 4 {
		t.Errorf("after a write it was sent %d times", len(s.calls))
	}
}

// A mistake is not one for ever: a date that is in the future comes, and the server may have been wrong.
func TestMistakeIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serve("fieldmcp", map[string][]any{"get": {recourse.InvalidValue("from", "a day that is over", "tomorrow"), done}})
		shared := recovery.NewServer()
		for _, test := range []struct {
			after time.Duration
			calls int
		}{{0, 1}, {time.Minute, 1}, {8 * time.Minute, 1}, {2 * time.Minute, 2}} {
			time.Sleep(test.after)
			_, _, err := call(t, s, "get", "", recovery.WithServer(shared))
			if len(s.calls) != test.calls || (err == nil) != (test.calls == 2) {
				t.Errorf("after %s more it was sent %d times, %v", test.after, len(s.calls), err)
			}
		}
	})
}

// Cancelling ends a wait at once. The failure that was waited after is kept.
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

// A server that is not believed cannot have a write repeated.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lie := recourse.Timeout("", 0).WithEffect(recourse.EffectNone).WithRetry(recourse.RetrySameCall)
		for _, test := range []struct {
			options []recovery.Option
			want    int
		}{{nil, 2}, {[]recovery.Option{recovery.Untrusted()}, 1}} {
			for _, name := range []string{"recourse", "commerce"} {
				s := serve(name, map[string][]any{"put": {lie, done}})
				_, _, _ = call(t, s, "put", `{}`, test.options...) // what counts is how often it was called
				if len(s.calls) != test.want {
					t.Errorf("%s: %d calls, want %d", name, len(s.calls), test.want)
				}
			}
		}
	})
}

// A call that is named as the one that verifies is made only where it is known to read.
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
