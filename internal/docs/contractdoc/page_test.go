package contractdoc_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/docs/contractdoc"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// The reference pages in docs are up to date.
func TestPagesAreFresh(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		contracttest.Golden(t, filepath.Join("..", "..", "..", "docs", "contracts", c.Name+".md"), contractdoc.Page(c))
	}
}

func TestSchemasAreFresh(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		contracttest.Golden(t, filepath.Join("testdata", "schema", c.Name+".json"), string(contractdoc.Schema(c)))
	}
}

// The page has the retry rule and the wire texts.
func TestPageSays(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"fieldmcp": {
			"attempt 1: wait retryAfter\n",
			"attempt 2: wait retryAfter × 2 + random(0 to 1000 ms)\n",
			"attempt 3: wait retryAfter × 4 + random(0 to 1000 ms)\n",
		},
		"terra": {
			"fields or select are required", "Provider-User-Id header is required", "'{violations.0.got}'. Use formats like", "`unauthorized`",
		},
	} {
		page := contractdoc.Page(contract.MustBuiltin(name))
		for _, text := range want {
			if !strings.Contains(page, text) {
				t.Errorf("the page of %s lacks %q", name, text)
			}
		}
	}
}

// A contract without a title is headed by its name, even if its parent has a title.
func TestPageWithoutATitle(t *testing.T) {
	t.Parallel()
	c, err := contract.Builtin().Load("test.yaml", []byte(`{form: 1, name: last, extends: fieldmcp, codes: []}`))
	if err != nil {
		t.Fatal(err)
	}
	if page := contractdoc.Page(c); !strings.HasPrefix(page, "# last\n") {
		t.Errorf("got heading %.40q", page)
	}
}

// Every contract that can be loaded has a page and a schema.
func FuzzPage(f *testing.F) {
	for _, src := range contracttest.Sources(f, "../../../contract/*.yaml", "../../../contract/testdata/lint/*.yaml", "../../test/contracttest/contracts/*.yaml") {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		c, err := contract.Builtin().Load("fuzz.yaml", []byte(src))
		if err != nil {
			return
		}
		if contractdoc.Page(c) == "" || !json.Valid(contractdoc.Schema(c)) {
			t.Fatal("no page, or a schema that is not JSON")
		}
	})
}
