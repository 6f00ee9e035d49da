package recovery_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/recovery"
)

// The calls that the contracts' hints name are there as data.
func TestAdvised(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		contract, hint, want string
	}{
		{"fieldmcp", "Use deere_list_resources with resourceType='fields' to find valid field IDs.", `deere_list_resources {"resourceType":"fields"}`},
		{"fieldmcp", "Use deere_list_resources with resourceType='boundaries' and the field's orgId to find valid boundary IDs for that field.", `deere_list_resources {"resourceType":"boundaries"}`},
		{"fieldmcp", "Try a different time period. Use deere_search_operations to discover what data is available.", `deere_search_operations {}`},
		{"fieldmcp", "Wait 30 seconds. The provider may have an outage.", ""},
		{"fieldmcp", "Use my_deere_list_resources_2 instead.", ""},
		{"studies", `Before calling again run study_get(study_id="s-1", lean=True) and check participant_count`, `study_get {"lean":true,"study_id":"s-1"}`},
		{"studies", "List again with study_get to confirm the id, then retry", `study_get {}`},
		{"studies", "Read workspace_get(workspace_id=...).credits for the period balance", `workspace_get {}`},
		{"commerce", `Before calling again: get-orders(externalIds=["e-1"]), and look at whether the order is there.`, `get-orders {"externalIds":["e-1"]}`},
	} {
		e := recourse.New(recourse.KindUnknown, "").WithHint(test.hint)
		var got []string
		for _, a := range recovery.Advised(contract.Builtin().MustGet(test.contract), e) {
			got = append(got, a.Tool+" "+string(a.Arguments))
		}
		if diff := cmp.Diff(test.want, strings.Join(got, "; ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.hint, diff)
		}
	}
}
