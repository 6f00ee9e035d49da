package mcpgotool_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"pgregory.net/rapid"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/mcptool/mcpgotool"
)

// What a contract does not know of a failure that a tool returns reaches the client, as far as mcp-go has a place for it.
func TestUnknownMembersSurvive(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			var sent *mcp.CallToolResult
			s := server.NewMCPServer("s", "1")
			s.AddTool(mcp.NewTool("fail"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { return sent, nil })
			mcpgotool.Use(s, c, quiet)
			client := dial(t, s, testkit.Legacy)
			rapid.Check(t, func(t *rapid.T) {
				f := contracttest.MarkedFailures(c.Name).Filter(func(f contracttest.Marked) bool { return f.Result != "" }).Draw(t, "failure")
				raw := json.RawMessage(f.Result)
				var err error
				if sent, err = mcp.ParseCallToolResult(&raw); err != nil {
					t.Fatal(err)
				}
				passed, _ := json.Marshal(sent)
				marks := contracttest.Found(slices.Concat(f.Marks, f.Beside), string(passed))
				a, err := client.Call(context.Background(), "fail", `{}`)
				if err != nil {
					t.Fatal(err)
				}
				if missing := contracttest.Missing(marks, string(a.Body)); len(missing) > 0 {
					t.Errorf("%q are lost:\n%s\n%s", missing, f.Result, a.Body)
				}
			})
		})
	}
}
