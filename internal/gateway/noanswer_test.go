package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/testkit"
)

// startWithoutVersion returns a server whose answers, with a text of that size and the length in front, lack the version of JSON-RPC.
func startWithoutVersion(t *testing.T, size int) (url string) {
	t.Helper()
	return testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		answer := fmt.Sprintf(`{"id":%s,"result":{"resultType":"complete","content":[{"type":"text","text":%q}]}}`,
			json.Lookup(sent, "/id"), strings.Repeat("a", size))
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		_, _ = io.WriteString(w, answer) // the client may have gone
	}))
}

// A large answer whose end shows that it is none never reaches its client whole.
func TestLargeAnswerThatIsNone(t *testing.T) {
	t.Parallel()
	f := start(t, startWithoutVersion(t, 1<<20))
	a, err := f.client(t, testkit.Modern).Call(t.Context(), testkit.GetField, `{"field_id":"F-1"}`)
	if err == nil {
		t.Errorf("it came whole: %d bytes", len(a.Body))
	}
	f.await(t, func(lines []logLine) bool { return len(lines) > 0 && lines[len(lines)-1].Kind == "bad_response" })
}

// An answer that enforcing would refuse is observed to be a failure, though it can be read.
func TestObservedAnswerThatIsNone(t *testing.T) {
	t.Parallel()
	f := start(t, startWithoutVersion(t, 1), "mode: observe")
	a, err := f.client(t, testkit.Modern).Call(t.Context(), testkit.GetField, `{"field_id":"F-1"}`)
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("got %+v, %v", a, err)
	}
	f.await(t, func(lines []logLine) bool { return len(lines) > 0 && lines[len(lines)-1].Kind == "bad_response" })
}
