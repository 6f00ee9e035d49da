package recovery_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/testkit"
	"github.com/recoursehq/recourse/recovery"
)

var (
	_ recovery.Session[*mcp.CallToolParams, *mcp.CallToolResult]     = (*mcp.ClientSession)(nil)
	_ recovery.Session[mcpgo.CallToolRequest, *mcpgo.CallToolResult] = (*client.Client)(nil)
)

// A refusing front answers tools/call as it is told to, and lets everything else through.
type refusing struct {
	behind http.Handler
	answer func(w http.ResponseWriter) bool // whether it has
	calls  atomic.Int32
}

func (f *refusing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	if strings.Contains(string(body), `"tools/call"`) {
		if f.calls.Add(1); f.answer(w) {
			return
		}
	}
	f.behind.ServeHTTP(w, r)
}

func echoServer() http.Handler {
	s := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "echo"}}}, nil, nil
	})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

// What an HTTP answer says reaches the caller through a Go SDK session, which goes on: fieldmcp's limit, terra's 502 and 401.
func TestMCPTransport(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		contract string
		status   int
		header   http.Header
		body     string
		kind     recourse.Kind
		wait     time.Duration
		calls    int32
	}{
		"a limit that passes": {
			contract: "fieldmcp", status: 429, header: http.Header{"Retry-After": {"1"}, "Content-Type": {"application/json"}},
			body: `{"error":"Rate limit exceeded. Try again in 1 seconds.","errorCode":429,"rateLimits":{}}`, wait: time.Second, calls: 2,
		},
		"a bad gateway that passes":     {contract: "terra", status: 502, calls: 2},
		"a connection that breaks once": {contract: "terra", calls: 2},
		"bad credentials": {
			contract: "terra", status: 401, header: http.Header{"Content-Type": {"application/problem+json"}},
			body: `{"type":"about:blank","title":"unauthorized","detail":"unauthorized"}`, kind: recourse.KindUnauthenticated, calls: 1,
		},
		"a failure of the server's": {
			contract: "terra", status: 500, header: http.Header{"Content-Type": {"application/problem+json"}},
			body: `{"type":"about:blank","title":"internal server error","detail":"something went wrong"}`, kind: recourse.KindInternal, calls: 1,
		},
		"a 500 of something on the way": {contract: "terra", status: 500, body: "<html>oops</html>", kind: recourse.KindServerError, calls: 1},
		"a 503 of something on the way": {contract: "terra", status: 503, body: "<html>oops</html>", calls: 2},
		"a message that nobody can read": {
			contract: "fieldmcp", status: 503, header: http.Header{"Content-Type": {"application/json"}}, kind: recourse.KindMalformed, calls: 1,
			body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			front := &refusing{behind: echoServer()}
			front.answer = func(w http.ResponseWriter) bool {
				if front.calls.Load() > 1 {
					return false
				}
				maps.Copy(w.Header(), test.header)
				if test.status == 0 {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body) // whoever has gone reads nothing
				return true
			}
			url := testkit.Serve(t, front)
			c := contract.Builtin().MustGet(test.contract)
			sdk := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
			session, err := sdk.Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: url, HTTPClient: &http.Client{Transport: recovery.NewMCPTransport(nil, c)}, DisableStandaloneSSE: true,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			report := new(recovery.Report)
			caller := recovery.New(session, c, recovery.WithRandom(func() float64 { return 0 }))
			result, err := caller.CallTool(recovery.WithReport(t.Context(), report), &mcp.CallToolParams{Name: "echo"})
			if test.kind == "" && (err != nil || firstText(result) != "echo") {
				t.Errorf("%v %v", result, err)
			}
			if test.kind != "" && !errors.Is(err, test.kind) {
				t.Errorf("%v", err)
			}
			if n := front.calls.Load(); n != test.calls {
				t.Errorf("%d calls", n)
			}
			if report.Waited() < test.wait {
				t.Errorf("waited for %v", report.Waited())
			}
			if _, err := session.ListTools(t.Context(), nil); err != nil {
				t.Errorf("the session has ended: %v", err)
			}
		})
	}
}

func TestHTTPTransport(t *testing.T) {
	t.Parallel()
	const key = "Idempotency-Key"
	for name, test := range map[string]struct {
		method  string
		header  http.Header
		status  int
		answers int32 // of that status, before it is well
		calls   int32
		want    int
	}{
		"a read":                     {"GET", nil, 503, 1, 2, 200},
		"a read of what is missing":  {"GET", nil, 404, 9, 1, 404},
		"a write that may have been": {"POST", nil, 500, 9, 1, 500},
		"a write that was refused":   {"POST", nil, 429, 1, 2, 200},
		"a write with a key":         {"POST", http.Header{key: {"k"}}, 503, 1, 2, 200},
		"a replacement":              {"PUT", nil, 503, 1, 2, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			url := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body) // as far as it came
				if calls.Add(1) <= test.answers {
					w.WriteHeader(test.status)
					_, _ = io.WriteString(w, "no") // as above
					return
				}
				_, _ = w.Write(body) // as above
			}))
			req, err := http.NewRequestWithContext(t.Context(), test.method, url, strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(req.Header, test.header)
			c := &http.Client{Transport: recovery.NewHTTPTransport(nil, "The API", contract.Builtin().MustGet("recourse"), recovery.WithRandom(func() float64 { return 0 }))}
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if want := map[bool]string{true: "body", false: "no"}[test.want == 200]; err != nil || resp.StatusCode != test.want || string(body) != want {
				t.Errorf("%d %q %v", resp.StatusCode, body, err)
			}
			if calls.Load() != test.calls {
				t.Errorf("%d calls, want %d", calls.Load(), test.calls)
			}
		})
	}
}
