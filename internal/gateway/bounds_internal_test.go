package gateway

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/args"
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
		fmt.Sprintf("%d tools, %d MiB, %d pages", maxTools, maxListBytes>>20, maxPages),
		fmt.Sprintf("%d lists, %d MiB, %d fetched at once", maxLists, maxListsBytes>>20, maxFetches),
		fmt.Sprintf("%d KiB, 128 levels, 4000 objects; %d,000 objects in a list", args.MaxSchema>>10, args.MaxObjects/1000),
		fmt.Sprintf("%d,000 in a list", args.MaxInstructions/1000),
		fmt.Sprintf("%d,000, %d MiB; %d KiB each", maxSessions/1000, maxSessionBytes>>20, maxOpening>>10),
		fmt.Sprintf("%d calls at a time; %d MiB of memory each and %d MiB altogether, the rest in temporary files of %d GiB altogether",
			maxStdioCalls, spool.Memory>>20, spool.RoomMemory>>20, spool.RoomFiles>>30),
		fmt.Sprintf("%.0f s; %.0f s when the gateway ends", writeTimeout.Seconds(), endTimeout.Seconds()),
		fmt.Sprintf("%.0f s and %.0f s", headerTimeout.Seconds(), bodyTimeout.Seconds()),
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// An answer for which there is no room is broken off, and the host told.
func TestRoomOfLines(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	f := &stdioFront{out: newLineWriter(&out)}
	f.room.Memory, f.room.Files = 1, 1
	a := f.newAnswer([]byte("7"))
	if _, err := a.Write([]byte(`{"jsonrpc":"2.0","id":7,"result":{}}`)); err != nil {
		t.Fatal(err)
	}
	a.end(t.Context())
	a.settle(t.Context())
	if !strings.Contains(out.String(), `"id":7,"error"`) || !strings.Contains(out.String(), "broken off") {
		t.Errorf("the host was told %q", out.String())
	}
}
