package front_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
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
		g, _ := gatewaytest.Before(t, srv, "max_request: 10MiB")
		h := gatewaytest.StartHost(t, g)
		h.Initialize()
		want := strings.Repeat("a", size)
		h.Send(gatewaytest.EchoLine("1", want))
		if m := h.Next(); m.Outcome() != "1 "+want {
			t.Errorf("answer of %d bytes: got %.300s", size, m.Outcome())
		}
	}
}
