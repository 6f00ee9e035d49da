package modern

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
		fmt.Sprintf("| sessions of the bridge | %d,000 (", maxSessions/1000),
		fmt.Sprintf("%d MiB; %d KiB each of what a client says of itself", peer.MaxSessionBytes>>20, maxIntroduction>>10),
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
