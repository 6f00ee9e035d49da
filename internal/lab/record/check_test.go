package record_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/check/server"
)

// A check over HTTP of a recorded check gives the same report: what hung up, what was sent with another header, and in which era.
func TestCheckOfARecordedCheck(t *testing.T) {
	t.Parallel()
	srv := mcp.NewServer(&mcp.Implementation{Name: "parcels", Version: "1"}, nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "parcel_get", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, struct {
			ID string `json:"id"`
		},
		) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{}}, nil, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{Stateless: true})
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Session-Id") == "recourse-check-no-such-session" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Mcp-Session-Id", "s-1")
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(listening.Close)
	at, name := recorded(t, listening.URL+"/mcp")
	want := checked(t, at)
	if !strings.Contains(want, "lost-session") || !strings.Contains(want, "absent-told") || !strings.Contains(want, "modern") {
		t.Error(want)
	}
	replay := httptest.NewServer(opened(t, name).Handler())
	t.Cleanup(replay.Close)
	if got := checked(t, replay.URL); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Of a recording that is cut, what is missing is not observed, and the report says so.
func TestCheckOfACutRecording(t *testing.T) {
	t.Parallel()
	name := written(t, strings.Replace(head, `"stdio"`, `"http"`, 1)+
		`{"at":1,"in":"A-1","from":"client","http":"POST","message":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}}`+"\n"+
		`{"at":1,"in":"A-1","from":"server","status":200,"message":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"s"}}}}`+"\n"+
		`{"at":2,"in":"A-2","from":"client","http":"POST","message":{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}}`+"\n"+
		`{"at":2,"in":"A-2","from":"server","status":200,"message":{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"parcel_get",`+
		`"annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}}]}}}`+"\n")
	replay := httptest.NewServer(opened(t, name).Handler())
	t.Cleanup(replay.Close)
	report := check.Check(t.Context(), &server.Endpoint{URL: replay.URL}, check.Options{Mode: check.Safe})
	if !strings.Contains(report.Stopped, "the recording has no answer to") || !strings.HasSuffix(report.Letter(), " so far") {
		t.Errorf("%s: %s", report.Letter(), report.Stopped)
	}
	for _, rule := range []string{"arguments-refused", "unknown-tool", "unknown-method", "failure-has-text"} {
		if slices.Contains(report.Kept, rule) {
			t.Errorf("%s is kept, and nothing of it was recorded", rule)
		}
	}
}

// checked returns the report of a check.
func checked(t *testing.T, at string) string {
	t.Helper()
	text, err := json.Marshal(check.Check(t.Context(), &server.Endpoint{URL: at}, check.Options{Mode: check.Safe}))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Of requests that are no calls, those without a usable answer are played to a client that repeats the session word for word, over the
// transport that it was recorded over. Any other gets an answer.
func TestRequestsWithoutAnswer(t *testing.T) {
	t.Parallel()
	const lines = `{"at":1,"in":"A-1","from":"client","http":"POST","message":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}` + "\n" +
		`{"at":1,"in":"A-1","from":"client","end":"hung up"}` + "\n" +
		`{"at":2,"in":"A-2","from":"client","http":"POST","message":{"jsonrpc":"2.0","id":2,"method":"tools/list"}}` + "\n" +
		`{"at":2,"in":"A-2","from":"server","status":400,"text":"no such version"}` + "\n" +
		`{"at":3,"in":"A-3","from":"client","http":"POST","message":{"jsonrpc":"2.0","id":3,"method":"tools/list"}}` + "\n" +
		`{"at":3,"in":"A-3","from":"server","status":200,"message":{"jsonrpc":"2.0","id":3,"result":{"tools":[]}}}` + "\n"
	const (
		first  = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n"
		second = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"
	)
	for _, c := range []struct{ over, said, want string }{
		{"stdio", first, ""},
		{"stdio", second, "no such version"},
		{"stdio", `{"jsonrpc":"2.0","id":9,"method":"ping"}` + "\n" + first, `"id":1,"result":{"tools":[]}`},
		{"stdio", strings.ReplaceAll(first, ":1,", `:"other",`), `"id":"other","result":{"tools":[]}`},
		{"http", first, `"id":1,"result":{"tools":[]}`},
		{"http", second, `"id":2,"result":{"tools":[]}`},
	} {
		name := written(t, strings.Replace(head, `"stdio"`, `"`+c.over+`"`, 1)+lines)
		var out strings.Builder
		_ = opened(t, name).Stdio(t.Context(), strings.NewReader(c.said), &out)
		if got := out.String(); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}
