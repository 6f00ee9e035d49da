package contract_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// Hints and verify calls use the tool names that the client knows, and leave out tools that it is not offered.
func TestOfferedNames(t *testing.T) {
	t.Parallel()
	names := map[string]string{"order_get": "shop_order_get", "search": "shop_search", "order_wipe": ""}
	call := &contract.Call{
		Method: "tools/call", Tool: "order_create", Arguments: json.RawMessage(`{}`),
		Relay: contract.Relay{Offered: func(tool string) (string, bool) {
			name, known := names[tool]
			return name, known
		}},
	}
	e := recourse.Timeout("The shop", 0).WithEffect(recourse.EffectUnknown).
		WithHint("Call order_get, or search(name), and search again.").WithHint("Call order_wipe first.").WithHint("See ORDER_GET and max_age.").
		With(func(r *recourse.Error) { r.Verify = &recourse.Verify{Tool: "order_get", LookAt: "status"} })
	record := contract.MustBuiltin(contract.Default).Write(e, call).Record
	want := []string{
		"It is not known whether the call took effect. Before calling again: shop_order_get(), and look at status.",
		"Call shop_order_get, or shop_search(name), and search again.", "See ORDER_GET and max_age.",
	}
	if diff := cmp.Diff(want, record.Hints); diff != "" {
		t.Errorf("hints (-want +got):\n%s", diff)
	}
	if record.Verify == nil || record.Verify.Tool != "shop_order_get" {
		t.Errorf("verify: %+v", record.Verify)
	}
	names["order_get"] = ""
	if record := contract.MustBuiltin(contract.Default).Write(e, call).Record; record.Verify != nil {
		t.Errorf("got a verify call that is not offered: %+v", record.Verify)
	}
}
