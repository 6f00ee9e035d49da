package testkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Documented requires docs/configuration.md to contain these sentences, which state the limits in force.
func Documented(tb testing.TB, sentences ...string) {
	tb.Helper()
	root, err := moduleRoot()
	if err != nil {
		tb.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "configuration.md"))
	if err != nil {
		tb.Fatal(err)
	}
	for _, want := range sentences {
		if !strings.Contains(string(page), want) {
			tb.Errorf("the page does not say %q", want)
		}
	}
}
