package inject_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/lab/inject"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// The client's view of each fault, and whether its order is created.
func TestFaults(t *testing.T) {
	t.Parallel()

	reset := func(_ *testkit.Answer, err error) bool { return errors.Is(err, syscall.ECONNRESET) }
	text := func(status int, part string) func(*testkit.Answer, error) bool {
		return func(a *testkit.Answer, err error) bool {
			return err == nil && a.Status == status && strings.Contains(string(a.Body), part)
		}
	}
	tests := []struct {
		fault   string
		orders  int // created orders
		meets   func(a *testkit.Answer, err error) bool
		atLeast time.Duration
	}{
		{"refuse", 0, func(_ *testkit.Answer, err error) bool { return errors.Is(err, io.EOF) }, 0},
		{"reset-before", 0, reset, 0},
		{"reset-before, effect: after", 1, reset, 0},
		{"reset-within", 1, reset, 0},
		{"hang", 0, func(_ *testkit.Answer, err error) bool { return errors.Is(err, context.DeadlineExceeded) }, time.Minute},
		{"hang, effect: after", 1, func(_ *testkit.Answer, err error) bool { return errors.Is(err, context.DeadlineExceeded) }, time.Minute},
		{"{drip: 10ms}", 1, func(a *testkit.Answer, err error) bool {
			return err == nil && a.Message != nil && a.Message.Result != nil
		}, time.Second},
		{"truncate", 1, func(a *testkit.Answer, err error) bool { return err == nil && a.Status == 200 && a.Message == nil }, 0},
		{"wrong-id", 1, func(a *testkit.Answer, err error) bool {
			return err == nil && strings.Contains(string(a.Body), `"id":"no-such-request"`)
		}, 0},
		{"twice", 1, func(a *testkit.Answer, err error) bool {
			return err == nil && strings.Count(string(a.Body), `"result"`) == 2
		}, 0},
		{`{status: 503, headers: {Retry-After: "2"}, body: '{"busy":true}'}`, 0, func(a *testkit.Answer, err error) bool {
			return text(503, `{"busy":true}`)(a, err) && a.Header.Get("Retry-After") == "2" && a.Header.Get("Content-Type") == "application/json"
		}, 0},
		{"{status: 502, html: true}, effect: after", 1, text(502, "<h1>502 Bad Gateway</h1>"), 0},
		{"{contract: fieldmcp, code: PROVIDER_TIMEOUT}", 0, text(200, `"code":"PROVIDER_TIMEOUT"`), 0},
		{"{contract: recourse, code: timeout}, effect: after", 1, text(200, "[timeout]"), 0},
		{"{contract: fieldmcp, code: RATE_LIMIT_ORG, wait: 7s}", 0, text(429, `Try again in 7 seconds.`), 0},
		{"{contract: commerce, code: 2003}", 0, text(200, "2003"), 0},
		{"error-text", 0, text(200, "Error: the request could not be completed"), 0},
		{"{error-text: It broke.}, effect: after", 1, text(200, "It broke."), 0},
	}
	for _, test := range tests {
		for _, form := range []testkit.AnswerForm{testkit.JSON, testkit.SSE} {
			for _, era := range []testkit.Era{testkit.Legacy, testkit.Modern} {
				testkit.Virtual(t, fmt.Sprintf("%s, %v, %v", test.fault, form, era), func(t *testing.T) {
					server := testkit.NewServer(t, testkit.InMemory(), testkit.WithForm(form), testkit.WithEra(era))
					injector, url := front(t, inject.MCP, server.URL(), "rules: [{match: {tool: order_*}, times: 1, fault: "+test.fault+"}]")
					client := connect(t, url, era)
					const arguments = `{"reference":"A-17","amount":500}`
					began := time.Now()
					a, err := client.Call(soon(t), testkit.OrderCreate, arguments)
					if took := time.Since(began); !test.meets(a, err) || took < test.atLeast {
						t.Errorf("after %v: got %+v %v", took, a, err)
					}
					if got := server.Orders("A-17"); got != test.orders {
						t.Errorf("got %d orders, want %d", got, test.orders)
					}
					// The next call succeeds.
					a, err = client.Call(soon(t), testkit.OrderCreate, `{"amount":500, "reference":"A-17"}`)
					if err != nil || a.Message == nil || a.Message.Result == nil {
						t.Errorf("second call: %+v %v", a, err)
					}
					l := injector.Ledger()
					if got := l.Reached(testkit.OrderCreate, `{"amount":500,"reference":"A-17"}`); got != test.orders+1 {
						t.Errorf("got %d calls in the ledger: %+v", got, l)
					}
				})
			}
		}
	}
}

// A JSON answer arrives before the reset; the next call needs a new connection.
func TestResetAfterTheAnswer(t *testing.T) {
	t.Parallel()

	testkit.Virtual(t, "JSON", func(t *testing.T) {
		server := testkit.NewServer(t, testkit.InMemory(), testkit.WithForm(testkit.JSON))
		_, url := front(t, inject.MCP, server.URL(), "rules: [{fault: reset-after}]")
		client := connect(t, url, testkit.Legacy)
		for range 3 {
			a, err := client.Call(soon(t), testkit.Echo, `{"message":"hello"}`)
			if err != nil || a.Message == nil || a.Message.Result == nil {
				t.Errorf("%+v %v", a, err)
			}
			time.Sleep(time.Second) // an immediate call could get the reset of the previous one
		}
	})
}

