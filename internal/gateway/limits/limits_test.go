package limits_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

const headerRateLimit = "Ratelimit"

const hi = `{"message":"m"}`

// pass makes calls of echo that must all pass.
func pass(tb testing.TB, c *testkit.Client, calls int) {
	tb.Helper()
	for range calls {
		if a := c.MustCall(tb, testkit.Echo, hi); !a.Succeeded() {
			tb.Fatalf("got refusal %s", a.Body)
		}
	}
}

// overLimit makes a call of echo that must be refused, and returns the record.
func overLimit(tb testing.TB, c *testkit.Client) *recourse.Error {
	tb.Helper()
	a := c.MustCall(tb, testkit.Echo, hi)
	if a.Succeeded() {
		tb.Fatalf("got %s, want a refusal", a.Body)
	}
	return gatewaytest.Record(tb, a)
}

// A call over the limit is refused without reaching the server, in both eras, until the reported wait is over.
func TestLimitRefuses(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		testkit.Virtual(t, era.String(), func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			f := gatewaytest.Start(t, srv.URL(), "limits: {minute: {calls: 3/1m}, month: {calls: 100/30d, by: [server, tool]}}")
			c := f.Client(t, era)
			for range 3 {
				pass(t, c, 1)
				time.Sleep(1234567 * time.Microsecond)
			}
			now := time.Now()
			a := c.MustCall(t, testkit.Echo, hi)
			e := gatewaytest.Record(t, a)
			want := &recourse.Error{
				Kind: recourse.KindRateLimited, Code: "rate_limited", Contract: "recourse",
				Message: "The limit of 3 calls in 1 min has been reached.", Hints: []string{"Safe to repeat: wait 57 s, then make the same call again."},
				Retry: recourse.RetrySameCall, RetryAfter: 57 * time.Second, Effect: recourse.EffectNone, EffectBasis: recourse.BasisKnown, Origin: recourse.OriginGateway,
				Quotas: []recourse.Quota{
					{Policy: "minute", Limit: 3, Window: time.Minute, ResetAt: now.Add(56297 * time.Millisecond).Truncate(time.Millisecond).UTC()},
					{Policy: "month", Limit: 100, Window: 30 * 24 * time.Hour, Remaining: 97, Partition: "echo"},
				},
				RequestID: a.Header.Get("X-Request-Id"),
			}
			want.Quotas[1].ResetAt = e.Quotas[1].ResetAt
			if diff := cmp.Diff(jsonOf(t, want), jsonOf(t, e)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
			checkHeaders(t, a.Header, map[string]string{
				"Retry-After": "57", "X-RateLimit-Limit": "3", "X-RateLimit-Remaining": "0",
				"X-RateLimit-Reset": strconv.FormatInt(now.Add(57296*time.Millisecond).Unix(), 10),
				"RateLimit-Policy":  `"minute";q=3;w=60, "month";q=100;w=2592000`,
				"RateLimit":         `"minute";r=0;t=57, "month";r=97;t=2591999`,
			})
			if n := srv.Executions(testkit.Echo); n != 3 {
				t.Errorf("got %d calls at the server", n)
			}
			time.Sleep(time.Until(e.Quotas[0].ResetAt) - time.Millisecond)
			if left := overLimit(t, c).Quotas[0]; !left.ResetAt.Equal(e.Quotas[0].ResetAt) {
				t.Errorf("got resets %s and %s, want the same", e.Quotas[0].ResetAt, left.ResetAt)
			}
			time.Sleep(time.Millisecond)
			pass(t, c, 1)
			_ = overLimit(t, c)
		})
	}
}

