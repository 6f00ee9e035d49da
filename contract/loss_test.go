package contract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/contract"
)

// What a contract does not carry is computed from its own writing and reading.
func TestLoss(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"recourse": "",
	} {
		c, _ := contract.Builtin().Get(name)
		var b strings.Builder
		for _, l := range c.Loss() {
			fmt.Fprintln(&b, l.Path, l.Kinds)
		}
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	c, _ := contract.Builtin().Get("fieldmcp")
	var b strings.Builder
	for _, l := range c.Loss() {
		fmt.Fprintln(&b, l.Path, l.Kinds)
	}
	fmt.Println(b.String())
}
