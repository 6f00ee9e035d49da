package recovery_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/retry"
)

// An outage is a server whose tools fail for some time. It has the methods of a Go SDK session.
type outage struct {
	began time.Time
	fails func(tool string, after time.Duration) error // nil means success

	mu    sync.Mutex
	calls []string        // "tool id"
	times []time.Duration // since the beginning
}

const outageLatency = 50 * time.Millisecond

func (o *outage) CallTool(_ context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	time.Sleep(outageLatency)
	after := time.Since(o.began)
	o.mu.Lock()
	o.calls = append(o.calls, fmt.Sprint(params.Name, " ", params.Arguments))
	o.times = append(o.times, after)
	o.mu.Unlock()
	err := o.fails(params.Name, after)
	if e, ok := errors.AsType[*recourse.Error](err); ok {
		answer := contract.MustBuiltin("commerce").Write(e, &contract.Call{Method: "tools/call", Tool: params.Name})
		return resultOf(string(answer.Result))
	}
	if err != nil {
		return nil, err
	}
	return resultOf(done)
}

func (o *outage) client(s *recovery.Shared, timeout time.Duration) *recovery.Client[*mcp.CallToolParams, *mcp.CallToolResult] {
	return recovery.New(o, contract.MustBuiltin("commerce"), recovery.WithShared(s), recovery.WithTimeout(timeout))
}

// count returns the number of calls whose name begins with call.
func (o *outage) count(call string) int {
	n := 0
	for _, c := range o.calls {
		if strings.HasPrefix(c, call) {
			n++
		}
	}
	return n
}

var (
	errShop = recourse.Unreachable("The shop").WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone)
	errWay  = &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
)

// During an outage, every call whose deadline comes after the outage succeeds, and hardly any is sent more than once:
// the first failures open the circuit, and the other calls wait.
func TestOutageIsOutlasted(t *testing.T) {
	t.Parallel()
	const length = 5 * time.Minute
	for name, failure := range map[string]error{
		"of the server":                  errWay,
		"of its backend":                 errShop,
		"of its backend, with a wait":    errShop.WithRetryAfter(30 * time.Second),
		"of its backend, without a wait": recourse.Unavailable("The shop").WithEffect(recourse.EffectNone),
	} {
		for _, every := range []time.Duration{300 * time.Millisecond, 2 * time.Second} {
			t.Run(fmt.Sprint(name, "/", every), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					const patience = time.Minute
					o := &outage{began: time.Now(), fails: func(_ string, after time.Duration) error {
						if after < length {
							return failure
						}
						return nil
					}}
					shared := recovery.NewShared()
					warm(t, o, shared)
					var all sync.WaitGroup
					for i := 0; time.Since(o.began) < length; i++ {
						tool := []string{"get-orders", "create-sales-order"}[i%2]
						ends := time.Since(o.began) + patience
						all.Go(func() {
							_, err := o.client(shared, patience).CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: i})
							// In the last moments it may be another call's turn.
							if err == nil && ends < length || err != nil && ends >= length+2*time.Second {
								t.Errorf("a call with deadline %s in an outage of %s: %v", ends, length, err)
							}
							if e, ok := errors.AsType[*recourse.Error](err); ok && e.Effect != recourse.EffectNone {
								t.Errorf("got effect unknown for a call that did nothing: %#v", e)
							}
						})
						time.Sleep(every)
					}
					all.Wait()
					came := int(length / every)
					if n := len(o.calls); n > came*12/10 {
						t.Errorf("%d calls were sent for %d", n, came)
					}
					for _, c := range o.calls {
						if n := o.count(c + " "); n > 4 {
							t.Errorf("%s was sent %d times", c, n)
						}
					}
				})
			})
		}
	}
}

// warm lets the server answer once.
func warm(t *testing.T, o *outage, s *recovery.Shared) {
	t.Helper()
	fails := o.fails
	o.fails = func(string, time.Duration) error { return nil }
	for _, tool := range []string{"get-orders", "create-sales-order"} {
		if _, err := o.client(s, time.Minute).CallTool(t.Context(), &mcp.CallToolParams{Name: tool}); err != nil {
			t.Fatal(err)
		}
	}
	o.fails, o.calls, o.times, o.began = fails, nil, nil, time.Now()
}

// A call waits for an open circuit, and that costs no attempt. Calls of other tools do not wait.
func TestOpenCircuit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outage{began: time.Now(), fails: func(tool string, after time.Duration) error {
			if tool == "get-orders" && after < 10*time.Second {
				return errShop.WithRetryAfter(20 * time.Second)
			}
			return nil
		}}
		shared := recovery.NewShared()
		call := func(tool string, timeout time.Duration) (time.Duration, *recovery.Report, error) {
			began, report := time.Now(), new(recovery.Report)
			_, err := o.client(shared, timeout).CallTool(recovery.WithReport(t.Context(), report), &mcp.CallToolParams{Name: tool})
			return time.Since(began), report, err
		}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if _, report, err := call("get-orders", time.Minute); err != nil || report.Attempts() != 2 {
					t.Errorf("%v after %d attempts", err, report.Attempts())
				}
			})
		}
		time.Sleep(4 * time.Second)
		all.Go(func() {
			if took, report, err := call("get-orders", time.Minute); err != nil || report.Attempts() != 1 || took < 16*time.Second || took > 20*time.Second {
				t.Errorf("%v after %d attempts and %s", err, report.Attempts(), took)
			}
		})
		synctest.Wait()
		if took, report, err := call("get-products", time.Minute); err != nil || took != outageLatency || report.Attempts() != 1 {
			t.Errorf("another tool: %v after %s", err, took)
		}
		all.Wait()
	})
}

