package modern

import (
	"fmt"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/upstream/bridge/peer"
)

func TestBoundsAreDocumented(t *testing.T) {
	t.Parallel()
	testkit.Documented(t,
		fmt.Sprintf("| sessions of the bridge | %d,000 (", maxSessions/1000),
		fmt.Sprintf("%d MiB; %d KiB each of what a client says about itself", peer.MaxSessionBytes>>20, maxIntroduction>>10),
	)
}
