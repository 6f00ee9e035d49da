package contract_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractdoc"
)

// The reference pages in the documentation are those that the program prints.
func TestPagesAreFresh(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		golden(t, filepath.Join("..", "docs", "contracts", c.Name+".md"), contractdoc.Page(c))
	}
}

// So is the page about the language.
func TestLanguagePageIsFresh(t *testing.T) {
	t.Parallel()
	golden(t, filepath.Join("..", "docs", "contracts", "README.md"), contractdoc.Language())
}

// The example on that page is a contract.
func TestLanguagePageExample(t *testing.T) {
	t.Parallel()
	_, after, _ := strings.Cut(contractdoc.Language(), "```yaml\n")
	example, _, _ := strings.Cut(after, "```")
	if _, err := contract.Builtin().Load("example.yaml", []byte(example)); err != nil {
		t.Error(err)
	}
}

func TestSchemasAreFresh(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		golden(t, filepath.Join("testdata", "schema", c.Name+".json"), string(contractdoc.Schema(c)))
	}
}
