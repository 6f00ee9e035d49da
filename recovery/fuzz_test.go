package recovery_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/recoursehq/recourse/recovery"
)

// answering answers every request with a body, one byte per read.
type answering struct{ kind, body string }

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {a.kind}}, Request: r,
		Body: io.NopCloser(iotest.OneByteReader(strings.NewReader(a.body))),
	}, nil
}

// The SDK gets any answer unchanged, or valid JSON that says what is wrong with it.
func FuzzMCPTransport(f *testing.F) {
	const answer = `{"jsonrpc":"2.0","id":7,"result":{"content":[]}}`
	for _, body := range []string{
		"event: message\ndata: " + answer + "\n\n", "data: " + answer[:20], ": ping\n\ndata: {\"method\":\"x\"}\n\ndata: " + answer,
		"id: 1\ndata: " + answer[:9], answer, answer[:20], "", "data: {\r\ndata: }\r\n\r\n", "\n\n\n", `{"id":7}`,
	} {
		f.Add(body, true)
		f.Add(body, false)
	}
	f.Fuzz(func(t *testing.T, body string, events bool) {
		kind := "application/json"
		if events {
			kind = "text/event-stream"
		}
		transport := recovery.NewMCPTransport(answering{kind, body})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/", strings.NewReader(`{"method":"tools/call","id":7}`))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) == body {
			return
		}
		if events {
			whole, message, found := bytes.Cut(got, []byte("event: message\ndata: "))
			for found && bytes.Contains(message, []byte("event: message\ndata: ")) { // the last message is the transport's own
				var more []byte
				more, message, _ = bytes.Cut(message, []byte("event: message\ndata: "))
				whole = append(append(bytes.Clone(whole), "event: message\ndata: "...), more...)
			}
			if !found || !strings.HasPrefix(body, string(whole)) {
				t.Fatalf("%q becomes %q", body, got)
			}
			got = bytes.TrimSuffix(message, []byte("\n\n"))
		}
		var failure struct {
			ID    int             `json:"id"`
			Error json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(got, &failure); err != nil || failure.ID != 7 || failure.Error == nil {
			t.Errorf("%q becomes %q", body, got)
		}
	})
}