func jsonOf(tb testing.TB, e *recourse.Error) string {
	tb.Helper()
	text, err := e.MarshalJSON()
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func checkHeaders(tb testing.TB, got http.Header, want map[string]string) {
	tb.Helper()
	for name, value := range want {
		if got.Get(name) != value {
			tb.Errorf("%s: got %q, want %q", name, got.Get(name), value)
		}
	}
}

// Each contract has its own form of a refusal, with the same wait in the record, the headers and the text.
func TestLimitInEveryContract(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ minute, month string }{
		"recourse": {
			"[rate_limited] The limit of 2 calls in 1 min has been reached.\nSafe to repeat: wait 58 s, then make the same call again.",
			"[quota_exhausted] The limit of 2 calls in 30 d has been reached.\nNothing was done. Do not repeat the call before 30 d have passed.",
		},
		"fieldmcp": {
			`{"error":"Rate limit exceeded. Try again in 58 seconds.","errorCode":429,"rateLimits":` +
				`{"minuteRemaining":0,"minuteResetAt":RESET,"monthlyRemaining":998,"monthlyResetAt":OTHER}}`,
			`{"error":"Rate limit exceeded. Try again in 2592000 seconds.","errorCode":429,"rateLimits":` +
				`{"minuteRemaining":998,"minuteResetAt":OTHER,"monthlyRemaining":0,"monthlyResetAt":RESET}}`,
		},
		"commerce": {
			`{"code":3001,"message":"The limit of 2 calls in 1 min has been reached.","retryable":true,"details":{"reason":"rate_limited",` +
				`"suggestion":"Wait 58 s, then repeat the call.","context":{"name":"RATE_LIMIT_EXCEEDED","category":"System","retryAfter":58,"requestId":"ID"}}}`,
			`{"code":3001,"message":"The limit of 2 calls in 30 d has been reached.","retryable":true,"details":{"reason":"rate_limited",` +
				`"suggestion":"Wait 30 d, then repeat the call.","context":{"name":"RATE_LIMIT_EXCEEDED","category":"System","retryAfter":2592000,"requestId":"ID"}}}`,
		},
		"studies": {
			"[rate_limited] The limit of 2 calls in 1 min has been reached. Suggestions: Back off for 58 s and retry",
			"[rate_limited] The limit of 2 calls in 30 d has been reached. Suggestions: Back off for 30 d and retry",
		},
		"patterns": {
			"Invalid request: The limit of 2 calls in 1 min has been reached. Try again in 58 s.",
			"Invalid request: The limit of 2 calls in 30 d has been reached. Try again in 2592000 s.",
		},
		"terra": {
			"The limit of 2 calls in 1 min has been reached. Try again in 58 s.",
			"The limit of 2 calls in 30 d has been reached. The quota is renewed in 30 d.",
		},
	}
	for contract, test := range tests {
		for name, way := range map[string]struct{ limits, want, wait string }{
			"minute": {"{minute: {calls: 2/1m}, month: {calls: 1000/30d}}", test.minute, "58"},
			"month":  {"{minute: {calls: 1000/1m, by: [address]}, month: {calls: 2/30d}}", test.month, "2592000"},
		} {
			for _, era := range testkit.Eras {
				testkit.Virtual(t, contract+" "+name+" "+era.String(), func(t *testing.T) {
					srv := testkit.NewServer(t, testkit.InMemory())
					f := gatewaytest.Start(t, srv.URL(), "contract: "+contract, "limits: "+way.limits)
					c := testkit.NewClient(t, f.URL, era)
					if contract == "terra" {
						c.Header = http.Header{"Dev-Id": {"dev"}, "X-Api-Key": {"key"}}
					}
					if era == testkit.Legacy {
						c.MustInitialize(t)
					}
					reset := time.Now().Add(time.Minute)
					pass(t, c, 1)
					time.Sleep(2500 * time.Millisecond)
					pass(t, c, 1)
					if name == "month" { // both calls leave the window together, since they are in the same sixtieth of it
						reset = time.Now().Add(30 * 24 * time.Hour)
					}
					a := c.MustCall(t, testkit.Echo, hi)
					got := string(a.Body)
					if a.Status == http.StatusTooManyRequests {
						checkHeaders(t, a.Header, map[string]string{"Content-Type": "application/json"})
					} else {
						result, err := a.ToolResult()
						if err != nil || a.Status != http.StatusOK {
							t.Fatalf("got HTTP %d %s: %v", a.Status, a.Body, err)
						}
						got = result.Text()
						if e := gatewaytest.Record(t, a); seconds(e.RetryAfter) != way.wait || !e.Quotas[0].ResetAt.Equal(reset) {
							t.Errorf("got %s", jsonOf(t, e))
						}
					}
					if (contract == "fieldmcp") != (a.Status == http.StatusTooManyRequests) {
						t.Errorf("got HTTP %d", a.Status)
					}
					want := strings.NewReplacer("ID", a.Header.Get("X-Request-Id"), "RESET", strconv.FormatInt(reset.UnixMilli(), 10),
						"OTHER", other(a.Body, reset)).Replace(way.want)
					if got != want {
						t.Errorf("got\n%s\nwant\n%s", got, want)
					}
					checkHeaders(t, a.Header, map[string]string{
						"Retry-After": way.wait, "X-RateLimit-Limit": "2", "X-RateLimit-Remaining": "0",
						"X-RateLimit-Reset": strconv.FormatInt(reset.Add(time.Second-1).Unix(), 10),
					})
					if !strings.HasPrefix(a.Header.Get(headerRateLimit), `"`+name+`";r=0;t=`+way.wait) {
						t.Errorf("got RateLimit %s", a.Header.Get(headerRateLimit))
					}
				})
			}
		}
	}
}

