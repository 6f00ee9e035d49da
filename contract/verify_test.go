package contract_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/contract"
)

func TestArgument(t *testing.T) {
	t.Parallel()
	arguments := []byte(`{"reference":"A-17","order":{"lines":[{"sku":"x"}]},"api_key":"k","note":"` + strings.Repeat("n", 200) + `"}`)
	for pointer, want := range map[string]string{
		"/reference": `"A-17"`, "/order/lines/0/sku": `"x"`, "/order/lines/1": "", "/missing": "", "/api_key": "", "/note": "",
	} {
		if got := contract.Argument(arguments, pointer); string(got) != want {
			t.Errorf("%s: %q, want %q", pointer, got, want)
		}
	}
}
