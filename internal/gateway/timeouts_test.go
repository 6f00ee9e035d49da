package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// wantTimeout checks that a call ended with a timeout after want.
func wantTimeout(t *testing.T, a *testkit.Answer, want time.Duration) {
	t.Helper()
	e := gatewaytest.Record(t, a)
	if e.Kind != recourse.KindTimeout || e.Origin != recourse.OriginGateway || !strings.Contains(e.Message, recourse.FormatWait(want)) {
		t.Errorf("got %s of %s: %s; want a timeout after %v", e.Kind, e.Origin, e.Message, want)
	}
	if a.Took != want {
		t.Errorf("got the answer after %v, want %v", a.Took, want)
	}
}

// A tool may have its own timeout, longer or shorter than the server's.
func TestTimeoutsOfTools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		client := gatewaytest.Start(t, srv.URL(), "timeout: 600ms", "tools: {get_field: {timeout: 300ms}, 'order_*': {timeout: 900ms}}").Client(t, testkit.Modern)
		srv.Always(testkit.EveryMessage, faults.Hang())
		srv.Always("tools/list", testkit.Fault{})
		var wg sync.WaitGroup
		for call, want := range map[[2]string]time.Duration{
			{testkit.GetField, `{"field_id":"F"}`}:                300 * time.Millisecond,
			{testkit.OrderCreate, `{"reference":"A","amount":1}`}: 900 * time.Millisecond,
			{testkit.Echo, `{"message":"m"}`}:                     600 * time.Millisecond,
		} {
			wg.Go(func() {
				a, err := client.Call(t.Context(), call[0], call[1])
				if err != nil {
					t.Error(err)
					return
				}
				wantTimeout(t, a, want)
			})
		}
		wg.Wait()
	})
}

