package front

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/spool"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

func TestBoundsAreDocumented(t *testing.T) {
	t.Parallel()
	testkit.Documented(t,
		fmt.Sprintf("%d calls at a time; %d MiB of memory each and %d MiB in total, the rest in temporary files of %d GiB in total",
			MaxStdioCalls, spool.Memory>>20, spool.RoomMemory>>20, spool.RoomFiles>>30),
		fmt.Sprintf("%.0f s; %.0f s when the gateway shuts down", writeTimeout.Seconds(), endTimeout.Seconds()),
		fmt.Sprintf("%.0f s and ", headerTimeout.Seconds()),
		fmt.Sprintf("| the header of a request | %d KiB;", maxHeaderBytes>>10),
		fmt.Sprintf("| time without a request | %.0f min |", keepAlive.Minutes()),
	)
}

// An answer without room is broken off, and the host gets an error.
func TestRoomOfLines(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	h := &host{out: newLineWriter(&out)}
	h.room.Memory, h.room.Files = 1, 1
	a := h.newAnswer([]byte("7"))
	if _, err := a.Write([]byte(`{"jsonrpc":"2.0","id":7,"result":{}}`)); err != nil {
		t.Fatal(err)
	}
	a.end(t.Context())
	a.settle(t.Context())
	if !strings.Contains(out.String(), `"id":7,"error"`) || !strings.Contains(out.String(), "broken off") {
		t.Errorf("the host got %q", out.String())
	}
}
