package gatewaytest

import (
	"fmt"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// Many is an endpoint, all, that offers the servers farm and shop.
type Many struct {
	*Front

	Farm, Shop *testkit.Server
}

// BothPrefixed is what an endpoint needs to offer both servers.
const BothPrefixed = "servers: [farm, {name: shop, prefix: shop_}]"

// StartMany starts a gateway in memory. endpoint has keys of the endpoint's entry, servers has keys of both servers' entries.
func StartMany(tb testing.TB, endpoint, servers string, opts ...testkit.Option) *Many {
	tb.Helper()
	m := &Many{
		Farm: testkit.NewServer(tb, append(opts, testkit.InMemory())...),
		Shop: testkit.NewServer(tb, append(opts, testkit.InMemory())...),
	}
	m.Front = StartAt(tb, "/mcp", m.Config(endpoint, servers))
	return m
}

// Config returns a configuration of the same servers.
func (m *Many) Config(endpoint, servers string) string {
	if servers != "" {
		servers = ", " + servers
	}
	return fmt.Sprintf("servers:\n  farm: {url: %q%s}\n  shop: {url: %q%s}\nendpoints:\n  all: {path: /mcp, %s}\n",
		m.Farm.URL(), servers, m.Shop.URL(), servers, endpoint)
}
