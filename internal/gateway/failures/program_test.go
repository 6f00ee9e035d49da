package failures_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// A JSON-RPC error to another method than tools/call is for the client's program: it keeps the server's code and data,
// also with status 400, and gets the record.
func TestErrorsForTheProgram(t *testing.T) {
	t.Parallel()
	const body = `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Resource not found","data":{"uri":"test://x"}}}`
	srv := testkit.NewServer(t, testkit.WithEra(testkit.Modern))
	f := gatewaytest.Start(t, srv.URL())
	client := f.Client(t, testkit.Modern)
	for _, fault := range []testkit.Fault{
		faults.StatusWith("400 with a JSON-RPC error", http.StatusBadRequest, "application/json", body),
		faults.RPCError("JSON-RPC error", -32602, "Resource not found", `{"uri":"test://x"}`),
	} {
		srv.Always(testkit.EveryMessage, fault)
		for method, params := range map[string]string{
			"completion/complete": `{"uri":"test://x"}`,
			"tools/call":          `{"name":"order_create","arguments":{},"requestState":"tampered"}`,
		} {
			a := client.MustRequest(t, "1", method, params)
			if a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != -32602 {
				t.Fatalf("%s, %s: got HTTP %d %s", fault.Name, method, a.Status, a.Body)
			}
			data := string(a.Message.Error.Data)
			if !strings.Contains(data, `"uri":"test://x"`) || !strings.Contains(data, recourse.MetaKey) {
				t.Errorf("%s, %s: got data %s", fault.Name, method, data)
			}
		}
	}
}

// A page of the gateway's own origin may call it.
func TestOwnOrigin(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	f := gatewaytest.Start(t, srv.URL())
	client := testkit.NewClient(t, f.URL, testkit.Legacy)
	client.Header = http.Header{"Origin": {strings.TrimSuffix(f.URL, "/farm/mcp")}}
	client.MustInitialize(t)
}

// A legacy server that sends a retry time may close its stream: the client resumes it.
func TestStreamClosedForResumption(t *testing.T) {
	t.Parallel()
	url := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("retry: 10\n\n"))
	}))
	f := gatewaytest.Start(t, url+"/mcp")
	a := testkit.NewClient(t, f.URL, testkit.Legacy).MustRequest(t, "1", "x/invented", `{}`)
	if a.Status != http.StatusOK || string(a.Body) != "retry: 10\n\n" {
		t.Errorf("got HTTP %d %q", a.Status, a.Body)
	}
}
