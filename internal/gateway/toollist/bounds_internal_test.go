package toollist

import (
	"fmt"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

func TestBoundsAreDocumented(t *testing.T) {
	t.Parallel()
	testkit.Documented(t,
		fmt.Sprintf("%d tools, %d MiB, %d pages", maxTools, maxListBytes>>20, maxPages),
		fmt.Sprintf("%d lists, %d MiB, %d fetched at once", maxLists, maxListsBytes>>20, maxFetches),
	)
}
