package gateway_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A large answer on several lines is written as one line.
func TestStdioWritesALargeAnswerAsOneLine(t *testing.T) {
	t.Parallel()
	writesOneLine(t, 10<<10, 300<<10)
}

// The same for an answer that is too large for memory.
func TestLongStdioWritesALargeAnswerAsOneLine(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	writesOneLine(t, 6<<20)
}

func writesOneLine(t *testing.T, sizes ...int) {
	t.Helper()
	for _, size := range sizes {
		srv := testkit.NewServer(t)
		g, _ := farmGateway(t, srv, "max_request: 10MiB")
		h := startHost(t, g)
		h.initialize()
		want := strings.Repeat("a", size)
		h.send(echo("1", want))
		if m := h.next(); m.outcome() != "1 "+want {
			t.Errorf("answer of %d bytes: got %.300s", size, m.outcome())
		}
	}
}
