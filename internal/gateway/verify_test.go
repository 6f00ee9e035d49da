package gateway_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/promises"
	"github.com/recoursehq/recourse/internal/testkit"
)

var verifyCall = regexp.MustCompile(`\{call: ([A-Za-z_-]+)`)

// verifyTools are the tools by which a built-in contract settles what became of others.
func verifyTools(t *testing.T, name string) []string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "..", "contract", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var tools []string
	for _, m := range verifyCall.FindAllSubmatch(source, -1) {
		tools = append(tools, string(m[1]))
	}
	slices.Sort(tools)
	return slices.Compact(tools)
}

// What a contract names to settle the effect of another call has none itself, whatever the
// server says of it: it is repeated, and fails as a read does.
func TestVerifyToolsRead(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/read-tools")
	found := 0
	for _, c := range contract.Builtin().All() {
		tools := verifyTools(t, c.Name)
		if c.Name == "commerce" {
			tools = append(tools, "get-customers", "get-products", "get-product-variants", "get-inventory")
		}
		found += len(tools)
		for _, tool := range tools {
			t.Run(c.Name+"/"+tool, func(t *testing.T) {
				t.Parallel()
				srv := testkit.NewServer(t, testkit.WithTools(testkit.Tool{Name: tool}))
				client := start(t, srv.URL(), "contract: "+c.Name, "trust_annotations: false").client(t, testkit.Legacy)
				srv.Next(tool, testkit.ResetBeforeAnswer())
				if a, err := client.Call(t.Context(), tool, `{}`); err != nil || a.Message == nil || a.Message.Error != nil {
					t.Fatalf("a broken connection: %v, %s", err, a.Body)
				} else if result, err := a.ToolResult(); err != nil || result.IsError {
					t.Errorf("a broken connection is not made up for: %v, %s", err, a.Body)
				}
				srv.Always(tool, testkit.Status(http.StatusServiceUnavailable, testkit.Plain))
				a, err := client.Call(t.Context(), tool, `{}`)
				if err != nil {
					t.Fatal(err)
				}
				e := recordOf(t, a)
				if e.Effect != recourse.EffectNone || e.Verify != nil || e.RetryAdvice() != recourse.RetrySameCall {
					t.Errorf("down: effect %s, verify %v, %s", e.Effect, e.Verify, e.RetryAdvice())
				}
			})
		}
	}
	if found < 11 {
		t.Errorf("%d tools were found: the contracts name more", found)
	}
}
