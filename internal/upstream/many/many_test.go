package many_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// A target is what a list says about a server.
type target struct {
	Outcome    string   `json:"outcome"`
	Message    string   `json:"message"`
	Listed     int      `json:"listed"`
	AsOf       string   `json:"asOf"`
	Truncated  bool     `json:"truncated"`
	Collisions []string `json:"collisions"`
	Shadowed   []string `json:"shadowed"`
}

func targets(tb testing.TB, a *testkit.Answer) map[string]target {
	tb.Helper()
	var result struct {
		Meta struct {
			Targets map[string]target `json:"io.github.recoursehq/targets"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(a.Message.Result, &result); err != nil {
		tb.Fatal(err)
	}
	return result.Meta.Targets
}

func TestManyOffersAllServers(t *testing.T) {
	t.Parallel()
	for _, form := range []testkit.AnswerForm{testkit.JSON, testkit.SSE} {
		for _, serverEra := range testkit.Eras {
			t.Run(form.String()+" "+serverEra.String(), func(t *testing.T) {
				t.Parallel()
				testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
					f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed, "", testkit.WithForm(form), testkit.WithEra(serverEra))
					c := f.Client(t, era)
					a := c.MustListTools(t)
					own := []string{"get_field", "order_create", "order_get", "echo", "ask", "progress"}
					want := slices.Clone(own)
					for _, name := range own {
						want = append(want, "shop_"+name)
					}
					if diff := cmp.Diff(want, a.ToolNames(t)); diff != "" {
						t.Errorf("tools (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff(map[string]target{"farm": {Outcome: "ok", Listed: 6}, "shop": {Outcome: "ok", Listed: 6}}, targets(t, a)); diff != "" {
						t.Errorf("targets (-want +got):\n%s", diff)
					}
					if got := c.MustCall(t, "shop_echo", `{"message":"hello"}`).Result(t).Text(); got != "hello" {
						t.Errorf("echo: got %q", got)
					}
					c.MustCall(t, "order_create", `{"reference":"A","amount":1}`).Result(t)
					if n, m := f.Farm.Orders("A"), f.Shop.Orders("A"); n != 1 || m != 0 {
						t.Errorf("got %d orders at farm and %d at shop", n, m)
					}
				})
			})
		}
	}
}

// While a server is down, its tools stay listed, and a call of them names the server.
func TestManyServerIsAway(t *testing.T) {
	t.Parallel()
	testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
		f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed, "")
		c := f.Client(t, era)
		before := c.MustListTools(t).ToolNames(t)
		if err := f.Shop.Stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(fresh)
		began := time.Now()
		a := c.MustListTools(t)
		if diff := cmp.Diff(before, a.ToolNames(t)); diff != "" {
			t.Errorf("tools (-want +got):\n%s", diff)
		}
		if got := targets(t, a)["shop"]; got.Outcome != "unreachable" || got.Listed != 6 || got.AsOf == "" || !strings.Contains(got.Message, "shop") {
			t.Errorf("shop: got %+v", got)
		}
		result := c.MustCall(t, "shop_echo", `{"message":"hello"}`).Result(t)
		if !result.IsError || !strings.Contains(result.Text(), "shop") {
			t.Errorf("the call: got %q", result.Text())
		}
		if got := c.MustCall(t, "echo", `{"message":"hello"}`).Result(t).Text(); got != "hello" {
			t.Errorf("farm: got %q", got)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("the call took %v", took)
		}
		if err := f.Shop.Start(); err != nil {
			t.Fatal(err)
		}
		if got := c.MustCall(t, "shop_echo", `{"message":"again"}`).Result(t).Text(); got != "again" {
			t.Errorf("after shop is back: got %q", got)
		}
		if got := targets(t, c.MustListTools(t))["shop"]; got.Outcome != "ok" {
			t.Errorf("after shop is back: got %+v", got)
		}
	})
}

// A slow server delays a list up to the deadline. When its part arrives, listeners are notified.
func TestManyServerIsSlow(t *testing.T) {
	t.Parallel()
	testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
		f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed+", deadline: 1s", "")
		c := f.Client(t, era)
		f.Shop.Next("tools/list", faults.Hang())
		began := time.Now()
		a := c.MustListTools(t)
		if took := time.Since(began); took > 1100*time.Millisecond {
			t.Errorf("the list took %v", took)
		}
		if got := targets(t, a)["shop"]; got.Outcome != "late" || got.Listed != 0 {
			t.Errorf("shop: got %+v", got)
		}
		time.Sleep(30 * time.Second) // until the gateway gives up the slow request
		synctest.Wait()
		if got := len(c.MustListTools(t).ToolNames(t)); got != 12 {
			t.Errorf("later: got %d tools", got)
		}
	})
}

// A server that hangs from the start does not delay calls of others, and delays lists only up to the deadline.
func TestManyServerHangsFromTheStart(t *testing.T) {
	t.Parallel()
	testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
		f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed+", deadline: 500ms", "")
		for _, method := range []string{"server/discover", "initialize", "tools/list", "tools/call"} {
			f.Farm.Always(method, faults.Hang())
		}
		began := time.Now()
		c := f.Client(t, era)
		a := c.MustListTools(t)
		if got := targets(t, a); got["farm"].Outcome != "late" || got["shop"].Outcome != "ok" {
			t.Errorf("got %+v", got)
		}
		if took := time.Since(began); took > 1200*time.Millisecond {
			t.Errorf("connecting and listing took %v", took)
		}
		began = time.Now()
		for range 10 {
			c.MustCall(t, "shop_echo", `{"message":"hello"}`).Result(t)
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("calls of the other server took %v", took)
		}
	})
}

// Observers get one outcome for each call, of the server that carried it out.
func TestManyCallsAreToldOnce(t *testing.T) {
	t.Parallel()
	testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
		f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed, "")
		var told ends
		f.Gateway.Observe(&told)
		c := f.Client(t, era)
		c.MustCall(t, "shop_echo", `{"message":"hello"}`).Result(t)
		f.Shop.Next("echo", faults.ToolError("a failure", "No."))
		c.MustCall(t, "shop_echo", `{"message":"hello"}`).Result(t)
		if _, err := c.Call(t.Context(), "nothing", `{}`); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := []string{"shop echo success", "shop echo failure", "farm  failure"}
		if diff := cmp.Diff(want, told.calls()); diff != "" {
			t.Errorf("outcomes of calls (-want +got):\n%s", diff)
		}
	})
}

// ends collects how tool calls ended.
type ends struct {
	mu   sync.Mutex
	told []string
}

// Ended implements [observe.Observer].
func (e *ends) Ended(o *observe.Outcome) {
	if o.Method != "tools/call" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, o.Server+" "+o.Tool+" "+o.End)
}

func (e *ends) calls() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.told)
}
