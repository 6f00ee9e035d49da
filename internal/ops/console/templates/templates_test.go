// Package templates_test generates the code of the console's templates, which is committed, so that building the program needs no
// generator. It is a package of its own so that it can do so when the console does not compile.
package templates_test

import (
	"bytes"
	"flag"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a-h/templ/generator"
	parser "github.com/a-h/templ/parser/v2"
)

var update = flag.Bool("update", false, "generate the code of templates anew")

func TestTemplates(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("../*.templ")
	if err != nil || len(names) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			want := generated(t, name)
			target := strings.TrimSuffix(name, ".templ") + "_templ.go"
			if *update {
				if err := os.WriteFile(target, want, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got, err := os.ReadFile(target); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s is out of date with %s: run go test ./internal/ops/console/templates -update (%v)", target, name, err)
			}
		})
	}
}

func generated(t *testing.T, name string) []byte {
	t.Helper()
	template, err := parser.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	var code bytes.Buffer
	if _, err := generator.Generate(template, &code, generator.WithFileName(filepath.Base(name))); err != nil {
		t.Fatal(err)
	}
	pretty, err := format.Source(code.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return pretty
}
