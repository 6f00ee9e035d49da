package systems_test

import (
	"net/http/httptest"
	"testing"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/check/server"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// Each reference system is an example of how to fail: an A without a finding. The gateway in front of it lowers nothing.
func TestLongCheck(t *testing.T) {
	testkit.Long(t)
	t.Parallel()

	for name, system := range all(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			bare := httptest.NewServer(system.Handler())
			t.Cleanup(bare.Close)
			entrance := system.Entrance()
			gate, _ := gatewaytest.New(t, "servers:\n  s:\n    url: "+bare.URL+entrance.Path+
				"\n    contract: "+name+"\n    path: "+entrance.Path+"\n    forward: [authorization, x-api-key, dev-id]\n")
			front, end := gatewaytest.Serve(t, gate)
			t.Cleanup(end)
			for at, url := range map[string]string{"bare": bare.URL + entrance.Path, "behind the gateway": front + entrance.Path} {
				report := check.Check(t.Context(), &server.Endpoint{URL: url, Header: entrance.Header}, check.Options{
					Mode: check.Safe, Contract: contract.MustBuiltin(name),
				})
				t.Logf("%s: %s, %d of 100, %d of %d rules", at, report.Grade, report.Score, report.Rules.Observed, report.Rules.Of)
				if report.Grade != "A" || report.Stopped != "" {
					t.Errorf("%s: the grade is %q, %s", at, report.Grade, report.Stopped)
				}
				for i := range report.Findings {
					f := &report.Findings[i]
					t.Errorf("%s: %s, %s: %s\n%v", at, f.Rule, f.Tool, f.Said, f.Frames)
				}
			}
		})
	}
}
