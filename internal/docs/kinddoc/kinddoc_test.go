package kinddoc_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/docs/kinddoc"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

func TestPageIsFresh(t *testing.T) {
	t.Parallel()
	contracttest.Golden(t, filepath.Join("..", "..", "..", "docs", "failures.md"), kinddoc.Page())
}

// Each kind has its three texts, and every text belongs to a kind.
func TestEveryKindIsExplained(t *testing.T) {
	t.Parallel()
	kinds := recourse.Kinds()
	texts, err := kinddoc.Texts()
	if err != nil {
		t.Fatal(err)
	}
	for kind, text := range texts {
		if !slices.Contains(kinds, kind) {
			t.Errorf("kinds.yaml: %s is not a kind", kind)
		}
		for _, said := range []string{text.Means, text.Agent, text.Operator} {
			if !strings.HasSuffix(strings.TrimSpace(said), ".") {
				t.Errorf("kinds.yaml: %s: %q is not a sentence", kind, said)
			}
		}
		kinds = slices.DeleteFunc(kinds, func(k recourse.Kind) bool { return k == kind })
	}
	if len(kinds) > 0 {
		t.Errorf("kinds.yaml does not explain %v", kinds)
	}
}

// The page answers the questions of someone who has met the failure.
func TestPageSays(t *testing.T) {
	t.Parallel()
	for kind, wants := range map[recourse.Kind][]string{
		recourse.KindTimeout:     {"504", "`PROVIDER_TIMEOUT`", "[timeout] No answer came in time."},
		recourse.KindRateLimited: {"429", "Retry-After"},
		recourse.KindUnknownTool: {"nearest"},
	} {
		_, page, _ := strings.Cut(kinddoc.Page(), "\n## "+string(kind)+"\n")
		page, _, _ = strings.Cut(page, "\n## ")
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("what is said of %s lacks %q:\n%s", kind, want, page)
			}
		}
	}
}
