package contractdoc_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/docs/contractdoc"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// The translations between all contracts are golden files, so that a change of a contract shows what it loses.
func TestTranslations(t *testing.T) {
	t.Parallel()
	all := contract.Builtin().All()
	for _, from := range all {
		var b strings.Builder
		for _, to := range all {
			if from == to {
				continue
			}
			translation := contractdoc.Translate(from, to)
			fmt.Fprintf(&b, "# to %s\n", to.Name)
			for _, code := range translation.Codes {
				fmt.Fprintf(&b, "%s -> %s -> %s, retryable %t -> %t\n", code.Code, code.As, code.Back, code.Retryable, code.AsRetryable)
			}
			for _, lost := range translation.Lost {
				fmt.Fprintf(&b, "lost: %s %v\n", lost.Path, lost.Kinds)
			}
		}
		contracttest.Golden(t, filepath.Join("testdata", "translation", from.Name+".txt"), b.String())
	}
}

// Translating a contract's failures to the same contract loses nothing.
func TestTranslationToItself(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		translation := contractdoc.Translate(c, c)
		if len(translation.Lost) > 0 {
			t.Errorf("%s: lost %v", c.Name, translation.Lost)
		}
		for _, code := range translation.Codes {
			if code.As != code.Back || code.Retryable != code.AsRetryable {
				t.Errorf("%s: %+v", c.Name, code)
			}
		}
	}
}
