package gateway

import (
	"fmt"
	"testing"

	"github.com/recoursehq/recourse/internal/call/args"
	"github.com/recoursehq/recourse/internal/protocol/lexer"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

func TestBoundsAreDocumented(t *testing.T) {
	t.Parallel()
	testkit.Documented(t,
		fmt.Sprintf("%d KiB, 4000 objects; %d,000 objects in a list", args.MaxSchema>>10, args.MaxObjects/1000),
		fmt.Sprintf("%d,000 in a list", args.MaxInstructions/1000),
		fmt.Sprintf("a message | %d levels", lexer.MaxDepth),
		fmt.Sprintf(" s and %.0f s", bodyTimeout.Seconds()), // how long a client may take for the body; front has its own for the head
	)
}
