package e2e_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// The Go SDK's client calls an HTTP API through the gateway in both eras.
func TestAPIWithGoSDK(t *testing.T) {
	t.Parallel()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/orders/7" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, `{"message":"order 7"}`)
	}))
	t.Cleanup(provider.Close)
	file := filepath.Join(t.TempDir(), "api.yaml")
	description := "openapi: 3.1.0\ninfo: {title: Orders, version: '1'}\nservers: [{url: '" + provider.URL + "'}]\n" +
		"paths: {'/orders/{id}': {get: {operationId: get, parameters: [{name: id, in: path, required: true, schema: {type: string}}]}}}\n"
	if err := os.WriteFile(file, []byte(description), 0o600); err != nil {
		t.Fatal(err)
	}
	set := contract.Builtin()
	cfg, err := config.Parse("recourse.yaml", []byte("servers: {orders: {openapi: '"+file+"', operations: [{}]}}\n"),
		config.Options{KnownContracts: set.Names()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(cfg, set, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	front := httptest.NewServer(g)
	t.Cleanup(front.Close)
	for _, era := range []testkit.Era{testkit.Legacy, testkit.Modern} {
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: front.URL + "/orders/mcp"},
			&mcp.ClientSessionOptions{ProtocolVersion: era.Version()})
		if err != nil {
			t.Fatalf("%s: %v", era, err)
		}
		for id, isError := range map[string]bool{"7": false, "8": true} {
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get", Arguments: map[string]any{"id": id}})
			if err != nil {
				t.Fatalf("%s: %v", era, err)
			}
			text, _ := result.Content[0].(*mcp.TextContent)
			if result.IsError != isError || !strings.Contains(text.Text, "order 7") {
				t.Errorf("%s, %s: %+v %s", era, id, result, text.Text)
			}
		}
		if err := session.Close(); err != nil {
			t.Errorf("%s: %v", era, err)
		}
	}
}
