package recovery_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/recovery"
)

// A success that is not what the contract expects of one is a failure: nothing is known of a write, and the verify call finds
// out what became of it.
func TestUnmetExpectations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, err := contract.Builtin().Load("ours.yaml", []byte(`form: 1
name: ours
extends: recourse
read_only: [find]
verify:
  put: {tool: get, from: {id: /id}, landed: {path: /thing, exists: true}}
expects:
  put: [{path: /thing/id, equals: /id}]
  find: [{path: /things, not_empty_for: /id}]
codes: []
`))
		if err != nil {
			t.Fatal(err)
		}
		const text = `{"content":[{"type":"text","text":"`
		s := &server{contract: c, began: time.Now(), script: map[string][]any{
			"put":  {text + `{\"thing\":{\"id\":\"b\"}}"}]}`, text + `{\"thing\":{\"id\":\"a\"}}"}]}`},
			"get":  {text + `{\"thing\":null}"}]}`},
			"find": {text + `{\"things\":[]}"}]}`},
		}}
		client := recovery.New(s, c)
		arguments := map[string]any{"id": "a"}
		if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "put", Arguments: arguments}); err != nil {
			t.Errorf("put: %v", err)
		}
		_, err = client.CallTool(t.Context(), &mcp.CallToolParams{Name: "find", Arguments: arguments})
		if e := recourse.From(err); e.Kind != recourse.KindBadResponse || e.Effect != recourse.EffectNone {
			t.Errorf("got %v with effect %s", e, e.Effect)
		}
		want := []string{`put{"id":"a"}`, `get{"id":"a"}`, `put{"id":"a"}`, `find{"id":"a"}`}
		if !slices.Equal(s.calls, want) {
			t.Errorf("got %v, want %v", s.calls, want)
		}
	})
}
