package strictyaml_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Consecutive anchors have no meaning, and cost the parser quadratic time.
func TestAnchorsInARow(t *testing.T) {
	t.Parallel()

	var b strings.Builder
	b.WriteString("a: ")
	for i := range 20_000 {
		fmt.Fprintf(&b, "&a%d ", i)
	}
	b.WriteString("x\n")
	began := time.Now()
	_, err := strictyaml.Parse("x", []byte(b.String()))
	if err == nil || !strings.Contains(err.Error(), "two anchors") {
		t.Errorf("%.200v", err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %s", took)
	}
}
