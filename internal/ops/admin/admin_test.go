package admin_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/ops/admin"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type field struct {
	ID string `json:"id"`
}

// farm serves one tool, which fails for one field and answers 503 to the first call for another.
func farm(t *testing.T) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "farm", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_field"}, func(_ context.Context, _ *mcp.CallToolRequest, f field) (*mcp.CallToolResult, any, error) {
		if f.ID == "gone" {
			return nil, nil, errors.New("there is no field gone")
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: f.ID}}}, nil, nil
	})
	served := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	first := true
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if first && strings.Contains(string(body), `"flaky"`) {
			first = false
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		served.ServeHTTP(w, r)
	}))
	t.Cleanup(ts.Close)
	return ts.URL
}

// gatewayTo starts a gateway in front of a server, and returns its URL and the listener that observes it.
func gatewayTo(t *testing.T, url, more string) (string, *admin.Admin) {
	t.Helper()
	set := contract.Builtin()
	cfg, err := config.Parse("recourse.yaml", []byte("servers:\n  farm:\n    url: "+url+"\n    tools: {get_field: {read_only: true}}\n"+more),
		config.Options{KnownContracts: set.Names()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(cfg, set, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	a := admin.New("v1.2.3", admin.Sources{Gateway: g.Figures, Protections: g.Protections})
	g.Observe(a)
	ts := httptest.NewServer(g)
	t.Cleanup(func() {
		g.Drain()
		ts.Close()
		g.Close()
	})
	return ts.URL, a
}

// get returns the status and the body of an answer.
func get(t *testing.T, a *admin.Admin, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	return w.Code, w.Body.String()
}

// whenIdle returns the metrics after every call has ended: clients have their answers a moment earlier.
func whenIdle(t *testing.T, a *admin.Admin) (status int, text string) {
	t.Helper()
	testkit.Eventually(t, "no call is under way", func() bool {
		status, text = get(t, a, "/metrics")
		return strings.Contains(text, "\nrecourse_requests_in_flight 0\n")
	})
	return get(t, a, "/metrics") // the figures of one answer are not of one moment
}

// connectTo returns a session of an SDK's client.
func connectTo(t *testing.T, url string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url + "/farm/mcp", DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// The calls of an SDK's client are counted: successes, failures, and retries.
func TestMetrics(t *testing.T) {
	t.Parallel()
	url, a := gatewayTo(t, farm(t), "")
	session := connectTo(t, url)
	for _, id := range []string{"F-1", "gone", "flaky"} {
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_field", Arguments: field{id}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 { // unlisted names are not labels
		_, _ = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "made_up", Arguments: field{"F-1"}}) // a failure is counted
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	status, text := whenIdle(t, a)
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	for _, want := range []string{
		`mcp_server_operation_duration_seconds_count{error_type="",gen_ai_tool_name="get_field",mcp_method_name="tools/call",server="farm"} 2`,
		`mcp_server_operation_duration_seconds_count{error_type="not_found",gen_ai_tool_name="get_field",mcp_method_name="tools/call",server="farm"} 1`,
		`mcp_server_operation_duration_seconds_count{error_type="unknown_tool",gen_ai_tool_name="",mcp_method_name="tools/call",server="farm"} 3`,
		`recourse_failures_total{effect="none",gen_ai_tool_name="get_field",kind="not_found",mode="enforce",nature="reads",origin="server",server="farm"} 1`,
		`recourse_attempts_total{error_type="unavailable",reason="",repetition="false",server="farm"} 1`,
		`recourse_attempts_total{error_type="",reason="the tool only reads",repetition="true",server="farm"} 1`,
		`recourse_sessions{server="farm"} 0`,
		`recourse_retry_budget{server="farm"} 9.`,
		`recourse_requests_in_flight 0`,
		`recourse_build_info{go_version="go`, `version="v1.2.3"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	if strings.Contains(text, "made_up") {
		t.Error("an invented tool name is a label")
	}
	if t.Failed() {
		t.Log(text)
	}
}

// A call that a limit refuses is counted under the limit's name.
func TestMetricsOfLimits(t *testing.T) {
	t.Parallel()
	url, a := gatewayTo(t, farm(t), "    limits: {minute: {calls: 1/1m}}\n")
	session := connectTo(t, url)
	for range 3 {
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_field", Arguments: field{"F-1"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	if _, text := whenIdle(t, a); !strings.Contains(text, `recourse_limit_refusals_total{policy="minute",server="farm"} 2`) {
		t.Error(text)
	}
}

// A failure that was passed on unchanged is counted as such.
func TestMetricsOfObserve(t *testing.T) {
	t.Parallel()
	url, a := gatewayTo(t, farm(t), "    mode: observe\n")
	resp, err := http.Post(url+"/farm/mcp", "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"nonsense/`+
		strings.Repeat("x", 100)+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	_, text := get(t, a, "/metrics")
	for _, want := range []string{`mode="observe"`, `mcp_method_name="other"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the metrics:\n%s", want, text)
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	a := admin.New("v1.2.3", admin.Sources{})
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, text := get(t, a, path); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	a.Drain()
	if status, text := get(t, a, "/readyz"); status != http.StatusServiceUnavailable || text != "draining\n" {
		t.Errorf("a draining gateway is ready: %d %s", status, text)
	}
	if status, _ := get(t, a, "/healthz"); status != http.StatusOK {
		t.Error("a draining gateway is not alive")
	}
	if status, _ := get(t, a, "/secrets"); status != http.StatusNotFound {
		t.Errorf("unknown path: status %d", status)
	}
}

// On loopback, a web page cannot read anything with another name for this machine.
func TestForeignNames(t *testing.T) {
	t.Parallel()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		admin.New("v1.2.3", admin.Sources{}).Serve(ctx, ln, slog.New(slog.DiscardHandler))
	}()
	for host, want := range map[string]int{"": http.StatusOK, "localhost:9464": http.StatusOK, "rebound.example.com": http.StatusForbidden} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ln.Addr().String()+"/metrics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		resp, err := new(http.Transport).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("Host %q: %d", host, resp.StatusCode)
		}
	}
	stop()
	<-ended
}
