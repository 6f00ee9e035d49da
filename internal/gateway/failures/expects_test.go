package failures_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// An answer that says success and is not what was expected of one is told as a failure: of a read nothing was changed, of a write
// that is not known, and the verify call finds out. One that is passes byte for byte, and so does one beyond the window.
func TestExpects(t *testing.T) {
	t.Parallel()
	const order = `tools: {order_create: {read_only: false, expects: [{path: /order/reference, equals: /reference}], ` +
		`verify: {tool: order_get, from: {reference: /reference}}}, ` +
		`get_field: {read_only: true, expects: [{path: /fields, not_empty_for: /field_id}]}}`
	long := strings.Repeat("x", 300<<10)
	for name, tt := range map[string]struct {
		tool, args, result string
		told               []string // parts of the text; none: it passes
		effect             recourse.Effect
	}{
		"a write of another order": {
			testkit.OrderCreate, `{"reference":"A-17","amount":1}`, `{"content":[{"type":"text","text":"{\"order\":{\"reference\":\"B-2\"}}"}]}`,
			[]string{"/order/reference is not the /reference of the call", "order_get(reference='A-17')"},
			recourse.EffectUnknown,
		},
		"a write of this order": {
			testkit.OrderCreate, `{"reference":"A-17","amount":1}`,
			`{"content":[ {"type":"text","text":"{\"order\":{\"reference\":\"A-17\"}}"}]}`, nil, "",
		},
		"a read of nothing": {
			testkit.GetField, `{"field_id":"f-1"}`, `{"content":[{"type":"text","text":"ok"}],"structuredContent":{"fields":[]}}`,
			[]string{"/fields is empty, although the call names /field_id"},
			recourse.EffectNone,
		},
		"a read that is no JSON": {
			testkit.GetField, `{"field_id":"f-1"}`, `{"content":[{"type":"text","text":"502 Bad Gateway"}]}`,
			[]string{"it is no JSON"},
			recourse.EffectNone,
		},
		"beyond the window": {
			testkit.GetField, `{"field_id":"f-1"}`, `{"content":[{"type":"text","text":"` + long + `"}]}`, nil, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			srv.Always(tt.tool, faults.Result("", tt.result))
			client := gatewaytest.Start(t, srv.URL(), order).Client(t, testkit.Legacy)
			got, err := client.Call(t.Context(), tt.tool, tt.args)
			if err != nil {
				t.Fatal(err)
			}
			text := string(got.Message.Result)
			if tt.told == nil {
				if text != tt.result {
					t.Errorf("got %.300s, want it unchanged", text)
				}
				return
			}
			e := gatewaytest.Record(t, got)
			if e.Kind != recourse.KindBadResponse || e.Effect != tt.effect {
				t.Errorf("got %s with effect %s, want bad_response with %s", e.Kind, e.Effect, tt.effect)
			}
			for _, part := range tt.told {
				if !strings.Contains(text, part) {
					t.Errorf("%q is not in %s", part, text)
				}
			}
		})
	}
}
