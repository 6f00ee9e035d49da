package e2e_test

import (
	"context"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/testkit"
)

// What works at a server's own endpoint works at one that offers it beside others, for every client.
func TestClientsOfMany(t *testing.T) {
	t.Parallel()
	testClientsOfMany(t)
}

// The other clients and servers.
func TestLongClientsOfMany(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testClientsOfMany(t)
}

func testClientsOfMany(t *testing.T) {
	t.Helper()
	url := testkit.Everything(t)
	all := append(serversAt(amongMany), server{
		"server-everything", testkit.Legacy, amongMany(func(testing.TB) string { return url }), everythingSteps(),
	})
	for row, server := range all {
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

// awayEntry is the entry of a server that is away, behind the keys of the first.
const awayEntry = "\n  away: {url: 'http://127.0.0.1:1/mcp', path: none}"

// amongMany is the front of a server that an endpoint offers beside another one, which is away.
func amongMany(serve func(testing.TB) string) func(testing.TB) *front {
	return func(tb testing.TB) *front {
		tb.Helper()
		f := start(tb, serve(tb), "path: none", "/endpoints: {all: {path: /mcp, servers: [farm, {name: away, prefix: away_}]}}",
			"timeout: 10s", awayEntry)
		f.url = strings.TrimSuffix(f.url, "/farm/mcp") + "/mcp"
		return f
	}
}
