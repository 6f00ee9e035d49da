package failures_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

var verifyCall = regexp.MustCompile(`\{tool: ([A-Za-z_-]+)`)

// verifyTools returns the tools of a built-in contract's verify calls.
func verifyTools(t *testing.T, name string) []string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "..", "..", "contract", name+".yaml"))
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

// The tools of a contract's verify calls count as reads, whatever the server says: their calls are repeated, and fail
// without an effect.
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
				client := gatewaytest.Start(t, srv.URL(), "contract: "+c.Name, "trust_annotations: false").Client(t, testkit.Legacy)
				srv.Next(tool, faults.ResetBeforeAnswer())
				if a, err := client.Call(t.Context(), tool, `{}`); err != nil || a.Message == nil || a.Message.Error != nil {
					t.Fatalf("after a broken connection: got %s, %v", a.Body, err)
				} else if result, err := a.ToolResult(); err != nil || result.IsError {
					t.Errorf("after a broken connection: got %s, %v, want a success", a.Body, err)
				}
				srv.Always(tool, faults.Status(http.StatusServiceUnavailable, faults.Plain))
				a, err := client.Call(t.Context(), tool, `{}`)
				if err != nil {
					t.Fatal(err)
				}
				e := gatewaytest.Record(t, a)
				if e.Effect != recourse.EffectNone || e.Verify != nil || e.RetryAdvice() != recourse.RetrySameCall {
					t.Errorf("while the server is down: got effect %s, verify %v, %s", e.Effect, e.Verify, e.RetryAdvice())
				}
			})
		}
	}
	if found < 11 {
		t.Errorf("got only %d tools, fewer than the contracts name", found)
	}
}

// The verify call comes from the contract in reads, whichever contract clients see. The server's entry goes before it. None names
// a tool that the server does not have.
func TestVerifyOfTheContractThatIsRead(t *testing.T) {
	t.Parallel()
	const entry = "tools: {study_create: {verify: {tool: study_list}}}"
	lists := []testkit.Tool{{Name: "study_get"}, {Name: "study_list"}}
	for _, tt := range []struct {
		name, tool, want string
		entry            []string
	}{
		{"contract", "study_create", "study_get", []string{"contract: studies"}},
		{"reads", "study_create", "study_get", []string{"contract: recourse", "reads: studies"}},
		{"reads, and another contract", "study_create", "study_get", []string{"contract: commerce", "reads: studies"}},
		{"entry", "study_create", "study_list", []string{"contract: recourse", "reads: studies", entry}},
		{"other tool", "study_other", "", []string{"contract: recourse", "reads: studies"}},
		{"neither", "study_create", "", []string{"contract: recourse"}},
		{"no such tool", "study_create", "", []string{"contract: studies"}},
		{"no such tool, read", "study_create", "", []string{"contract: recourse", "reads: studies"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tools := []testkit.Tool{{Name: tt.tool}}
			if !strings.HasPrefix(tt.name, "no such tool") {
				tools = append(tools, lists...)
			}
			srv := testkit.NewServer(t, testkit.WithTools(tools...))
			srv.Always(tt.tool, faults.Status(http.StatusServiceUnavailable, faults.Plain))
			client := gatewaytest.Start(t, srv.URL(), append(tt.entry, "trust_annotations: false")...).Client(t, testkit.Legacy)
			a, err := client.Call(t.Context(), tt.tool, `{"workspace_id":"w-1"}`)
			if err != nil {
				t.Fatal(err)
			}
			e := gatewaytest.Record(t, a)
			switch {
			case e.Effect != recourse.EffectUnknown:
				t.Errorf("got effect %q: %s", e.Effect, a.Body)
			case tt.want == "" && e.Verify != nil, tt.want != "" && (e.Verify == nil || e.Verify.Tool != tt.want):
				t.Errorf("got verify %+v, want %q: %s", e.Verify, tt.want, a.Body)
			case tt.want == "study_get" && (len(e.Verify.Args) != 1 || string(e.Verify.Args[0].Value) != `"w-1"`):
				t.Errorf("got arguments %v of verify: %s", e.Verify.Args, a.Body)
			}
		})
	}
}
