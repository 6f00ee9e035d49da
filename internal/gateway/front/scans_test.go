package front_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

// A message through a gateway between a host and a program is scanned once in each direction, and once more where a bridge
// changes its form.
func TestMessagesAreScannedOnce(t *testing.T) { //nolint:paralleltest // others would scan meanwhile
	for _, program := range testkit.Eras {
		for _, host := range testkit.Eras {
			t.Run(program.String()+" program, "+host.String()+" host", func(t *testing.T) {
				g, _ := gatewaytest.New(t, "servers:\n  farm:\n    "+
					strings.Join(gatewaytest.CommandFor(t, child.NewProgram(t), program), "\n    ")+"\n")
				h := gatewaytest.StartHost(t, g)
				call := gatewaytest.EchoLine("7", "hi")
				want := int64(2)
				if host == testkit.Legacy {
					h.Initialize()
				} else {
					call = strings.Replace(call, `"params":{`, `"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
						`"io.modelcontextprotocol/clientCapabilities":{}},`, 1)
				}
				if host != program {
					want += 2
				}
				h.Send(call)
				h.Next() // the list of tools is known from here on
				const calls = 5
				var got int64
				for range 5 { // what the program is asked in the background is scanned, too: on a busy machine it may take a while
					before := wire.Scans()
					for range calls {
						h.Send(call)
						if m := h.Next(); m.Outcome() != "7 hi" {
							t.Fatalf("got %q", m.Outcome())
						}
					}
					if got = wire.Scans() - before; got == calls*want {
						return
					}
				}
				t.Errorf("%d calls took %d scans, want %d", calls, got, calls*want)
			})
		}
	}
}
