package toolcall

import (
	"testing"

	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// The answer to the verify call is judged by its structured content, else by the JSON in its text.
func TestLanded(t *testing.T) {
	t.Parallel()
	yes := true
	call := Call{Arguments: json.Value(`{"reference":"A"}`), Verify: &Verification{Landed: &contractform.Landed{Path: "/reference", Exists: &yes}}}
	for result, want := range map[string][2]bool{
		`{"content":[{"type":"text","text":"{\"reference\":\"A\"}"}]}`: {true, true},
		`{"content":[{"type":"text","text":"{}"}]}`:                    {false, true},
		`{"structuredContent":{"reference":"A"},"content":[]}`:         {true, true},
		`{"content":[{"type":"text","text":"it is there"}]}`:           {false, false},
		"": {false, true},
	} {
		var raw json.Value
		if result != "" {
			raw = json.Value(result)
		}
		if landed, known := call.Landed(raw); [2]bool{landed, known} != want {
			t.Errorf("%s: landed %t, known %t", result, landed, known)
		}
	}
}