func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }

// other returns the reset in a body of fieldmcp that differs from reset.
func other(body []byte, reset time.Time) string {
	var said struct {
		RateLimits map[string]int64 `json:"rateLimits"`
	}
	_ = json.Unmarshal(body, &said) // bodies of other contracts have none
	for name, value := range said.RateLimits {
		if strings.HasSuffix(name, "ResetAt") && value != reset.UnixMilli() {
			return strconv.FormatInt(value, 10)
		}
	}
	return "none"
}

// Over stdio, where there is no HTTP status, the host gets the contract's JSON-RPC code.
func TestLimitOverStdio(t *testing.T) {
	t.Parallel()
	for contract, want := range map[string]string{"recourse": "[rate_limited] ", "fieldmcp": `"code":"RATE_LIMIT_ORG"`} {
		t.Run(contract, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			g, _ := gatewaytest.New(t, fmt.Sprintf("servers: {farm: {url: '%s', contract: %s, limits: {minute: {calls: 1/1m}}}}\n", srv.URL(), contract))
			h := gatewaytest.StartHost(t, g)
			h.Initialize()
			h.Send(gatewaytest.EchoLine("1", "m"))
			if m := h.Next(); m.Outcome() != "1 m" {
				t.Fatal(m.Outcome())
			}
			h.Send(gatewaytest.EchoLine("2", "m"))
			if m := h.Next(); m.Outcome() != "2 failed" || !strings.Contains(m.Result.Content[0].Text, want) {
				t.Errorf("got %s: %+v", m.Outcome(), m.Result)
			}
		})
	}
}

// With limit_headers, successes have headers about what remains, without the server's own limits.
func TestLimitHeadersOfSuccesses(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		f := gatewaytest.Start(t, srv.URL(), "limit_headers: true", "limits: {month: {calls: 17000/30d}, minute: {calls: 100/1m}, one: {at_once: 1}}")
		c := f.Client(t, testkit.Modern)
		pass(t, c, 2)
		time.Sleep(time.Second)
		checkHeaders(t, c.MustCall(t, testkit.Echo, hi).Header, map[string]string{
			"X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "97", "Retry-After": "",
			"RateLimit-Policy": `"month";q=17000;w=2592000, "minute";q=100;w=60`,
			"RateLimit":        `"month";r=16997;t=2592000, "minute";r=97;t=59`,
		})
		srv.Next(testkit.Echo, faults.ToolError("wrong argument", "[missing_param] message is missing."))
		checkHeaders(t, c.MustCall(t, testkit.Echo, hi).Header, map[string]string{"X-RateLimit-Remaining": "97"}) // the call did not count
	})
	testkit.Virtual(t, "none by default", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		f := gatewaytest.Start(t, srv.URL(), "limits: {minute: {calls: 100/1m}}")
		a := f.Client(t, testkit.Modern).MustCall(t, testkit.Echo, hi)
		checkHeaders(t, a.Header, map[string]string{"X-RateLimit-Remaining": "", "RateLimit": ""})
	})
}

