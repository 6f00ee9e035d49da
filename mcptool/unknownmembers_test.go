package mcptool_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/mcptool"
)

// What a contract does not know of a failure that a tool returns reaches the client, as far as the SDK has a place for it.
func TestUnknownMembersSurvive(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			var sent mcp.CallToolResult
			server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
			server.AddTool(&mcp.Tool{Name: "fail", InputSchema: json.RawMessage(`{"type":"object"}`)},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return &sent, nil })
			mcptool.Use(server, c, mcptool.WithLogger(nil))
			here, there := mcp.NewInMemoryTransports()
			if _, err := server.Connect(t.Context(), there, nil); err != nil {
				t.Fatal(err)
			}
			session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), here, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			rapid.Check(t, func(t *rapid.T) {
				f := contracttest.MarkedFailures(c.Name).Filter(func(f contracttest.Marked) bool { return f.Result != "" }).Draw(t, "failure")
				sent = mcp.CallToolResult{}
				if err := sent.UnmarshalJSON([]byte(f.Result)); err != nil {
					t.Fatal(err)
				}
				passed, _ := json.Marshal(&sent)
				marks := contracttest.Found(slices.Concat(f.Marks, f.Beside), string(passed))
				got, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "fail"})
				if err != nil {
					t.Fatal(err)
				}
				received, _ := json.Marshal(got)
				if missing := contracttest.Missing(marks, string(received)); len(missing) > 0 {
					t.Errorf("%q are lost:\n%s\n%s", missing, f.Result, received)
				}
			})
		})
	}
}