// progressing calls a tool that reports progress.
func progressing(t *testing.T, c *testkit.Client, count, gapMS int) *testkit.Answer {
	t.Helper()
	meta := `{"progressToken":"p"}`
	if c.Era == testkit.Modern {
		meta = `{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	}
	return c.MustRequest(t, "1", "tools/call", fmt.Sprintf(`{"name":"progress","arguments":{"count":%d,"gapMs":%d},"_meta":%s}`, count, gapMS, meta))
}

// Progress extends a call's time, but only up to max_timeout.
func TestProgressAndTimeouts(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		testkit.Virtual(t, era.String(), func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			client := gatewaytest.Start(t, srv.URL(), "timeout: 2s", "max_timeout: 5s").Client(t, era)
			if a := progressing(t, client, 4, 700); !a.Succeeded() || a.Took < 2*time.Second || len(a.Events) != 5 {
				t.Errorf("after %v: got %s", a.Took, a.Body)
			}
			a := progressing(t, client, 100, 700)
			wantTimeout(t, a, 5*time.Second)
			if len(a.Events) < 3 {
				t.Errorf("got %d events, want a few of progress and the timeout", len(a.Events))
			}
			wantTimeout(t, progressing(t, client, 2, 9000), 2*time.Second)
		})
	}
}

// Log messages, comments and single bytes do not extend a call's time.
func TestChatterAndTimeouts(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"log":     "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"working\"}}\n\n",
		"comment": ": still here\n\n",
		"drops":   "a",
	} {
		testkit.Virtual(t, name, func(t *testing.T) {
			url := answering(t, func(w http.ResponseWriter, r *http.Request, _ string) {
				w.Header().Set("Content-Type", "text/event-stream")
				for tick := time.NewTicker(100 * time.Millisecond); ; {
					_, _ = io.WriteString(w, text)
					_ = http.NewResponseController(w).Flush()
					select {
					case <-tick.C:
					case <-r.Context().Done():
						tick.Stop()
						return
					}
				}
			})
			a, err := gatewaytest.Start(t, url, "timeout: 500ms").Client(t, testkit.Modern).Call(t.Context(), "any", `{}`)
			if err != nil {
				t.Fatal(err)
			}
			wantTimeout(t, a, 500*time.Millisecond)
		})
	}
}

// The timeout stops while the server waits for the client's answer to a question.
func TestQuestionsAndTimeouts(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "answered late", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		client := gatewaytest.Start(t, srv.URL(), gatewaytest.UntilDeadline, "max_timeout: 20s").Client(t, testkit.Legacy)
		stream, err := client.OpenCall(t.Context(), testkit.Ask, `{}`)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		question, err := stream.NextMessage()
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * gatewaytest.Deadline)
		if _, err := client.Respond(t.Context(), question.ID, `{"action":"accept"}`); err != nil {
			t.Fatal(err)
		}
		if message, err := stream.NextMessage(); err != nil || !strings.Contains(string(message.Result), "accept") {
			t.Errorf("got %+v, %v", message, err)
		}
	})
	testkit.Virtual(t, "never answered", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		client := gatewaytest.Start(t, srv.URL(), gatewaytest.UntilDeadline, "max_timeout: 2s").Client(t, testkit.Legacy)
		a, err := client.Call(t.Context(), testkit.Ask, `{}`)
		if err != nil {
			t.Fatal(err)
		}
		wantTimeout(t, a, 2*gatewaytest.Deadline)
	})
}

// After the client's answer, the timeout continues.
func TestSilenceAfterAQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		url := testkit.ServeInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			switch {
			case bytes.Contains(body, []byte(`"initialize"`)):
				w.Header().Set("Mcp-Session-Id", "s")
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+idOf(body)+`,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
			case bytes.Contains(body, []byte(`"tools/call"`)):
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/create\",\"params\":{}}\n\n")
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			default:
				w.WriteHeader(http.StatusAccepted)
			}
		}))
		client := gatewaytest.Start(t, url+"/mcp", gatewaytest.UntilDeadline, "max_timeout: 1m").Client(t, testkit.Legacy)
		stream, err := client.OpenCall(t.Context(), "any", `{}`)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		question, err := stream.NextMessage()
		if err != nil {
			t.Fatal(err)
		}
		answered := time.Now()
		if _, err := client.Respond(t.Context(), question.ID, `{"action":"accept"}`); err != nil {
			t.Fatal(err)
		}
		message, err := stream.NextMessage()
		if err != nil || !strings.Contains(string(message.Result), "timeout") {
			t.Errorf("got %+v, %v", message, err)
		}
		if took := time.Since(answered); took > gatewaytest.Deadline {
			t.Errorf("got the timeout after %v", took)
		}
	})
}

// idOf returns the id of a request.
func idOf(body []byte) string {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(body, &m) // a request has an id
	return string(m.ID)
}

// In a total outage, repetitions stay within the retry budget.
func TestOutage(t *testing.T) {
	t.Parallel()
	const calls = 120
	for _, fault := range []testkit.Fault{faults.Status(http.StatusServiceUnavailable, faults.Plain), faults.ResetBeforeAnswer()} {
		testkit.Virtual(t, fault.Name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			f := gatewaytest.Start(t, srv.URL(), "timeout: 5s", "trust_annotations: true")
			srv.Always(testkit.GetField, fault)
			var wg sync.WaitGroup
			for range 6 {
				client := f.Client(t, testkit.Modern)
				wg.Go(func() {
					for range calls / 6 {
						if a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F"}`); err != nil || a.Succeeded() {
							t.Errorf("got %+v, %v", a, err)
						}
					}
				})
			}
			wg.Wait()
			if got, most := srv.Attempts(testkit.GetField), calls*12/10+10; got > most || got < calls+10 {
				t.Errorf("%d calls: got %d attempts, want at most %d", calls, got, most)
			}
			srv.Behave()
			if a, err := f.Client(t, testkit.Modern).Call(t.Context(), testkit.GetField, `{"field_id":"F"}`); err != nil || !a.Succeeded() {
				t.Errorf("after the outage: got %+v, %v", a, err)
			}
		})
	}
}

