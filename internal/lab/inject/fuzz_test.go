package inject_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/lab/inject"
)

// Any fault file is a plan or a list of mistakes.
func FuzzParse(f *testing.F) {
	f.Add([]byte("seed: 7\nrules:\n- {match: {tool: get_*, arguments: {/a: 1}, attempt: [1]}, times: 2, rate: 0.5, fault: {status: 503, headers: {a: b}}}"))
	f.Add([]byte(`{"rules":[{"fault":{"contract":"commerce","code":2003}},{"fault":{"drip":"1ms"}},{"fault":{"cut":1}},{"fault":"hang"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		plan, err := inject.Parse("f.yaml", text, inject.Options{Traffic: inject.MCP})
		if (plan == nil) == (err == nil) {
			t.Errorf("%+v %v", plan, err)
		}
	})
}

// An answering server gives the same answer to everything.
type answering struct {
	contentType string
	body        []byte
}

// RoundTrip implements [http.RoundTripper].
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {a.contentType}},
		Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: -1, Request: r,
	}, nil
}

// Any answer can be changed, and JSON remains JSON.
func FuzzAnswer(f *testing.F) {
	faults := []string{"cut", "empty", "stale", "wrong-id", "error-text", "truncate"}
	f.Add(uint8(0), false, []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"[1,2]"}],"structuredContent":{"a":[1,2],"next":"x"}}}`))
	f.Add(uint8(1), true, []byte("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[]}}\n\n"))
	f.Fuzz(func(t *testing.T, number uint8, events bool, body []byte) {
		fault := faults[int(number)%len(faults)]
		contentType := "application/json"
		if events {
			contentType = "text/event-stream"
		}
		transport := inject.NewTransport(inject.New(plan(t, inject.MCP, "rules: [{fault: "+fault+"}]")), inject.MCP, answering{contentType, body})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp",
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}`))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		got, _ := io.ReadAll(resp.Body) // a stream may be broken off
		if !events && fault != "truncate" && json.Valid(body) && !json.Valid(got) {
			t.Errorf("%s made %q of %q", fault, got, body)
		}
	})
}
