package json_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// For a duplicate member the last value counts, at the first one's place, however many members there are.
func TestNodeRepeatedMembers(t *testing.T) {
	t.Parallel()
	const few = 16 // the limit for comparing names one by one
	for _, others := range []int{1, few - 2, few, 5 * few} {
		members := []string{`"a":1`}
		for i := range others {
			members = append(members, fmt.Sprintf(`"m%d":%d`, i, i))
		}
		n := json.NodeOf(json.Value("{" + strings.Join(append(members, `"a":2`, `"m0":"x\u0079"`), ",") + "}"))
		names, _ := n.Parts()
		if got := string(n.RawMember("a")); got != "2" || names[0] != "a" || len(names) != others+1 {
			t.Errorf("with %d others: %s, %d members, first %s", others, got, len(names), names[0])
		}
		if got := n.Member("m0").Plain(); got != "xy" {
			t.Errorf("with %d others: %s", others, got)
		}
	}
}
