package gateway_test

import (
	"os"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(authorVariable); name != "" {
		serveAuthor(name)
		return
	}
	testkit.Goroutines(m)
}

// startConfig starts a gateway with a server called farm behind another HTTP server than its own.
func startConfig(tb testing.TB, yaml string) *gatewaytest.Front {
	tb.Helper()
	g, log := gatewaytest.New(tb, yaml)
	return &gatewaytest.Front{URL: testkit.Serve(tb, g) + "/farm/mcp", Gateway: g, Log: log}
}
