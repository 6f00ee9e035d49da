package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/check/report"
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
			notLower(t, bare, behind)
			if behind.Score < bare.Score {
				t.Error("the score is lower behind the gateway")
			}
		})
	}
}

// The same is true of programs that nobody here wrote. Behind the gateway each of them gets an A, and nothing that fails a check.
func TestLongGatewayLowersNoPublicGrade(t *testing.T) {
	testkit.Long(t)
	t.Parallel()

	for name, args := range map[string][]string{
		"everything": {"stdio"}, "filesystem": {t.TempDir()}, "memory": nil, "sequential-thinking": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			npm := newNPMServer(t, name, args...)
			environ := os.Environ()
			for variable, value := range npm.Environ {
				environ = append(environ, variable+"="+value)
			}
			gradePublic(t, npm.Command, environ)
		})
	}
	for _, pkg := range []string{goSDKModule + "/examples/server/memory", "github.com/mark3labs/mcp-go/examples/everything"} {
		t.Run(pkg, func(t *testing.T) {
			t.Parallel()
			gradePublic(t, []string{buildServer(t, pkg)}, os.Environ())
		})
	}
}

// gradePublic checks a program, alone and behind the gateway.
func gradePublic(t *testing.T, command, environ []string) {
	t.Helper()
	line, err := json.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	gate, _ := gatewaytest.New(t, "servers:\n  s:\n    command: "+string(line)+"\n    redact: all\n") // as a check advises: strangers read the paths
	front, end := gatewaytest.Serve(t, gate)
	t.Cleanup(end)
	program := &checked.Program{Command: command, Env: environ, Stderr: io.Discard}
	bare := check.Check(t.Context(), program, check.Options{Mode: check.Safe})
	behind := check.Check(t.Context(), &checked.Endpoint{URL: front + "/s/mcp"}, check.Options{Mode: check.Safe})
	notLower(t, bare, behind)
	behind.FailOn = check.HarmHides
	if n := behind.Failing(); n > 0 || behind.Grade != "A" {
		t.Errorf("behind the gateway: %s, %d findings that fail a check: %+v", behind.Grade, n, behind.Findings)
	}
}

// A gateway that takes a check's entry and its contract, as they were written, tells a failure that nobody had described.
func TestDraftsTellFailures(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.WithTools(testkit.Tool{
		Name: "parcel_get",
		Definition: `{"name":"parcel_get","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":` +
			`{"parcel_id":{"type":"string"}},"required":["parcel_id"],"additionalProperties":false}}`,
		Result: func(arguments json.RawMessage) string {
			var a struct {
				Parcel string `json:"parcel_id"`
			}
			_ = json.Unmarshal(arguments, &a)
			return fmt.Sprintf(`{"isError":true,"content":[{"type":"text","text":%q}]}`, "The depot never saw "+a.Parcel+" come in")
		},
	}))
	r := check.Check(t.Context(), &checked.Endpoint{URL: srv.URL()}, check.Options{Mode: check.Safe})
	r.Reach = "url: " + srv.URL()
	var entry, draft strings.Builder
	if err := errors.Join(report.Entry(&entry, r), report.Draft(&draft, r)); err != nil {
		t.Fatal(err)
	}
	written := strings.Replace(entry.String(), "# contract:", "contract:", 1)
	_, servers, _ := strings.Cut(written, "servers:")
	name := strings.Fields(servers)[0]
	gate, _ := gatewaytest.New(t, written, draft.String())
	front, end := gatewaytest.Serve(t, gate)
	t.Cleanup(end)
	client := testkit.NewClient(t, front+"/"+strings.TrimSuffix(name, ":")+"/mcp", testkit.Legacy)
	client.MustInitialize(t)
	a := client.MustRequest(t, "1", "tools/call", `{"name":"parcel_get","arguments":{"parcel_id":"P-7"}}`)
	e := gatewaytest.Record(t, a)
	if e.Kind != recourse.KindNotFound || e.Contract != strings.TrimSuffix(name, ":") || e.Resource.ID != "P-7" {
		t.Errorf("got %+v from %s, with\n%s\n%s", e, a.Body, written, draft.String())
	}
}

// notLower compares the reports of a server and of the gateway in front of it.
func notLower(t *testing.T, bare, behind *check.Report) {
	t.Helper()
	t.Logf("bare %s, %d of 100; behind the gateway %s, %d", bare.Grade, bare.Score, behind.Grade, behind.Score)
	if behind.Grade > bare.Grade {
		t.Error("the grade is lower behind the gateway")
	}
	for i := range behind.Findings {
		if f := &behind.Findings[i]; slices.Contains(bare.Kept, f.Rule) {
			t.Errorf("%s is broken behind the gateway alone: %s: %s", f.Rule, f.Tool, f.Said)
		}
	}
}
