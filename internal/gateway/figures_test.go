package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

// Figures reports processes started and dead, sessions, and what is left of the retry budget.
func TestFigures(t *testing.T) {
	t.Parallel()
	program := child.NewProgram(t)
	entry := append(gatewaytest.CommandFor(t, program, testkit.Legacy), "tools: {get_field: {read_only: true}}")
	g, _ := gatewaytest.NewReaching(t, gatewaytest.Impatient, "servers:\n  farm:\n    "+strings.Join(entry, "\n    ")+"\n  barn:\n    url: http://127.0.0.1:1/mcp\n")
	client := testkit.NewClient(t, gatewaytest.Open(t, g, false)+"/farm/mcp", testkit.Legacy)
	client.MustInitialize(t)
	if a, err := client.Call(t.Context(), testkit.GetField, testkit.FieldArgs); err != nil || !a.Succeeded() {
		t.Fatalf("%v", err)
	}
	program.Next(testkit.GetField, "exit")
	if a, err := client.Call(t.Context(), testkit.GetField, testkit.FieldArgs); err != nil || !a.Succeeded() {
		t.Fatalf("%v", err)
	}
	f := g.Figures()
	if len(f.Servers) != 2 || f.Servers[0].Server != "farm" || f.Servers[1].Server != "barn" || f.Servers[1].Processes != nil {
		t.Fatalf("got %+v", f)
	}
	farm := f.Servers[0]
	if p := farm.Processes; p == nil || p.Running != 1 || p.Started != 2 || p.Died != 1 {
		t.Errorf("got processes %+v", p)
	}
	if farm.Sessions != 1 || farm.Budget >= 10 || farm.Budget < 9 || f.Requests != 0 || f.RequestBytes != 0 || !f.Expires.IsZero() {
		t.Errorf("got %+v", f)
	}
	if a, err := client.Delete(t.Context()); err != nil || a.Status >= http.StatusMultipleChoices {
		t.Fatalf("got %+v, %v", a, err)
	}
	if n := g.Figures().Servers[0].Sessions; n != 0 {
		t.Errorf("got %d sessions", n)
	}
}
