package recovery_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/retry"
)

func TestPolicy(t *testing.T) {
	t.Parallel()
	fieldmcp := contract.MustBuiltin("fieldmcp")
	want := retry.Policy{Attempts: 4, Start: 2 * time.Second, Factor: 2, JitterMax: time.Second, JitterFrom: 2, GrowStated: true}
	if diff := cmp.Diff(want, recovery.Policy(fieldmcp), cmpopts.IgnoreFields(retry.Policy{}, "Random")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
