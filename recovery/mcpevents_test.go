package recovery_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/recoursehq/recourse/recovery"
)

// If a stream ends before its answer, an additional event reports that, after complete events only; any other stream
// passes unchanged.
func TestStreamThatBreaksOff(t *testing.T) {
	t.Parallel()
	const answer, notice = `{"jsonrpc":"2.0","id":7,"result":{}}`, "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"
	large := `data: {"jsonrpc":"2.0","id":7,"result":{"x":"` + strings.Repeat("x", 5<<20) + `"}}`
	for _, test := range []struct {
		name, body string
		broken     bool
		passes     string // passed on before the failure
		fails      bool
	}{
		{"an empty stream", "", false, "", true},
		{"after a notification", notice, false, notice, true},
		{"within the answer", notice + "data: " + answer[:20], false, notice, true},
		{"within a line end", notice + "data: " + answer + "\n", false, notice, true},
		{"the connection breaks", notice + "data: " + answer[:20], true, notice, true},
		{"an answer to another request", "data: " + strings.Replace(answer, "7", "8", 1) + "\n\n", false, "data: " + strings.Replace(answer, "7", "8", 1) + "\n\n", true},
		{"after the answer", "data: " + answer + "\n\n" + notice[:9], false, "data: " + answer + "\n\n" + notice[:9], false},
		{"lines that end in CR", "data: " + answer + "\r\r", false, "data: " + answer + "\r\r", false},
		{"a resumable stream", "id: 1\ndata:\n\n" + "data: " + answer[:20], false, "id: 1\ndata:\n\n" + "data: " + answer[:20], false},
		{"an answer beyond the buffer", large + "\n\n", false, large + "\n\n", false},
		{"within an answer beyond the buffer", large, false, large, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			body := io.Reader(strings.NewReader(test.body))
			if test.broken {
				body = io.MultiReader(body, iotest.ErrReader(io.ErrUnexpectedEOF))
			}
			front := roundTripper(func(r *http.Request) (*http.Response, error) {
				return &http.Response{
					StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body), Request: r,
				}, nil
			})
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/", strings.NewReader(`{"method":"tools/call","id":7}`))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := recovery.NewMCPTransport(front).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			rest, ok := strings.CutPrefix(string(got), test.passes)
			if fails := strings.HasPrefix(rest, "event: message\ndata: {\"error\":"); err != nil || !ok || fails != test.fails || !fails && rest != "" {
				t.Errorf("%v, %.300q", err, rest)
			}
		})
	}
}
