package many_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// BenchmarkMany compares a call of about 1 KB at a server's own endpoint with the same call at an endpoint with two servers.
func BenchmarkMany(b *testing.B) {
	farm, shop := testkit.NewServer(b), testkit.NewServer(b)
	g, _ := gatewaytest.New(b, fmt.Sprintf("servers:\n  farm: {url: %q}\n  shop: {url: %q}\nendpoints:\n  all: {path: /mcp, %s}\n",
		farm.URL(), shop.URL(), gatewaytest.BothPrefixed))
	base := testkit.Serve(b, g)
	arguments := fmt.Sprintf(`{"message":%q}`, strings.Repeat("a", 900))
	for name, at := range map[string]struct{ path, tool string }{
		"own": {"/shop/mcp", "echo"}, "many": {"/mcp", "shop_echo"},
	} {
		for _, era := range testkit.Eras {
			b.Run(name+" "+era.String(), func(b *testing.B) {
				c := testkit.NewClient(b, base+at.path, era)
				if era == testkit.Legacy {
					c.MustInitialize(b)
				}
				c.MustCall(b, at.tool, arguments).Result(b)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := c.Call(b.Context(), at.tool, arguments); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
