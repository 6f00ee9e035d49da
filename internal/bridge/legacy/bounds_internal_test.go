package legacy

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/bridge/peer"
)

// The page names the bounds as they are.
func TestBoundsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("(%d at a server of the legacy era), %d MiB", maxSessions, peer.MaxSessionBytes>>20),
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