// Calls that no rule matches pass byte for byte, including streams and questions.
func TestPassesByteForByte(t *testing.T) {
	t.Parallel()

	for _, form := range []testkit.AnswerForm{testkit.JSON, testkit.SSE} {
		testkit.Virtual(t, form.String(), func(t *testing.T) {
			server := testkit.NewServer(t, testkit.InMemory(), testkit.WithForm(form))
			_, url := front(t, inject.MCP, server.URL(), "rules: [{match: {tool: nothing}, fault: hang}]")
			direct, through := connect(t, server.URL(), testkit.Modern), connect(t, url, testkit.Modern)
			for _, call := range []string{testkit.Echo, testkit.Progress, "no_such_tool"} {
				want, err := direct.Call(soon(t), call, `{"message":"\u00fc  x"}`)
				if err != nil {
					t.Fatal(err)
				}
				got, err := through.Call(soon(t), call, `{"message":"\u00fc  x"}`)
				if err != nil || got.Status != want.Status || !bytes.Equal(got.Body, want.Body) {
					t.Errorf("%s: got %d %s %v, want %d %s", call, got.Status, got.Body, err, want.Status, want.Body)
				}
			}
		})
	}
}

// Wrong answers that look right.
func TestSilentFaults(t *testing.T) {
	t.Parallel()

	const page = `{"content":[{"type":"text","text":"{\"total\":3,\"orders\":[1,2,3]}"}],` +
		`"structuredContent":{"total":3,"orders":[{"id":1},{"id":2},{"id":3}],"nextCursor":"c","hasMore":true}}`
	tests := []struct{ fault, want string }{
		{"empty", `{"content":[{"type":"text","text":"{\"total\":3,\"orders\":[]}"}],` +
			`"structuredContent":{"total":3,"orders":[],"nextCursor":"c","hasMore":true}}`},
		{"{cut: 2}", `{"content":[{"type":"text","text":"{\"total\":3,\"orders\":[1,2]}"}],` +
			`"structuredContent":{"total":3,"orders":[{"id":1},{"id":2}],"hasMore":false}}`},
		{"cut", `{"content":[{"type":"text","text":"{\"total\":3,\"orders\":[1]}"}],` +
			`"structuredContent":{"total":3,"orders":[{"id":1}],"hasMore":false}}`},
	}
	for _, test := range tests {
		testkit.Virtual(t, test.fault, func(t *testing.T) {
			tool := testkit.Tool{Name: "orders", Result: func(json.RawMessage) string { return page }}
			server := testkit.NewServer(t, testkit.InMemory(), testkit.WithTools(tool))
			_, url := front(t, inject.MCP, server.URL(), "rules: [{fault: "+test.fault+"}]")
			a, err := connect(t, url, testkit.Legacy).Call(soon(t), "orders", `{}`)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(a.Message.Result)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A stale answer is the first answer to the same call, with the id of the current one.
func TestStaleCopy(t *testing.T) {
	t.Parallel()

	for _, form := range []testkit.AnswerForm{testkit.JSON, testkit.SSE} {
		testkit.Virtual(t, form.String(), func(t *testing.T) {
			server := testkit.NewServer(t, testkit.InMemory(), testkit.WithForm(form))
			injector, url := front(t, inject.MCP, server.URL(), "rules: [{match: {tool: order_get, attempt: [2, 3]}, fault: stale}]")
			client := connect(t, url, testkit.Legacy)
			var seen []string
			for range 4 {
				a, err := client.Call(soon(t), testkit.OrderGet, `{"reference":"A-17"}`)
				if err != nil || a.Message == nil {
					t.Fatalf("%+v %v", a, err)
				}
				seen = append(seen, string(a.Message.Result))
				if _, err := client.Call(soon(t), testkit.OrderCreate, `{"reference":"A-17","amount":1}`); err != nil {
					t.Fatal(err)
				}
			}
			if seen[1] != seen[0] || seen[2] != seen[0] || seen[3] == seen[0] {
				t.Errorf("%q", seen)
			}
			if got := injector.Ledger().Reached(testkit.OrderGet, ""); got != 4 {
				t.Errorf("got %d calls at the server", got)
			}
		})
	}
}

// Messages in a stream before the answer reach the client immediately, although the answer is changed.
func TestStreamBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "progress", func(t *testing.T) {
		server := testkit.NewServer(t, testkit.InMemory(), testkit.WithForm(testkit.SSE))
		_, url := front(t, inject.MCP, server.URL(), "rules: [{fault: {drip: 1s}}]")
		client := connect(t, url, testkit.Legacy)
		began := time.Now()
		stream, err := client.Open(t.Context(), "tools/call",
			`{"name":"progress","arguments":{"count":3,"gapMs":1000},"_meta":{"progressToken":"p"}}`)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		var got []string
		for {
			msg, err := stream.NextMessage()
			if err != nil {
				break
			}
			got = append(got, fmt.Sprint(msg.Method, " after ", time.Since(began).Round(10*time.Second)))
		}
		want := []string{
			"notifications/progress after 0s", "notifications/progress after 0s", "notifications/progress after 0s", " after 1m40s",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
