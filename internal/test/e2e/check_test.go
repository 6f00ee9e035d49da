package e2e_test

import (
	"testing"

	"github.com/recoursehq/recourse/internal/check"
	checked "github.com/recoursehq/recourse/internal/check/server"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

// The gateway never lowers a server's grade, and breaks no rule that the server keeps.
func TestGatewayLowersNoGrade(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(testing.TB) string{
		"Go SDK": goSDK(testkit.Legacy), "mcp-go": mcpGoServer, "testkit": streaming, "everything": sdk.Everything,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(t)
			bare := check.Check(t.Context(), &checked.Endpoint{URL: url}, check.Options{Mode: check.Safe})
			behind := check.Check(t.Context(), &checked.Endpoint{URL: gatewaytest.Start(t, url).URL}, check.Options{Mode: check.Safe})
			t.Logf("bare %s, %d of 100; behind the gateway %s, %d", bare.Grade, bare.Score, behind.Grade, behind.Score)
			if behind.Score < bare.Score {
				t.Error("the grade is lower behind the gateway")
			}
			broken := map[string]bool{}
			for i := range bare.Findings {
				broken[bare.Findings[i].Rule] = true
			}
			for _, n := range bare.NotObserved {
				broken[n.Rule] = true // it may be
			}
			for i := range behind.Findings {
				if f := behind.Findings[i]; !broken[f.Rule] {
					t.Errorf("%s is broken behind the gateway alone: %s: %s", f.Rule, f.Tool, f.Said)
				}
			}
		})
	}
}
