package testkit_test

import (
	"net"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// Each address is given once, and can be listened on.
func TestFreeAddress(t *testing.T) {
	t.Parallel()
	given := map[string]bool{}
	for range 50 {
		address, err := testkit.FreeAddress()
		if err != nil || given[address] {
			t.Fatalf("%s, given before: %t, %v", address, given[address], err)
		}
		given[address] = true
		ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = ln.Close()
	}
}
