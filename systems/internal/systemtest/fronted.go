package systemtest

import (
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/systems"
)

// Fronted returns the ways to a system through a gateway, for clients of both eras. entry are further keys of
// the server's entry, such as "contract: studies".
func Fronted(entry ...string) []Wire {
	var wires []Wire
	for name, era := range map[string]testkit.Era{"gateway, legacy era": testkit.Legacy, "gateway, modern era": testkit.Modern} {
		wires = append(wires, Wire{name, func(t *testing.T, s systems.System) Client {
			t.Helper()
			return Connect(t, Front(t, Serve(t, s), entry...), era, s.Entrance().Header)
		}})
	}
	return wires
}

// Front starts a gateway in front of a server until the test ends, and returns the URL of the server's endpoint there.
func Front(t *testing.T, server string, entry ...string) string {
	t.Helper()
	return Gateway(t, append(entry, "url: "+server)...) + "/system/mcp"
}
