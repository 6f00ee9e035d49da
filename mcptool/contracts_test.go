package mcptool_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/retry"
)

type kindArgs struct {
	Kind string `json:"kind"`
}

// sample is a failure of a kind with many members.
func sample(kind recourse.Kind) *recourse.Error {
	return &recourse.Error{
		Kind: kind, Message: "It failed <here> & now.", Hints: []string{"Look elsewhere."}, RetryAfter: 12 * time.Second,
		Effect: recourse.EffectNone, EffectBasis: recourse.BasisKnown, Provider: "John Deere", Origin: recourse.OriginProvider, RequestID: "req-1",
		Violations: []recourse.Violation{{Pointer: "/a/0", Param: "a.0", Rule: "type", Got: json.RawMessage(`9007199254740993`), Want: "a string", Message: "a.0 must be a string"}},
		Resource:   recourse.Resource{Type: "field", ID: "F-9"}, Upstream: recourse.Upstream{Status: 503, Code: "DOWN", RequestID: "up-1"},
		Details: map[string]json.RawMessage{"n": json.RawMessage(`12345678901234567890`)},
	}
}

// The SDK passes on unchanged what a contract writes: in every contract, for every kind, on every wire.
func TestContractsOnTheWire(t *testing.T) {
	t.Parallel()

	for _, c := range contract.Builtin().All() {
		for _, w := range wires {
			t.Run(c.Name+"/"+w.name, func(t *testing.T) {
				t.Parallel()
				server := newServer()
				mcp.AddTool(server, &mcp.Tool{Name: "fail"}, func(_ context.Context, _ *mcp.CallToolRequest, in kindArgs) (*mcp.CallToolResult, any, error) {
					return nil, nil, sample(recourse.Kind(in.Kind))
				})
				mcptool.Use(server, c, quiet, mcptool.WithTool("fail", mcptool.WithNature(retry.Writes)))
				client := w.dial(t, server)
				for _, kind := range recourse.Kinds() {
					arguments := `{"kind":"` + string(kind) + `"}`
					got := client.call(t, "fail", arguments)
					want := c.Write(sample(kind), &contract.Call{
						Method: "tools/call", Tool: "fail", Arguments: []byte(arguments), At: contract.AtTool, ResultType: w.modern,
						HasTool: func(name string) bool { return name == "fail" },
					})
					if want.RPCCode == -32601 { // the SDK words this one itself
						want.Message, want.Data = `method not found: "tools/call"`, nil
					}
					if want.Surface == contract.SurfaceRPC {
						if got.Error == nil || got.Error.Code != want.RPCCode || got.Error.Message != want.Message {
							t.Errorf("%s: %+v, want %d %s", kind, got.Error, want.RPCCode, want.Message)
							continue
						}
						if diff := cmp.Diff(decode(t, want.Data), decode(t, got.Error.Data)); diff != "" {
							t.Errorf("%s: data (-want +got):\n%s", kind, diff)
						}
						continue
					}
					if diff := cmp.Diff(decode(t, want.Result), decode(t, got.Result)); diff != "" {
						t.Errorf("%s (-want +got):\n%s", kind, diff)
					}
				}
			})
		}
	}
}

// decode decodes JSON, keeping numbers as they are written, without what the SDK adds to every result.
func decode(t *testing.T, raw []byte) any {
	t.Helper()
	if len(raw) == 0 {
		return nil
	}
	var keep map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keep); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	flat := map[string]any{}
	for name, value := range keep {
		switch name {
		case "_meta":
			flat[name] = decode(t, value)
		case "io.modelcontextprotocol/serverInfo":
		default:
			flat[name] = canonical(t, value)
		}
	}
	return flat
}

func canonical(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var compact any = raw
	b, err := json.Marshal(compact) // compact, and escaped for HTML, as the SDK does it
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
