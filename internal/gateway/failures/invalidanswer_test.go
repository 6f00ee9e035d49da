package failures_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// startWithoutVersion returns the URL of a server whose answers have a text of that size, but lack the jsonrpc member.
func startWithoutVersion(t *testing.T, size int) (url string) {
	t.Helper()
	return testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		answer := fmt.Sprintf(`{"id":%s,"result":{"resultType":"complete","content":[{"type":"text","text":%q}]}}`,
			json.Lookup(sent, "/id"), strings.Repeat("a", size))
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		_, _ = io.WriteString(w, answer) // the client may have left
	}))
}

// A large answer that turns out to be invalid at its end is broken off.
func TestInvalidLargeAnswerIsBrokenOff(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Start(t, startWithoutVersion(t, 1<<20))
	a, err := f.Client(t, testkit.Modern).Call(t.Context(), testkit.GetField, `{"field_id":"F-1"}`)
	if err == nil {
		t.Errorf("got a whole answer of %d bytes", len(a.Body))
	}
	f.Await(t, func(lines []gatewaytest.LogLine) bool {
		return len(lines) > 0 && lines[len(lines)-1].Kind == "bad_response"
	})
}

// With mode observe, an invalid answer is passed on and logged as a failure.
func TestObservedInvalidAnswer(t *testing.T) {
	t.Parallel()
	f := gatewaytest.Start(t, startWithoutVersion(t, 1), "mode: observe")
	a, err := f.Client(t, testkit.Modern).Call(t.Context(), testkit.GetField, `{"field_id":"F-1"}`)
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("got %+v, %v", a, err)
	}
	f.Await(t, func(lines []gatewaytest.LogLine) bool {
		return len(lines) > 0 && lines[len(lines)-1].Kind == "bad_response"
	})
}

// Where the contract tells the caller that the same call may succeed, the gateway has tried that itself: a read that was answered with
// a page is repeated under a contract that calls this an error of the server, and under no other.
func TestInvalidAnswersAreRepeatedAsTheContractSays(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]int32{
		"contract: studies": 3, "contract: patterns": 3, "contract: commerce": 1, "contract: recourse": 1, "contract: fieldmcp": 1,
		"contract: studies, tools: {look: {read_only: false}}": 1,
	} {
		var calls atomic.Int32
		url := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent, _ := io.ReadAll(r.Body)
			if method, _ := json.TextOf(json.Lookup(sent, "/method")); method != "tools/call" {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			calls.Add(1)
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>")
		}))
		if !strings.Contains(entry, "tools") {
			entry += ", tools: {look: {read_only: true}}"
		}
		a, err := gatewaytest.Start(t, url, strings.Split(entry, ", ")...).Client(t, testkit.Modern).Call(t.Context(), "look", `{}`)
		if err != nil || calls.Load() != want {
			t.Errorf("%s: called %d times, want %d: %s, %v", entry, calls.Load(), want, a.Body, err)
		}
	}
}
