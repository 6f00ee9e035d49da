package bridge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/bridge"
)

// Nobody is asked what a server does not ask on the stream of the call itself, where the
// callers cannot be told apart: it may be meant for another. A program says it anywhere.
func TestQuestionToCallersWithoutCredentials(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options  bridge.Options
		onStream bool // of the session, not of the call
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
				t.Errorf("%v %+v", err, answer)
			}
		})
	}
}

// Callers who cannot be told apart do not use up each other's questions, nor their sessions:
// what a server asks on the stream of a call is certain.
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
			t.Errorf("%v %+v", err, answer)
		}
	}
	if o.opened != 1 {
		t.Errorf("%d sessions were opened", o.opened)
	}
}
