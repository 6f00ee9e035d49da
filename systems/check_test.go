package systems_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/check/server"
	"github.com/recoursehq/recourse/internal/gateway"
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

// The line that a check gives for a write that happens twice mends it: the gateway in front has no finding, however the check loses
// the answer. A server without sessions cannot be told to cancel a call, and is not held to it.
func TestLongCheckOfOnce(t *testing.T) {
	testkit.Long(t)
	t.Parallel()

	system := all(t)["studies"]
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		system.Handler().ServeHTTP(w, r)
		if bytes.Contains(body, []byte("study_create")) {
			time.Sleep(20 * time.Millisecond) // a moment in which the study is there and its answer is not
		}
	}))
	t.Cleanup(bare.Close)
	path := system.Entrance().Path
	gate, _ := gatewaytest.NewReaching(t, gateway.Reach{Once: gatewaytest.OpenStore(t, "sqlite:"+filepath.Join(t.TempDir(), "once.db")).Once()},
		"store: sqlite:once.db\nservers:\n  s:\n    url: "+bare.URL+path+"\n    contract: studies\n    path: "+path+"\n    tools: {study_create: {once: true}}\n")
	front, end := gatewaytest.Serve(t, gate)
	t.Cleanup(end)
	writes, err := check.ReadWrites("writes.yaml", []byte(`
calls:
- tool: study_create
  args: {workspace_id: w-1, title: "{mark}"}
  verify: {tool: study_get, args: {workspace_id: w-1}}
- tool: run_dispatch
  args: {study_id: s-1, country: PT, wait: true, timeout: 30}
  slow: true
`))
	if err != nil {
		t.Fatal(err)
	}
	report := check.Check(t.Context(), &server.Endpoint{URL: front + path, Header: system.Entrance().Header}, check.Options{
		Mode: check.Owner, Contract: contract.MustBuiltin("studies"), Writes: writes,
	})
	for i := range report.Findings {
		f := &report.Findings[i]
		t.Errorf("%s, %s: %s", f.Rule, f.Tool, f.Said)
	}
	for _, rule := range []string{"repeated-write", "parallel-write", "slow-beside"} {
		if !slices.Contains(report.Kept, rule) {
			t.Errorf("not kept: %s, stopped: %s", rule, report.Stopped)
		}
	}
}
