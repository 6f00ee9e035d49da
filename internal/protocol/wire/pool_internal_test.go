package wire

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A reused reader keeps nothing of the previous text. The seed of its set of names may stay: it tells nothing about the text.
func TestResetLeavesNothing(t *testing.T) {
	t.Parallel()

	var message, freshMessage Message
	var parse, freshParse parser
	var scan, freshScan Scanner
	var events, freshEvents EventReader
	var messages, freshMessages MessageReader
	var rewriter, freshRewriter Rewriter
	tests := []struct {
		name        string
		used, fresh any
		reset       func()
	}{
		{"Message", &message, &freshMessage, func() { message.Reset() }},
		{"parser", &parse, &freshParse, func() {
			parse.reset(nil)
			freshParse.reset(nil)
			clear(parse.objects[:]) // offsets without their text
			freshParse.names.seed = parse.names.seed
			freshParse.names.slots = parse.names.slots // cleared: see below
		}},
		{"Scanner", &scan, &freshScan, func() { scan.Reset(); freshScan.Reset() }},
		{"EventReader", &events, &freshEvents, func() { events.Reset(nil, 0); freshEvents.Reset(nil, 0) }},
		{"MessageReader", &messages, &freshMessages, func() { messages.Reset(nil, false, 0, 0); freshMessages.Reset(nil, false, 0, 0) }},
		{"Rewriter", &rewriter, &freshRewriter, func() { rewriter.ToLegacy(nil, nil, false); freshRewriter.ToLegacy(nil, nil, false) }},
	}
	for _, tt := range tests {
		if err := testkit.Use(tt.used, strings.NewReader(""), ErrUnfinishedEvent, &peeked{}); err != nil {
			t.Fatal(err)
		}
		tt.reset()
		for _, left := range testkit.Unlike(tt.used, tt.fresh) {
			t.Errorf("%s: %s is left", tt.name, left)
		}
	}
	for _, slot := range parse.names.slots {
		if slot != (nameSlot{}) {
			t.Error("a slot of the set of names is left")
		}
	}
}
