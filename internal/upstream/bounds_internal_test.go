package upstream

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/spool"
)

// The page names the bounds as they are.
func TestBoundsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("%d a session, %d KiB each, %d MiB altogether", maxSubscriptions, maxURI>>10, maxSubscribed>>20),
		fmt.Sprintf("%d MiB of memory each and %d MiB altogether, the rest in temporary files of %d GiB altogether",
			spool.Memory>>20, spool.RoomMemory>>20, spool.RoomFiles>>30),
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