// A limit counts each tool call that was sent to the server once, however it ended. It does not count calls with wrong arguments,
// calls that were never sent, and other methods.
func TestWhatLimitsCount(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		do      func(t *testing.T, c *testkit.Client, srv *testkit.Server)
		charged int
	}{
		"a success":                            {func(t *testing.T, c *testkit.Client, _ *testkit.Server) { t.Helper(); pass(t, c, 1) }, 1},
		"a failed tool":                        {failing(faults.ToolError("failed", "the field is gone")), 1},
		"a server error":                       {failing(faults.Status(http.StatusInternalServerError, faults.None)), 1},
		"a hung server":                        {failing(faults.Hang()), 1},
		"a broken answer":                      {failing(faults.TruncatedJSON()), 1},
		"a lost resource":                      {failing(faults.ToolError("not found", "[not_found] There is no field F-9.")), 1},
		"a repeated call":                      {failing(faults.ResetBeforeAnswer(), faults.ResetBeforeAnswer()), 1},
		"a refused token":                      {failing(faults.Unauthorized()), 1},
		"an argument that the server refuses":  {failing(faults.RPCError("invalid params", -32602, "message is missing", "")), 0},
		"a request that the server refuses":    {failing(faults.RPCError("invalid request", -32600, "the request is not valid", "")), 0},
		"an argument that the tool refuses":    {failing(faults.ToolError("wrong", "[invalid_value] message is too short.")), 0},
		"an argument that the gateway refuses": {calling(testkit.Echo, `{"message":5}`), 0},
		"an unknown tool":                      {calling("no_such_tool", `{}`), 0},
		"a list": {func(t *testing.T, c *testkit.Client, _ *testkit.Server) {
			t.Helper()
			if a, err := c.ListTools(t.Context()); err != nil || a.Status != http.StatusOK {
				t.Fatalf("got %+v, %v", a, err)
			}
		}, 0},
		"a client that has gone": {func(t *testing.T, c *testkit.Client, srv *testkit.Server) {
			t.Helper()
			srv.Next(testkit.Echo, faults.Hang())
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, _ = c.Call(ctx, testkit.Echo, hi) // cancelled
			time.Sleep(time.Second)
		}, 1},
		"a server that is down": {func(t *testing.T, c *testkit.Client, srv *testkit.Server) {
			t.Helper()
			if err := srv.Stop(); err != nil {
				t.Fatal(err)
			}
			_ = c.MustCall(t, testkit.Echo, hi)
			if err := srv.Start(); err != nil {
				t.Fatal(err)
			}
		}, 1},
	}
	for name, test := range tests {
		for _, era := range testkit.Eras {
			testkit.Virtual(t, name+" "+era.String(), func(t *testing.T) {
				srv := testkit.NewServer(t, testkit.InMemory())
				f := gatewaytest.Start(t, srv.URL(), gatewaytest.UntilDeadline, "limits: {day: {calls: 3/1d, by: [server]}}")
				c := f.Client(t, era)
				if a, err := c.ListTools(t.Context()); err != nil || a.Status != http.StatusOK {
					t.Fatalf("got %+v, %v", a, err)
				}
				test.do(t, c, srv)
				srv.Behave()
				pass(t, c, 3-test.charged)
				if e := overLimit(t, c); e.Kind != recourse.KindQuotaExhausted {
					t.Errorf("got %s", jsonOf(t, e))
				}
			})
		}
	}
}

// failing makes a call that the server answers with answers, one for each attempt.
func failing(answers ...testkit.Fault) func(*testing.T, *testkit.Client, *testkit.Server) {
	return func(t *testing.T, c *testkit.Client, srv *testkit.Server) {
		t.Helper()
		srv.Next(testkit.Echo, answers...)
		_ = c.MustCall(t, testkit.Echo, hi)
	}
}

func calling(tool, arguments string) func(*testing.T, *testkit.Client, *testkit.Server) {
	return func(t *testing.T, c *testkit.Client, _ *testkit.Server) {
		t.Helper()
		if a := c.MustCall(t, tool, arguments); a.Message != nil && a.Message.Error == nil && a.Succeeded() {
			t.Errorf("got %s", a.Body)
		}
	}
}

