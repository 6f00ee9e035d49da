package legacy

import (
	"fmt"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/upstream/bridge/peer"
)

func TestBoundsAreDocumented(t *testing.T) {
	t.Parallel()
	testkit.Documented(t,
		fmt.Sprintf("(%d at a server of the legacy era), %d MiB", maxSessions, peer.MaxSessionBytes>>20),
	)
}
