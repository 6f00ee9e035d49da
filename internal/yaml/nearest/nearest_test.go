package nearest_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/yaml/nearest"
)

func TestOf(t *testing.T) {
	t.Parallel()
	known := []string{"timeout", "max_timeout", "url", "read_only", "ok"}
	for name, want := range map[string]string{
		"timout": "timeout", "Timeout": "timeout", "maxTimeout": "max_timeout", "ulr": "url", "read-only": "read_only",
		"path": "", "xy": "", "": "", "ko": "ok", strings.Repeat("x", 10_000): "",
	} {
		got, ok := nearest.Of(name, known)
		if got != want || ok != (want != "") {
			t.Errorf("Of(%q) = %q, %t, want %q", name, got, ok, want)
		}
	}
}