// A call that fails, and then has no time to wait for the circuit, returns its own failure.
func TestOpenCircuitKeepsFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outage{began: time.Now(), fails: func(string, time.Duration) error { return errShop.WithMessage("Down for lunch.") }}
		shared := recovery.NewShared()
		warm(t, o, shared)
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				client := recovery.New(o, contract.MustBuiltin("commerce"), recovery.WithShared(shared),
					recovery.WithTimeout(2500*time.Millisecond), recovery.WithRandom(func() float64 { return 0.5 }))
				_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "get-orders"})
				if e, ok := errors.AsType[*recourse.Error](err); !ok || e.Message != "Down for lunch." {
					t.Errorf("%v", err)
				}
			})
		}
		all.Wait()
		if len(o.calls) != 6+1 {
			t.Errorf("%d calls, want one more than the first failures", len(o.calls))
		}
	})
}

// Permanent failures open no circuit: waiting would not help.
func TestPermanentFailures(t *testing.T) {
	t.Parallel()
	for _, e := range []*recourse.Error{recourse.Internal(), recourse.NotFound("order", "o"), recourse.Conflict("no"), recourse.NotImplemented("")} {
		synctest.Test(t, func(t *testing.T) {
			o := &outage{began: time.Now(), fails: func(string, time.Duration) error { return e }}
			shared := recovery.NewShared()
			for i := range 20 {
				if _, err := o.client(shared, time.Minute).CallTool(t.Context(), &mcp.CallToolParams{Name: "get-orders", Arguments: i}); !errors.Is(err, e.Kind) {
					t.Fatalf("%v", err)
				}
			}
			if took := time.Since(o.began); len(o.calls) != 20 || took != 20*outageLatency {
				t.Errorf("%s: %d calls in %s", e.Kind, len(o.calls), took)
			}
		})
	}
}

// Calls near their deadlines try one at a time, however many they are.
func TestEarlyTrials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outage{began: time.Now(), fails: func(string, time.Duration) error { return errShop }}
		shared := recovery.NewShared()
		warm(t, o, shared)
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() {
				began := time.Now()
				if _, err := o.client(shared, 10*time.Second).CallTool(t.Context(), &mcp.CallToolParams{Name: "get-orders", Arguments: i}); err == nil {
					t.Error("the call succeeded")
				}
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("a call of 10 s took %s", took)
				}
			})
			time.Sleep(50 * time.Millisecond)
		}
		all.Wait()
		slices.Sort(o.times)
		for i := 20; i < len(o.times); i++ {
			if gap := o.times[i] - o.times[i-1]; gap < time.Second {
				t.Errorf("the calls %d and %d are %s apart", i-1, i, gap)
			}
		}
	})
}

// A call waits as long as its failure says, whatever the circuit does.
func TestStatedWaitIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outage{began: time.Now(), fails: func(string, time.Duration) error { return errShop.WithRetryAfter(20 * time.Second) }}
		shared := recovery.NewShared()
		warm(t, o, shared)
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() {
				_, _ = o.client(shared, 90*time.Second).CallTool(t.Context(), &mcp.CallToolParams{Name: "get-orders", Arguments: i}) // fails
			})
			time.Sleep(time.Second)
		}
		all.Wait()
		last := map[string]time.Duration{}
		for i, c := range o.calls {
			if before, ok := last[c]; ok && o.times[i]-before < 20*time.Second {
				t.Errorf("%s was repeated after %s", c, o.times[i]-before)
			}
			last[c] = o.times[i]
		}
	})
}

// The other calls wait for the one that tries. If it never returns, another one tries.
func TestTrialThatHangs(t *testing.T) {
	t.Parallel()
	for name, hang := range map[string]func(){
		"hangs":  func() { time.Sleep(10 * time.Minute) },
		"panics": func() { panic("no") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &server{contract: contract.MustBuiltin("terra"), script: map[string][]any{"get": {errWay}}, began: time.Now()}
				shared := recovery.NewShared()
				get := func(session recovery.Session[*mcp.CallToolParams, *mcp.CallToolResult]) (err error) {
					defer func() {
						if p := recover(); p != nil {
							err = fmt.Errorf("panic: %v", p)
						}
					}()
					_, err = recovery.New(session, s.contract, recovery.WithShared(shared), recovery.WithNature("get", retry.Reads)).
						CallTool(t.Context(), &mcp.CallToolParams{Name: "get"})
					return err
				}
				if get(s) == nil {
					t.Fatal("the call succeeded")
				}
				var all sync.WaitGroup
				for range 3 {
					all.Go(func() { _ = get(s) }) // fails, and opens the circuit
				}
				all.Wait()
				s.script["get"] = []any{done}
				time.Sleep(time.Minute)
				all.Go(func() { _ = get(sessionFunc(hang)) }) // hangs or panics
				synctest.Wait()
				began := time.Now()
				if err := get(s); err != nil || time.Since(began) < 29*time.Second || time.Since(began) > time.Minute {
					t.Errorf("%v after %s", err, time.Since(began))
				}
				all.Wait()
			})
		})
	}
}

// A sessionFunc runs a function instead of a call, and returns no result.
type sessionFunc func()

func (f sessionFunc) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	f()
	return nil, errors.New("no answer")
}
