package contractdoc_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/docs/contractdoc"
)

// What a contract loses is computed by writing and reading records.
func TestLoss(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		// A line with a code and advice: the rest is in the record alone.
		"recourse": {
			"afterMs", "effect", "effectBasis", "verify", "violations", "resource", "provider", "missingScopes", "quotas", "succeeded", "failed",
			"missing", "origin", "upstream", "requestId", "details",
		},
		"fieldmcp": {
			"kind", "hints[1:]", "retry", "effect", "effectBasis", "verify", "violations[].pointer", "violations[].rule", "violations[].message",
			"violations[1:]", "quotas", "failed[].error.hints", "failed[].error.provider",
			"failed[].error.origin", "origin", "upstream", "details",
		},
		// A line with a code, advice, and an envelope for the details.
		"studies": {
			"kind", "retry", "afterMs", "effect", "effectBasis", "verify", "violations", "resource", "provider", "missingScopes", "quotas",
			"succeeded", "failed", "missing", "origin", "upstream", "requestId",
		},
		// Only a sentence.
		"terra": {
			"kind", "code", "contract", "hints", "retry", "afterMs", "effect", "effectBasis", "verify", "violations", "resource", "provider",
			"missingScopes", "quotas", "succeeded", "failed", "missing", "origin", "upstream", "requestId", "details",
		},
	}
	for name, want := range tests {
		var got []string
		for _, l := range contractdoc.Loss(contract.MustBuiltin(name)) {
			got = append(got, l.Path)
			if name == "fieldmcp" && l.Path == "kind" && !slices.Contains(l.Kinds, recourse.KindUnreachable) {
				t.Errorf("%s: the kind of %s is not lost", name, recourse.KindUnreachable)
			}
			if l.Path == "kind" && name != "terra" && slices.Contains(l.Kinds, recourse.KindTimeout) {
				t.Errorf("%s: the kind of %s is lost", name, recourse.KindTimeout)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
