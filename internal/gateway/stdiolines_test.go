package gateway_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/testkit"
)

// A large answer that the server has spread over lines is one line.
func TestStdioWritesALargeAnswerAsOneLine(t *testing.T) {
	t.Parallel()
	writesOneLine(t, 10<<10, 300<<10)
}

// So is one that does not stay in memory.
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
			t.Errorf("the answer of %d bytes did not arrive: %.300s", size, m.outcome())
		}
	}
}
