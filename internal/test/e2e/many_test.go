package e2e_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

// For every client, what works at a server's own endpoint also works at an endpoint with several servers.
func TestClientsOfMany(t *testing.T) {
	t.Parallel()
	testClientsOfMany(t)
}

// The remaining clients and servers.
func TestLongClientsOfMany(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testClientsOfMany(t)
}

func testClientsOfMany(t *testing.T) {
	t.Helper()
	url := sdk.Everything(t)
	all := append(serversAt(amongMany), server{
		"server-everything", testkit.Legacy, amongMany(func(testing.TB) string { return url }), everythingSteps(),
	})
	for row, server := range all {
		server.steps = stepsAmongMany(server.steps)
		for column, client := range clients() {
			if client.era != server.era || !testkit.Sampled(t, row+column, 3) {
				continue
			}
			t.Run(server.name+"/"+client.name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				visit(ctx, t, client, client.open(t), server)
			})
		}
	}
}

// stepsAmongMany returns the steps that work the same at an endpoint with several servers. The gateway speaks to these
// servers in the modern era, in which log messages belong to a request; and an unlisted resource could belong to the
// server that is away.
func stepsAmongMany(steps []step) []step {
	among := slices.DeleteFunc(slices.Clone(steps), func(s step) bool { return s.method == "resources/read" && s.code != "" })
	for i := range among {
		if strings.HasPrefix(among[i].heard, "notifications/message -level") {
			among[i].heard = ""
		}
	}
	return among
}

// awayEntry is appended to the first server's entry: a server that is away.
const awayEntry = "\n  away: {url: 'http://127.0.0.1:1/mcp', path: none}"

// amongMany returns the front of a server that shares its endpoint with a server that is away.
func amongMany(serve func(testing.TB) string) func(testing.TB) *front {
	return func(tb testing.TB) *front {
		tb.Helper()
		f := start(tb, serve(tb), "path: none", "/endpoints: {all: {path: /mcp, servers: [farm, {name: away, prefix: away_}]}}",
			"timeout: 10s", awayEntry)
		f.url = strings.TrimSuffix(f.url, "/farm/mcp") + "/mcp"
		return f
	}
}
