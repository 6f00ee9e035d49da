package failures_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// A failure in a tool result stays a tool result, whatever it says: hosts show results to their models, but raise JSON-RPC
// errors and 4xx in their programs. This is a sample: each contract in one era.
func TestFailureInResultStaysAResult(t *testing.T) {
	t.Parallel()
	testFailureInResult(t)
}

// Each contract in the other era.
func TestLongFailureInResultStaysAResult(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testFailureInResult(t)
}

func testFailureInResult(t *testing.T) {
	t.Helper()
	said := map[string]string{}
	for _, text := range []string{
		"MCP error -32602: Tool order_create not found", // as TypeScript servers answer
		"Unknown tool: order_create",
		"MCP error -32601: Method not found",
		"MCP error -32600: Invalid Request",
		"MCP error -32700: Parse error",
		"MCP error -32001: Session not found",
		"MCP error -32022: Unsupported protocol version",
	} {
		said[text] = fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"isError":true}`, text)
	}
	const record = `"_meta":{"` + recourse.MetaKey + `":{"v":1,"kind":%q,"message":"It says so."}}`
	for _, kind := range recourse.Kinds() {
		said[string(kind)] = fmt.Sprintf(`{"content":[{"type":"text","text":"It says so."}],"isError":true,`+record+`}`, kind)
	}
	said["cut"] = fmt.Sprintf(`{"isError":true,`+record+`,"content":[{"type":"text","text":"It says so. %s"}]}`,
		recourse.KindUnknownTool, strings.Repeat("And more. ", 32<<10))
	for row, contract := range []string{"recourse", "fieldmcp", "commerce", "studies", "patterns"} {
		for column, era := range testkit.Eras {
			if !testkit.Sampled(t, row+column, 2) {
				continue
			}
			t.Run(contract+"/"+era.String(), func(t *testing.T) {
				t.Parallel()
				srv := testkit.NewServer(t)
				client := gatewaytest.Start(t, srv.URL(), "contract: "+contract, "trusted: true").Client(t, era)
				for name, result := range said {
					if contract == "fieldmcp" && (name == string(recourse.KindRateLimited) || name == string(recourse.KindQuotaExhausted)) {
						continue // over HTTP the contract has another form for it
					}
					srv.Always(testkit.OrderCreate, faults.Result("said", result))
					a, err := client.Call(t.Context(), testkit.OrderCreate, `{"reference":"A","amount":1}`)
					if err != nil || a.Status != http.StatusOK || a.Message == nil || a.Message.Result == nil {
						t.Errorf("%s: got %v, HTTP %d %.300s", name, err, a.Status, a.Body)
					} else if a.Succeeded() {
						t.Errorf("%s: got success %.300s", name, a.Body)
					}
				}
			})
		}
	}
}
