package front_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// If an answer is broken off, the host gets an error with the known effect.
func TestStdioTellsOfABrokenAnswer(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]recourse.Effect{
		`"get_field","arguments":{"field_id":"F-1"}`:              recourse.EffectNone,
		`"order_create","arguments":{"reference":"A","amount":1}`: recourse.EffectUnknown,
	} {
		srv := testkit.NewServer(t)
		g, _ := gatewaytest.New(t, "servers: {farm: {url: '"+srv.URL()+"', trust_annotations: true}}")
		h := gatewaytest.StartHost(t, g)
		h.Initialize()
		tool, _, _ := strings.Cut(strings.TrimPrefix(call, `"`), `"`)
		srv.Next(tool, faults.Large(testkit.JSON, 1<<20, faults.Broken))
		h.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":` + call + `}}`)
		m := h.Next()
		if m.Error == nil {
			t.Fatalf("%s: got %s", tool, m.Outcome())
		}
		var e recourse.Error
		if err := json.Unmarshal(m.Error.Data, &e); err != nil {
			t.Fatal(err)
		}
		if e.Effect != want || e.Origin != recourse.OriginGateway || e.Message != m.Error.Message {
			t.Errorf("%s: got record %s", tool, m.Error.Data)
		}
	}
}