// The keys of a limit decide what shares it.
func TestLimitKeys(t *testing.T) {
	t.Parallel()
	token := func(value string) http.Header { return http.Header{"Authorization": {"Bearer " + value}} }
	tests := map[string]struct {
		limit string
		both  bool // two callers share the limit
		tools bool // two tools share the limit
	}{
		"caller":          {"{calls: 2/1m}", false, true},
		"server":          {"{calls: 2/1m, by: [server]}", true, true},
		"address":         {"{calls: 2/1m, by: [address]}", true, true},
		"tool":            {"{calls: 2/1m, by: [tool]}", true, false},
		"caller and tool": {"{calls: 2/1m, by: [caller, tool]}", false, false},
		"one tool":        {"{calls: 2/1m, by: [server], tools: [ech*]}", true, false},
	}
	for name, test := range tests {
		testkit.Virtual(t, name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			f := gatewaytest.Start(t, srv.URL(), "forward: [authorization, x-trace]", "limits: {minute: "+test.limit+"}")
			ann, bob := f.Client(t, testkit.Modern), f.Client(t, testkit.Modern)
			ann.Header, bob.Header = token("ann"), token("bob")
			pass(t, ann, 2)
			ann.Header.Set("X-Trace", "another") // does not identify a caller
			if e := overLimit(t, ann); strings.Contains(jsonOf(t, e), "ann") {
				t.Errorf("credentials are shown: %s", jsonOf(t, e))
			}
			if shared := !bob.MustCall(t, testkit.Echo, hi).Succeeded(); shared != test.both {
				t.Errorf("two callers share the limit: got %t", shared)
			}
			if shared := !ann.MustCall(t, testkit.GetField, `{"field_id":"F-1"}`).Succeeded(); shared != test.tools {
				t.Errorf("two tools share the limit: got %t", shared)
			}
		})
	}
}

// An unverified identity does not get a limit of its own.
func TestLimitOfTheUnknown(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		f := gatewaytest.Start(t, srv.URL(), "limits: {minute: {calls: 2/1m}}")
		c := f.Client(t, testkit.Modern)
		for i := range 4 {
			c.Header = http.Header{"Authorization": {fmt.Sprint("Bearer ", i)}, "X-Forwarded-For": {fmt.Sprint("10.0.0.", i)}}
			if passes := c.MustCall(t, testkit.Echo, hi).Succeeded(); passes != (i < 2) {
				t.Errorf("call %d: got passed %t", i, passes)
			}
		}
	})
}

// With mode observe, the server gets every call; the log says which ones would have been refused.
func TestLimitObserves(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		f := gatewaytest.Start(t, srv.URL(), "mode: observe", "limits: {minute: {calls: 1/1m}, one: {at_once: 1}}")
		c := f.Client(t, testkit.Modern)
		pass(t, c, 3)
		lines := f.Log.Failures(t)
		if len(lines) != 2 || lines[0].Msg != "observed" || lines[0].Kind != "rate_limited" {
			t.Errorf("got %+v", lines)
		}
	})
}

// A reload keeps the counts of unchanged limits.
func TestLimitsOutliveAReload(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		with := func(title, limits string) string {
			return fmt.Sprintf("servers: {farm: {url: '%s', title: %s, limits: %s}}\n", srv.URL(), title, limits)
		}
		g, _ := gatewaytest.New(t, with("one", "{minute: {calls: 2/1m}}"))
		c := testkit.NewClient(t, testkit.ServeInMemory(t, g)+"/farm/mcp", testkit.Modern)
		pass(t, c, 2)
		_ = overLimit(t, c)
		gatewaytest.Reload(t, g, with("two", "{minute: {calls: 2/1m}}"))
		_ = overLimit(t, c)
		gatewaytest.Reload(t, g, with("two", "{minute: {calls: 4/1m}, hour: {calls: 5/1h}}"))
		pass(t, c, 2)
		if e := overLimit(t, c); e.Quotas[0].Policy != "minute" || e.Quotas[1].Remaining != 3 {
			t.Errorf("got %s", jsonOf(t, e))
		}
		gatewaytest.Reload(t, g, with("two", "{}"))
		pass(t, c, 9)
		gatewaytest.Reload(t, g, with("two", "{minute: {calls: 4/1m}}"))
		pass(t, c, 4)
	})
}
