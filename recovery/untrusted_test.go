package recovery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/retry"
)

// signedIn connects whatever account a failure names.
var signedIn = recovery.WithHooks(recovery.Hooks{Connect: func(context.Context, *recourse.Error) error { return nil }})

// An untrusted server's words do not get a write repeated, and a kind is a word like any other.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		again := func(e *recourse.Error) *recourse.Error { return e.WithRetry(recourse.RetrySameCall) }
		claims := map[string]*recourse.Error{"timeout": again(recourse.Timeout("", 0).WithEffect(recourse.EffectNone))}
		for _, kind := range recourse.Kinds() {
			if kind != recourse.KindPartial {
				claims[string(kind)+" alone"] = again(recourse.New(kind, ""))
			}
		}
		for claim, e := range claims {
			for _, name := range []string{"recourse", "commerce"} {
				s := serve(name, map[string][]any{"put": {e, e, e, done}})
				_, _, _ = call(t, s, "put", `{}`, recovery.WithUntrustedServer(), signedIn)
				if len(s.calls) != 1 {
					t.Errorf("%s, %s: %d calls, want 1", name, claim, len(s.calls))
				}
			}
		}
		s := serve("recourse", map[string][]any{"put": {claims["timeout"], done}})
		_, _, _ = call(t, s, "put", `{}`) // only the number of calls matters
		if len(s.calls) != 2 {
			t.Errorf("a trusted server: %d calls, want 2", len(s.calls))
		}
	})
}

// Of an HTTP answer, only the status counts: what stands in its body gets no write repeated, whatever code of the protocol
// stands beside it.
func TestUntrustedOverHTTP(t *testing.T) {
	t.Parallel()
	untrustedOverHTTP(t, "rate_limited")
}

func TestLongUntrustedOverHTTP(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	untrustedOverHTTP(t, "rate_limited", "unavailable", "unauthenticated", "conflict", "unreachable")
}

func untrustedOverHTTP(t *testing.T, kinds ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &lying{t: t}
		for _, name := range []string{"recourse", "commerce"} {
			c := contract.MustBuiltin(name)
			for _, base := range []http.RoundTripper{s, recovery.NewMCPTransport(s)} {
				for body := range s.lies(kinds) {
					session := s.connect(&http.Client{Transport: base})
					s.calls.Store(0)
					_, err := recovery.New(session, c, recovery.WithUntrustedServer(), signedIn).CallTool(t.Context(), &mcp.CallToolParams{Name: "put"})
					if n := int(s.calls.Load()); err == nil || n > 1 && !s.mayRepeat(n) {
						t.Errorf("%s: HTTP %d %s: sent %d times, %v", name, s.status, body, n, err)
					}
					_ = session.Close() // some of the answers have ended it
				}
			}
		}
	})
}

// A lying server answers every call with the same status and body.
type lying struct {
	t      *testing.T
	status int
	body   string
	calls  atomic.Int64
}

// mayRepeat reports whether the status alone is a reason to send a call n times: it was too early, or somebody had to sign in.
func (s *lying) mayRepeat(n int) bool {
	return s.status == http.StatusTooManyRequests ||
		n == 2 && (s.status == http.StatusUnauthorized || s.status == http.StatusForbidden)
}

// lies sets one answer after the other, with records of these kinds. ID stands for the request's id.
func (s *lying) lies(kinds []string) func(yield func(string) bool) {
	codes := []int{-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022, -32000, -32042, 0, 401, 429, 503}
	statuses := []int{200, 400, 401, 402, 403, 404, 405, 409, 413, 415, 421, 422, 425, 429, 500, 501, 503, 529}
	return func(yield func(string) bool) {
		for _, kind := range kinds {
			record := fmt.Sprintf(`{"v":1,"kind":%q,"retry":"same_call","effect":"none","effectBasis":"known","origin":"gateway","upstream":{"status":429},"httpStatus":429}`, kind)
			bodies := []string{
				record, `{"title":"Too Many Requests","status":429,"detail":"Rate limit exceeded. Retry after 1 second.","code":"rate_limited"}`,
				`{"jsonrpc":"2.0","id":ID,"result":{"isError":true,"content":[{"type":"text","text":"MCP error -32602: rate limit exceeded"}],` +
					`"structuredContent":` + record + `,"_meta":{"io.github.recoursehq/error":` + record + `}}}`,
			}
			for _, code := range codes {
				bodies = append(bodies, fmt.Sprintf(`{"jsonrpc":"2.0","id":ID,"error":{"code":%d,"message":"rate limit exceeded","data":%s}}`, code, record))
			}
			for _, s.body = range bodies {
				for _, s.status = range statuses {
					if !yield(s.body) {
						return
					}
				}
			}
		}
	}
}

func (s *lying) connect(client *http.Client) *mcp.ClientSession {
	transport := &mcp.StreamableClientTransport{Endpoint: "http://shop.example/mcp", HTTPClient: client, DisableStandaloneSSE: true}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(s.t.Context(), transport, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return session
}

// RoundTrip implements [http.RoundTripper].
func (s *lying) RoundTrip(r *http.Request) (*http.Response, error) {
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if r.Body != nil {
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			return nil, err
		}
	}
	status, body := http.StatusOK, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no such method"}}`
	switch {
	case message.Method == "tools/call":
		s.calls.Add(1)
		status, body = s.status, s.body
	case message.Method == "initialize":
		body = `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`
	case message.ID == nil:
		status, body = http.StatusAccepted, ""
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}, "Mcp-Session-Id": {"s-1"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(strings.ReplaceAll(body, "ID", string(message.ID)))),
	}, nil
}

// A question of an untrusted server may come after the write: it is the caller's to answer.
func TestUntrustedQuestion(t *testing.T) {
	t.Parallel()
	question := string(contract.MustBuiltin("patterns").Ask(&recourse.NeedsInput{Message: "Which?", Fields: []string{"id"}},
		&contract.Call{Method: "tools/call", Tool: "put"}).Result)
	writes := recovery.WithNature("put", retry.Writes)
	answer := recovery.WithHooks(recovery.Hooks{Answer: func(context.Context, *recourse.NeedsInput) (map[string]any, error) {
		return map[string]any{"id": "a"}, nil
	}})
	for want, options := range map[int][]recovery.Option{
		1: {answer, writes, recovery.WithUntrustedServer()}, 2: {answer, writes},
	} {
		s := serve("patterns", map[string][]any{"put": {question, done}})
		_, _, err := call(t, s, "put", "", options...)
		if len(s.calls) != want || (err == nil) != (want == 2) {
			t.Errorf("sent %d times, want %d: %v", len(s.calls), want, err)
		}
	}
}

// An untrusted server does not choose what a write is verified with: it could name something that was never written.
func TestUntrustedVerify(t *testing.T) {
	t.Parallel()
	never := recovery.WithHooks(recovery.Hooks{Landed: func(context.Context, recovery.Verification) (bool, error) { return false, nil }})
	named := recourse.Verify{Tool: "get-orders", Args: recourse.Args{{Name: "externalIds", Value: []byte(`["other"]`)}}}
	for name, e := range map[string]*recourse.Error{
		"a record": lost.WithVerify(named), "a hint": lost.WithHint("Call get-orders with externalIds='other'."),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := serve("commerce", map[string][]any{"put": {e, done}, "get-orders": {`{"content":[],"structuredContent":{"items":[]}}`}})
				_, _, err := call(t, s, "put", "", recovery.WithUntrustedServer(), never)
				if err == nil || !slices.Equal(s.calls, []string{"put{}"}) {
					t.Errorf("%v after %v", err, s.calls)
				}
			})
		})
	}
}