// If the server cannot be reached, calls fail at once, without an effect.
func TestServerIsDown(t *testing.T) {
	t.Parallel()
	for _, url := range []string{testkit.RefusedURL(), testkit.UnresolvableURL()} {
		for name, code := range map[string]string{"recourse": "unreachable", "fieldmcp": "PROVIDER_UNAVAILABLE"} {
			client := gatewaytest.Start(t, url, "timeout: 20s", "title: The farm", "contract: "+name).Client(t, testkit.Modern)
			for tool, arguments := range map[string]string{
				testkit.GetField: `{"field_id":"F-1"}`, testkit.OrderCreate: `{"reference":"A","amount":1}`,
			} {
				a, err := client.Call(t.Context(), tool, arguments)
				if err != nil {
					t.Fatal(err)
				}
				e := gatewaytest.Record(t, a)
				if e.Kind != recourse.KindUnreachable || e.Code != code || e.Origin != recourse.OriginGateway ||
					e.Effect != recourse.EffectNone || e.Provider != "The farm" {
					t.Errorf("%s: got %s, %s of %s, effect %s, %s", url, e.Kind, e.Code, e.Origin, e.Effect, e.Provider)
				}
				if address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp"); strings.Contains(string(a.Body), address) {
					t.Errorf("%s is in the answer: %s", address, a.Body)
				}
				if a.Took > 10*time.Second {
					t.Errorf("%s: got the answer after %v", url, a.Took)
				}
			}
		}
	}
}

// If the server's wait fits into the timeout, reads and refused writes are repeated after it; any other call fails at once.
func TestWaits(t *testing.T) {
	t.Parallel()
	const get, create = `{"field_id":"F"}`, `{"reference":"A","amount":1}`
	limited, away := faults.Status(http.StatusTooManyRequests, faults.Plain), faults.Status(http.StatusServiceUnavailable, faults.Plain)
	for _, c := range []struct {
		name      string
		fault     testkit.Fault
		tool      string
		arguments string
		attempts  int
		least     time.Duration
		most      time.Duration
	}{
		{"read, a second", limited.With("Retry-After", "1"), testkit.GetField, get, 2, time.Second, 2 * time.Second},
		{"write, a second", limited.With("Retry-After", "1"), testkit.OrderCreate, create, 2, time.Second, 2 * time.Second},
		{"write, nothing stated", limited, testkit.OrderCreate, create, 2, time.Second, 2 * time.Second},
		{"read, too long", limited.With("Retry-After", "30"), testkit.GetField, get, 1, 0, time.Second / 2},
		{"write, too long", limited.With("Retry-After", "30"), testkit.OrderCreate, create, 1, 0, time.Second / 2},
		{"read, away for a second", away.With("Retry-After", "1"), testkit.GetField, get, 2, time.Second, 2 * time.Second},
		{"write, away for a second", away.With("Retry-After", "1"), testkit.OrderCreate, create, 1, 0, time.Second / 2},
		{"read, away, nothing stated", away, testkit.GetField, get, 2, 100 * time.Millisecond, time.Second},
		{"read, away twice, nothing stated", away, testkit.GetField, get, 3, 300 * time.Millisecond, 2 * time.Second},
	} {
		testkit.Virtual(t, c.name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			client := gatewaytest.Start(t, srv.URL(), "timeout: 5s", "trust_annotations: true").Client(t, testkit.Modern)
			for range max(c.attempts-1, 1) {
				srv.Next(c.tool, c.fault)
			}
			a, err := client.Call(t.Context(), c.tool, c.arguments)
			if err != nil {
				t.Fatal(err)
			}
			if repeated := c.attempts > 1; a.Succeeded() != repeated || srv.Attempts(c.tool) != c.attempts || (srv.Executions(c.tool) == 1) != repeated {
				t.Errorf("got %d attempts: %s", srv.Attempts(c.tool), a.Body)
			}
			if a.Took < c.least || a.Took > c.most {
				t.Errorf("got the answer after %v", a.Took)
			}
		})
	}
}
