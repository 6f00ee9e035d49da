package redact //nolint:testpackage // the forms are known inside only

import (
	"strings"
	"testing"
)

// Each form has a valid pattern, and the URL of a page that documents it.
func TestForms(t *testing.T) {
	t.Parallel()
	forms := parseForms(formsText)
	if len(forms) < 90 {
		t.Errorf("%d forms", len(forms))
	}
	for _, f := range forms {
		f.expr()
		if !strings.HasPrefix(f.source, "https://") || strings.Contains(f.source, " ") {
			t.Errorf("%s: %q is not the URL of a page", f.name, f.source)
		}
		for _, begin := range f.begin {
			if begin == "" {
				t.Errorf("%s has no prefix", f.name)
			}
		}
	}
}
