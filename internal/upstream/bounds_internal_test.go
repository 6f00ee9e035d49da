package upstream

import (
	"fmt"
	"testing"

	"github.com/recoursehq/recourse/internal/spool"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

func TestBoundsAreDocumented(t *testing.T) {
	t.Parallel()
	testkit.Documented(t,
		fmt.Sprintf("%d per session, %d KiB each, %d MiB in total", maxSubscriptions, maxURI>>10, maxSubscribed>>20),
		fmt.Sprintf("%d MiB of memory each and %d MiB in total, the rest in temporary files of %d GiB in total",
			spool.Memory>>20, spool.RoomMemory>>20, spool.RoomFiles>>30),
	)
}
