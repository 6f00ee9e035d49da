package studies_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/docs/contractgen"
	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/studies"
)

// A scriptedCall is a call for a client in another language, and its expected outcome.
type scriptedCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Title     string          `json:"title,omitempty"` // shows that a write has landed, if the contract does not say

	calls, verifies, polls int           // polls is a minimum
	result                 string        // a part of the result
	kind                   string        // of the failure
	wait                   time.Duration // the first wait
}

// Clients in other languages do here what package recovery does in TestClientVerifies and TestClientPolls.
func scriptedCalls() []scriptedCall {
	call := func(tool, arguments string) scriptedCall {
		return scriptedCall{Tool: tool, Arguments: json.RawMessage(arguments), calls: 1}
	}
	landed := call("workspace_update", `{"workspace_id":"w-1","name":"Lab fault-drop"}`)
	landed.verifies, landed.result = 1, "Lab fault-drop"
	byHook := call("study_create", `{"workspace_id":"w-1","title":"Lunch fault-drop"}`)
	byHook.Title, byHook.verifies, byHook.result = "Lunch fault-drop", 1, "Lunch fault-drop"
	open := call("study_create", `{"workspace_id":"w-1","title":"Supper fault-drop"}`)
	open.verifies, open.kind = 1, "unreachable"
	limited := call("study_create", `{"workspace_id":"w-1","title":"Brunch fault-429"}`)
	limited.calls, limited.kind = 4, "rate_limited"
	mistaken := call("study_create", `{"workspace_id":"s-1","title":"Snack"}`)
	mistaken.kind = "invalid_value"
	run := call("run_dispatch", `{"study_id":"s-1","country":"PT"}`)
	run.polls, run.result = 2, `"runtime_status":"completed"`
	analysis := call("study_analyze", `{"study_id":"s-1","focus":"fault-later429"}`)
	analysis.polls, analysis.result = 2, `"status":"completed"`
	failed := call("study_analyze", `{"study_id":"s-3"}`)
	failed.polls, failed.kind = 2, "job_failed"
	returned := call("chatbot_setup", `{"workspace_id":"w-1","url":"https://mute.example.com/chat"}`) // no error for a program
	returned.result = `"ok":false,"error_kind":"smoke_test_failed"`
	return []scriptedCall{landed, byHook, open, mistaken, run, analysis, failed, returned, returned, limited}
}

// checkScripted compares the lines that a client printed with the expected outcomes.
func checkScripted(t *testing.T, calls []scriptedCall, out []byte) {
	t.Helper()
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(lines) != len(calls) {
		t.Fatalf("%d lines for %d calls:\n%s", len(lines), len(calls), out)
	}
	for i, call := range calls {
		var got struct {
			Result   string `json:"result"`
			Kind     string `json:"kind"`
			Calls    int    `json:"calls"`
			Verifies int    `json:"verifies"`
			Polls    int    `json:"polls"`
			Waits    []int  `json:"waits"`
		}
		if err := json.Unmarshal(lines[i], &got); err != nil {
			t.Fatalf("%v: %s", err, lines[i])
		}
		unquoted := strings.ReplaceAll(got.Result, `\"`, `"`)
		if got.Kind != call.kind || !strings.Contains(unquoted, call.result) {
			t.Errorf("%s %s: got %s", call.Tool, call.Arguments, lines[i])
		}
		if call.wait > 0 && (len(got.Waits) == 0 || got.Waits[0] != int(call.wait.Milliseconds())) {
			t.Errorf("%s %s: waits of %v ms, want %s first", call.Tool, call.Arguments, got.Waits, call.wait)
		}
		if got.Calls != call.calls || got.Verifies != call.verifies || got.Polls < call.polls || call.polls == 0 && got.Polls > 0 {
			t.Errorf("%s %s: %s, want %d calls, %d verify calls and at least %d polls",
				call.Tool, call.Arguments, lines[i], call.calls, call.verifies, call.polls)
		}
	}
}

// A client with either TypeScript SDK, wrapped in recover(), follows the contract. The package keeps what the SDK drops of an HTTP error.
func TestTypeScriptRecovers(t *testing.T) {
	t.Parallel()
	node := sdk.Node(t)
	for _, version := range []string{"v1", "v2"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			table := filepath.Join(t.TempDir(), "studies.json")
			if err := os.WriteFile(table, contractgen.JSON(rules(t)), 0o600); err != nil {
				t.Fatal(err)
			}
			s := newSystem(t, studies.Options{Timeout: 300 * time.Millisecond})
			headers := map[string]string{}
			for name := range s.Entrance().Header {
				headers[name] = s.Entrance().Header.Get(name)
			}
			limited := scriptedCall{
				Tool: "study_get", Arguments: json.RawMessage(`{"study_id":"s-1","view":"full"}`),
				calls: 2, result: `"id":"s-1"`, wait: 7500 * time.Millisecond,
			}
			calls := append(scriptedCalls(), limited)
			cmd := exec.CommandContext(t.Context(), "node", filepath.Join(node, "testkit", "recover.mjs"), version, sdk.TypeScriptPackage(t), table,
				serveLimiting(t, s), marshal(t, headers), marshal(t, calls))
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			checkScripted(t, calls, out)
		})
	}
}

// serveLimiting serves a system that answers the first look at a whole study with status 429 and a wait of 7 s.
func serveLimiting(t *testing.T, s *studies.System) string {
	t.Helper()
	return systemtest.Inject(t, s, `- match: {tool: study_get, arguments: {/view: full}}
  times: 1
  fault: {status: 429, headers: {Retry-After: "7"}, body: too many requests}`)
}

// A session over stdio, with only Python's standard library, does the same.
func TestPythonRecovers(t *testing.T) {
	t.Parallel()
	table := filepath.Join(t.TempDir(), "studies.json")
	if err := os.WriteFile(table, contractgen.JSON(rules(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	calls := scriptedCalls()
	cmd := sdk.Python(t, "recover.py", table, marshal(t, calls), self)
	cmd.Env = append(cmd.Environ(), systemtest.AsProgram+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	checkScripted(t, calls, out)
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
