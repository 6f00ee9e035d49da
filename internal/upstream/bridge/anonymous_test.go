package bridge_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/upstream/bridge"
)

// If callers cannot be told apart, a question that comes on the session's stream is refused: it may be meant
// for another caller.
func TestQuestionToCallersWithoutCredentials(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options  bridge.Options
		onStream bool // the question comes on the session's stream instead of the call's
		want     string
	}{
		"on the session's stream": {bridge.Options{Forward: []string{"X-Other"}}, true, "cannot be told"},
		"without any credentials": {bridge.Options{}, true, "cannot be told"},
		"of a program":            {bridge.Options{Program: true}, false, "cannot be asked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newLegacyEra(t, nil)
			o.call = func(c *serverCall) {
				say := c.say
				if tt.onStream {
					say = o.broadcast
				}
				answer := c.ask("elicitation/create", say)
				c.answer(`{"is":` + string(first(answer.Result, answer.Error)) + `}`)
			}
			b := newBridge(t, o, tt.options)
			header, body := modernRequest("tools/call", "t", "", "")
			answer, _, err := send(t, b, header, body)
			if err != nil || !strings.Contains(fmt.Sprint(answer.Result.Is), tt.want) {
				t.Errorf("got %+v, %v", answer, err)
			}
		})
	}
}

// Callers without credentials share one session, and the limit of ten held calls per caller does not apply: a
// question on the stream of a call is certain to be about that call.
func TestHeldCallsOfCallersWithoutCredentials(t *testing.T) {
	t.Parallel()
	o := newLegacyEra(t, asking)
	b := newBridge(t, o, bridge.Options{})
	states := make([]string, 20)
	for i := range states {
		states[i] = held(t, b, "t")
	}
	for _, state := range states {
		if answer, err := resume(t, b, "t", state); err != nil || answer.Result.ResultType != "complete" {
			t.Errorf("got %+v, %v", answer, err)
		}
	}
	if o.opened != 1 {
		t.Errorf("got %d sessions, want 1", o.opened)
	}
}

// A program's question is not about a call whose answer has been read, though nobody has closed that yet.
func TestQuestionAfterAnAnswer(t *testing.T) {
	t.Parallel()
	o := newLegacyEra(t, func(c *serverCall) {
		if c.m.Name == "t" {
			asking(c)
		} else {
			c.answer(`{"content":[]}`)
		}
	})
	b := newBridge(t, o, bridge.Options{Program: true, Forward: []string{"Authorization"}})
	header, body := modernRequest("tools/call", "quick", "", "")
	resp, err := b.Send(t.Context(), http.MethodPost, header, body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Close()
	if text, err := io.ReadAll(resp); err != nil {
		t.Fatalf("got %s, %v", text, err)
	}
	held(t, b, "t")
}
