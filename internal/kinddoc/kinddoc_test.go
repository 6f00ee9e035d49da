package kinddoc_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/contracttest"
	"github.com/recoursehq/recourse/internal/kinddoc"
)

// docs has a page for each kind, up to date, and no others.
func TestPagesAreFresh(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "docs", "failures")
	want := []string{"README.md"}
	contracttest.Golden(t, filepath.Join(dir, "README.md"), kinddoc.Index())
	for _, kind := range recourse.Kinds() {
		name := kinddoc.FileName(kind)
		want = append(want, name)
		contracttest.Golden(t, filepath.Join(dir, name), kinddoc.Page(kind))
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !slices.Contains(want, entry.Name()) {
			t.Errorf("no kind for %s: remove it", entry.Name())
		}
	}
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

// A page answers the questions of someone who has met the failure.
func TestPageSays(t *testing.T) {
	t.Parallel()
	for kind, wants := range map[recourse.Kind][]string{
		recourse.KindTimeout:     {"504", "`PROVIDER_TIMEOUT`", "[timeout] No answer came in time."},
		recourse.KindRateLimited: {"429", "Retry-After"},
		recourse.KindUnknownTool: {"nearest"},
	} {
		page := kinddoc.Page(kind)
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("the page of %s lacks %q:\n%s", kind, want, page)
			}
		}
	}
}
