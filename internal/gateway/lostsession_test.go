package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// withSessions are the ways in to a server that has sessions.
func withSessions(keys ...string) []wayIn {
	var all []wayIn
	for _, way := range waysIn(keys...) {
		switch {
		case way.name == "direct, legacy", way.name == "bridge, modern", strings.HasPrefix(way.name, "many over a bridge"):
			all = append(all, way)
		}
	}
	return all
}

// A 404 for a session is the server's word that it did nothing with the call. If it opens no other session, the call is
// not sent again, and what the client is told is no reason to send it again either.
func TestWriteWithoutANewSession(t *testing.T) {
	t.Parallel()
	reopening := map[string]testkit.Fault{
		"reset":              faults.ResetBeforeAnswer(),
		"closed":             faults.CloseAfterHeaders(),
		"502":                faults.StatusWith("502", http.StatusBadGateway, "text/html", "<h1>Bad Gateway</h1>"),
		"503":                faults.StatusWith("503", http.StatusServiceUnavailable, "text/plain", "no"),
		"500":                faults.StatusWith("500", http.StatusInternalServerError, "text/plain", "no"),
		"404":                faults.StatusWith("404", http.StatusNotFound, "text/plain", "no"),
		"400":                faults.StatusWith("400", http.StatusBadRequest, "text/plain", "no"),
		"429":                faults.StatusWith("429", http.StatusTooManyRequests, "text/plain", "no"),
		"a JSON-RPC error":   faults.RPCError("error", -32603, "no", ""),
		"HTML":               faults.HTMLWith200(),
		"an unknown version": faults.Result("version", `{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`),
	}
	for _, way := range withSessions("timeout: 3s") {
		for name, fault := range reopening {
			t.Run(way.name+", "+name, func(t *testing.T) {
				t.Parallel()
				o := way.open(t)
				o.srv.Always("initialize", fault)
				o.losesOrder(t, 1)
			})
		}
	}
}

// losesOrder makes a write whose session the server does not know, and checks that it was sent so many times and is told as
// one that has done nothing and is not to be repeated as it is.
func (o *opened) losesOrder(t *testing.T, times int) {
	t.Helper()
	o.srv.Always(testkit.OrderCreate, faults.StatusWith("lost", http.StatusNotFound, "text/plain", "session not found"))
	a, err := o.Call(t.Context(), testkit.OrderCreate, `{"reference":"A-17","amount":1}`)
	if err != nil {
		t.Fatal(err)
	}
	if n := o.srv.Attempts(testkit.OrderCreate); n != times {
		t.Errorf("the call was sent %d times", n)
	}
	e := gatewaytest.Record(t, a)
	if e.Effect != recourse.EffectNone || e.Upstream.Status != http.StatusNotFound || e.Retry == recourse.RetrySameCall ||
		strings.Contains(string(a.Body), "Safe to repeat") {
		t.Errorf("got %s", a.Body)
	}
}

// A server that knows no session at all, not even the one that it has just opened, gets a write twice at most.
func TestWriteInASessionThatIsLostAgain(t *testing.T) {
	t.Parallel()
	for _, way := range withSessions("timeout: 3s") {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			o := way.open(t)
			o.losesOrder(t, 2)
		})
	}
}

// If opening a session fails once, it is opened again, and the write is made once, in the new session.
func TestWriteInASessionThatOpensLate(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.InMemory())
	client := gatewaytest.Start(t, srv.URL(), "timeout: 10s").Client(t, testkit.Legacy)
	srv.ForgetSessions()
	srv.Next("initialize", faults.StatusWith("503", http.StatusServiceUnavailable, "text/plain", "starting"))
	if result := client.MustCall(t, testkit.OrderCreate, `{"reference":"A-17","amount":1}`).Result(t); result.IsError {
		t.Errorf("got %+v", result)
	}
	if n := srv.Orders("A-17"); n != 1 {
		t.Errorf("created %d times", n)
	}
}

// A code of the other era, with status 400, is only believed if the server is of that era: a server that goes on as before
// gets a write once.
func TestWriteRefusedInCodesOfTheOtherEra(t *testing.T) {
	t.Parallel()
	for _, way := range waysIn("timeout: 3s") {
		for code, data := range map[int]string{
			-32020: ``, -32022: `{"supported":["2025-11-25"],"requested":"2026-07-28"}`, -32021: `{"requiredCapabilities":{}}`,
		} {
			t.Run(way.name, func(t *testing.T) {
				t.Parallel()
				o := way.open(t)
				o.srv.Always(testkit.OrderCreate, faults.RPCStatus("refused", http.StatusBadRequest, code, "no", data))
				a, err := o.Call(t.Context(), testkit.OrderCreate, `{"reference":"A-17","amount":1}`)
				if err != nil {
					t.Fatal(err)
				}
				if n := o.srv.Attempts(testkit.OrderCreate); n != 1 {
					t.Errorf("%d: the call was sent %d times: %s", code, n, a.Body)
				}
			})
		}
	}
}

// A client of the modern era has no session, so that nothing advises it to open one and call again, whatever the server says.
func TestNoSessionForModernClients(t *testing.T) {
	t.Parallel()
	for _, way := range waysIn("timeout: 3s") {
		if way.era != testkit.Modern {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			o := way.open(t)
			o.srv.Always(testkit.OrderCreate, faults.RPCStatus("refused", http.StatusBadRequest, -32000, "Bad Request: No valid session ID provided", ""))
			a, err := o.Call(t.Context(), testkit.OrderCreate, `{"reference":"A-17","amount":1}`)
			if err != nil {
				t.Fatal(err)
			}
			if n := o.srv.Attempts(testkit.OrderCreate); n != 1 || strings.Contains(string(a.Body), "then call again") {
				t.Errorf("sent %d times: %s", n, a.Body)
			}
		})
	}
}

// The same if the gateway has lost the session.
func TestStdioOpensItsSessionAgain(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	g, _ := gatewaytest.Before(t, srv)
	h := gatewaytest.StartHost(t, g)
	h.Initialize()
	if err := srv.Await(t.Context(), func() bool { return srv.Streams() == 1 }); err != nil {
		t.Fatal(err)
	}
	gateway.ForgetSessions(g, gatewaytest.Path)
	h.Send(gatewaytest.EchoLine("1", "a"), gatewaytest.EchoLine("2", "b"))
	got := map[string]bool{}
	for range 2 {
		m := h.Next()
		got[m.Outcome()] = true
	}
	if diff := cmp.Diff(map[string]bool{"1 a": true, "2 b": true}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if n := srv.Messages("initialize"); n != 2 {
		t.Errorf("got %d sessions, want 2", n)
	}
}
