package argument_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/privacy/argument"
)

func TestShown(t *testing.T) {
	t.Parallel()
	arguments := []byte(`{"reference":"A-17","order":{"lines":[{"sku":"x"}]},"api_key":"k","note":"` + strings.Repeat("n", 200) + `"}`)
	for pointer, want := range map[string]string{
		"/reference": `"A-17"`, "/order/lines/0/sku": `"x"`, "/order/lines/1": "", "/missing": "", "/api_key": "", "/note": "",
	} {
		if got := argument.Shown(arguments, pointer); string(got) != want {
			t.Errorf("%s: %q, want %q", pointer, got, want)
		}
	}
}
