package mcptool_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/mcptool"
)

// BenchmarkCall shows what Use adds to a successful call of the SDK, and what a failed call costs. The budget of the
// first is 15 us.
func BenchmarkCall(b *testing.B) {
	for _, bench := range []struct {
		name, tool string
		use        bool
	}{
		{"success/without", "get_field", false},
		{"success/with", "get_field", true},
		{"failure/without", "not_found", false},
		{"failure/with", "not_found", true},
	} {
		b.Run(bench.name, func(b *testing.B) {
			server := farm()
			if bench.use {
				mcptool.Use(server, builtin(b, "fieldmcp"), mcptool.WithLogger(slog.New(slog.DiscardHandler)))
			}
			session := connect(b, server)
			call := &mcp.CallToolParams{Name: bench.tool, Arguments: map[string]any{"field_id": "F-1", "years": 3}}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := session.CallTool(b.Context(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAdded measures what Use adds to a successful call between the SDK's own stages, without the noise of the
// transport: the median, in us. The budget is 15 us.
func BenchmarkAdded(b *testing.B) {
	server := farm()
	var outside, inside time.Duration
	measure := func(took *time.Duration) mcp.Middleware {
		return func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				start := time.Now()
				result, err := next(ctx, method, req)
				*took = time.Since(start)
				return result, err
			}
		}
	}
	server.AddReceivingMiddleware(measure(&inside))
	mcptool.Use(server, builtin(b, "fieldmcp"), quiet)
	server.AddReceivingMiddleware(measure(&outside))
	session := connect(b, server)
	call := &mcp.CallToolParams{Name: "get_field", Arguments: map[string]any{"field_id": "F-1", "years": 3}}
	var added []time.Duration
	for b.Loop() {
		if _, err := session.CallTool(b.Context(), call); err != nil {
			b.Fatal(err)
		}
		added = append(added, outside-inside)
	}
	slices.Sort(added)
	b.ReportMetric(float64(added[len(added)/2])/float64(time.Microsecond), "added-us")
}

// connect connects the SDK's own client in memory.
func connect(tb testing.TB, server *mcp.Server) *mcp.ClientSession {
	tb.Helper()
	here, there := mcp.NewInMemoryTransports()
	ctx := context.Background()
	serverSession, err := server.Connect(ctx, there, nil)
	if err != nil {
		tb.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(ctx, here, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = session.Close()
		_ = serverSession.Wait()
	})
	return session
}
