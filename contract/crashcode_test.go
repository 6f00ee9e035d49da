package contract_test

import (
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// Servers have one code for whatever went wrong. Then the sentence says what it was, but not that nothing was done before: the
// code counts for that. The first three are what mcp-memory-libsql answers.
func TestCodeForWhateverWentWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		kind   recourse.Kind
		effect recourse.Effect
	}{
		`{"error":"internal_error","message":"Node search failed: Text query cannot be empty"}`: {
			recourse.KindMissingParam, recourse.EffectUnknown,
		},
		"{\n  \"error\": \"internal_error\",\n  \"message\": \"Node search failed: Text query cannot be empty\"\n}": {
			recourse.KindMissingParam, recourse.EffectUnknown,
		},
		`{"error":"internal_error","message":"Failed to delete relation: Relation not found: a -> b (c)"}`: {
			recourse.KindNotFound, recourse.EffectUnknown,
		},
		`{"error":"internal_error","message":"The mill stood still"}`:        {recourse.KindServerError, ""},
		`{"code":"INTERNAL_SERVER_ERROR","message":"Internal server error"}`: {recourse.KindServerError, ""},
	} {
		reading, ok := (&contract.Reader{}).Result([]byte(`{"isError":true,"content":[{"type":"text","text":` + quote(t, text) + `}]}`))
		if e := reading.Error(); !ok || e.Kind != want.kind || e.Effect != want.effect {
			t.Errorf("%s is read as %s with effect %q", text, e.Kind, e.Effect)
		}
	}
}
