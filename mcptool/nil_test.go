package mcptool_test

import (
	"net/http"
	"testing"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
)

// A misspelled contract's name makes the program panic at its start.
func TestNoContract(t *testing.T) {
	t.Parallel()
	typo, _ := contract.Builtin().Get("comerce")
	for name, start := range map[string]func(){
		"MustBuiltin":  func() { contract.MustBuiltin("comerce") },
		"Use":          func() { mcptool.Use(farm(), typo) },
		"Guard":        func() { mcptool.Guard(http.NotFoundHandler(), typo) },
		"WithContract": func() { mcptool.WithContract(typo) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("did not panic")
				}
			}()
			start()
		})
	}
}
