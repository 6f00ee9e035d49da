package contract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/json"
)

// Of a member that is repeated the last value counts, in its first place, however many there are.
func TestNodeRepeatedMembers(t *testing.T) {
	t.Parallel()
	for _, others := range []int{1, fewMembers - 2, fewMembers, 5 * fewMembers} {
		members := []string{`"a":1`}
		for i := range others {
			members = append(members, fmt.Sprintf(`"m%d":%d`, i, i))
		}
		n := nodeOf(json.Value("{" + strings.Join(append(members, `"a":2`, `"m0":"x\u0079"`), ",") + "}"))
		if got := string(n.rawMember("a")); got != "2" || n.names[0] != "a" || len(n.names) != others+1 {
			t.Errorf("beside %d others: %s, %d members, first %s", others, got, len(n.names), n.names[0])
		}
		if got := n.member("m0").plain(); got != "xy" {
			t.Errorf("beside %d others: %s", others, got)
		}
	}
}
