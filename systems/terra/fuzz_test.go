package terra_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/terra"
)

// Any query is answered with data, or with a sentence that does not blame the server.
func FuzzQuery(f *testing.F) {
	for _, where := range []string{
		`{}`, `{"not":{"not":{"field":"awakenings","operator":"EQ","value":1e308}}}`, `{"and":[{"or":[{}]}]}`, `{"and":null,"or":[null]}`,
		`{"field":"start_time","operator":"IN","value":["2025-11-12",null,5,{}]}`, `{"field":"end_time","operator":"LT","value":"2025-W46-3"}`,
	} {
		f.Add(where)
	}
	s, err := terra.New(terra.Options{Client: terra.DemoClient(), Logger: systemtest.Quiet()})
	if err != nil {
		f.Fatal(err)
	}
	here, there := mcp.NewInMemoryTransports()
	session, err := s.MCPServer().Connect(context.Background(), there, nil)
	if err != nil {
		f.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "fuzz", Version: "1"}, nil).Connect(context.Background(), here, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		_ = client.Close()
		_ = session.Wait()
		_ = s.Close()
	})
	f.Fuzz(func(t *testing.T, where string) {
		if !json.Valid([]byte(where)) {
			return
		}
		arguments := json.RawMessage(`{"fields":["awakenings"],"where":` + where + `}`)
		result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_sleep_data", Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		text, ok := result.Content[0].(*mcp.TextContent)
		if !ok || len(result.Content) != 1 || text.Text == "" {
			t.Fatalf("%s: %+v", where, result)
		}
		if !result.IsError {
			return
		}
		e := new(recourse.Error)
		raw, err := json.Marshal(result.Meta[recourse.MetaKey])
		if err == nil {
			err = json.Unmarshal(raw, e)
		}
		if err != nil || e.Origin == recourse.OriginServer && e.Kind == recourse.KindInternal {
			t.Fatalf("%s: %v, %s", where, err, text.Text)
		}
	})
}
