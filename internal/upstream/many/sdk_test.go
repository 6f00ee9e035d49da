package many_test

import (
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A client of the official SDK reads a list of several pages to its end.
func TestManyPagesReachAnSDK(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	srv.SetTools(manyTools(1500, "")...)
	g, _ := gatewaytest.New(t, fmt.Sprintf("servers: {farm: {url: %q, path: none}}\nendpoints: {all: {path: /mcp, servers: [farm], lists: none}}\n", srv.URL()))
	transport := &mcp.StreamableClientTransport{Endpoint: gatewaytest.Open(t, g, false) + "/mcp"}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	n := 0
	for _, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1506 {
		t.Errorf("got %d tools", n)
	}
}
