package systems_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// studyTools are the tools of a server of studies: those that tests call, and those that hints and verify calls name.
func studyTools() testkit.Option {
	var tools []testkit.Tool
	for _, name := range []string{
		"study_get", "person_get", "workspace_get", "ask_get", "study_create", "iteration_create", "run_dispatch", "study_analyze",
		"person_create", "workspace_create", "ask_create", "study_publish",
	} {
		tools = append(tools, testkit.Tool{Name: name, Definition: `{"name":"` + name + `","inputSchema":{"type":"object","properties":{` +
			`"study_id":{"type":"string"},"participants":{"type":"integer","maximum":20}},"required":[]}}`})
	}
	for _, name := range []string{"chatbot_setup", "person_attach"} {
		tools = append(tools, testkit.Tool{Name: name, Definition: `{"name":"` + name + `","inputSchema":{"type":"object"},` +
			`"outputSchema":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}}`})
	}
	return testkit.WithTools(tools...)
}

// A write that may have landed is not repeated; its failure names the call that finds out.
func TestStudiesWrites(t *testing.T) {
	t.Parallel()
	const landed = " Suggestions: The write may have landed. Before calling again run "
	tests := []struct {
		tool, arguments string
		fault           testkit.Fault
		text            string
		promises        []string
	}{
		{
			"study_create", `{"workspace_id":"w-1"}`, faults.ResetBeforeAnswer(),
			"[network_error] The connection to farm broke before the answer was complete." + landed + `study_get(workspace_id='w-1') and check the study list`,
			[]string{"studies/verify-study", "studies/write-may-have-landed", "studies/write-not-blindly", "studies/write-names-call", "studies/prefix", "studies/is-error"},
		},
		{
			"iteration_create", `{"study_id":"s-1"}`, faults.Hang(),
			"[timeout] farm did not answer within 1 s." + landed + `study_get(study_id='s-1', view='full') and check the iterations list`,
			[]string{"studies/verify-iteration", "studies/timeout-no-answer"},
		},
		{
			"run_dispatch", `{"study_id":"s-1"}`, faults.Hang(),
			"[timeout] farm did not answer within 1 s." + landed + `study_get(study_id='s-1', lean=True) and check participant_count and runtime_status`,
			[]string{"studies/verify-dispatch"},
		},
		{
			"study_analyze", `{"study_id":"s-1"}`, faults.Status(http.StatusInternalServerError, faults.Plain),
			"[server_error] farm failed (HTTP 500)." + landed + `study_get(study_id='s-1', view='insights') and check the insights`,
			[]string{"studies/verify-analyze", "studies/verify-server-error"},
		},
		{
			"person_create", `{"workspace_id":"w-1"}`, faults.ResetBeforeAnswer(),
			"[network_error] The connection to farm broke before the answer was complete." + landed + `person_get(workspace_id='w-1') and check the person list`,
			[]string{"studies/verify-person"},
		},
		{
			"workspace_create", `{}`, faults.ResetBeforeAnswer(),
			"[network_error] The connection to farm broke before the answer was complete." + landed + `workspace_get() and check the workspace list`,
			[]string{"studies/verify-workspace"},
		},
		{
			"ask_create", `{"workspace_id":"w-1"}`, faults.ResetBeforeAnswer(),
			"[network_error] The connection to farm broke before the answer was complete." + landed + `ask_get(workspace_id='w-1') and check the ask list`,
			[]string{"studies/verify-ask"},
		},
		{
			"study_publish", `{}`, faults.ResetBeforeAnswer(),
			"[network_error] The connection to farm broke before the answer was complete." +
				" Suggestions: If the call writes, it may have landed: check with the matching _get before calling again. If it only reads, back off and retry", nil,
		},
	}
	for _, tt := range tests {
		testkit.Virtual(t, tt.tool, func(t *testing.T) {
			promises.Covers(t, tt.promises...)
			srv := testkit.NewServer(t, testkit.InMemory(), studyTools())
			srv.Always(tt.tool, tt.fault)
			client := gatewaytest.Start(t, srv.URL(), "contract: studies", gatewaytest.UntilDeadline).Client(t, testkit.Legacy)
			a, err := client.Call(t.Context(), tt.tool, tt.arguments)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"content":[{"type":"text","text":` + protocol.Quote(tt.text) + `}],"isError":true}`
			if diff := cmp.Diff(want, gatewaytest.Shown(t, a)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if e := gatewaytest.Record(t, a); e.Effect != recourse.EffectUnknown || e.RetryAdvice() != recourse.RetryReRead {
				t.Errorf("got effect %s, %s", e.Effect, e.RetryAdvice())
			}
			if n := srv.Attempts(tt.tool); n != 1 {
				t.Errorf("got %d attempts at the server", n)
			}
		})
	}
}

// A call with bad arguments does not reach the server.
func TestStudiesArguments(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/code-validation-error", "studies/validation-range", "studies/validation-names-field", "studies/validation-advice",
		"studies/pre-flight-before-backend", "studies/pre-flight-parameter")
	srv := testkit.NewServer(t, studyTools())
	client := gatewaytest.Start(t, srv.URL(), "contract: studies").Client(t, testkit.Legacy)
	a, err := client.Call(t.Context(), "run_dispatch", `{"participants":21}`)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"content":[{"type":"text","text":` + protocol.Quote("[validation_error] participants must be at most 20. Suggestions: Fix participants and retry"+
		` [envelope] {"error_kind":"validation_error","suggestions":["Fix participants and retry"],"tool":"run_dispatch"}`) + `}],"isError":true}`
	if diff := cmp.Diff(want, gatewaytest.Shown(t, a)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := srv.Attempts("run_dispatch"); n != 0 {
		t.Errorf("got %d attempts at the server", n)
	}
}

// Failures of a server of studies pass unchanged, including the envelope.
func TestStudiesPassesItsOwn(t *testing.T) {
	t.Parallel()
	const envelope = `[no_audio_track] The video has no sound. Suggestions: Add a track, any will do; Upload anew [envelope] ` +
		`{"error_kind":"no_audio_track","suggestions":["Add a track; any will do","Upload anew"],` +
		`"note":"\u005benvelope] {\"x\":1}","source_url":"https://example.com/a.mp4"}`
	const object = `{"ok":false,"error_kind":"smoke_test_failed","message":"No answer.","suggestions":["Check the selector; then retry"],"step":2}`
	returned := `{"content":[{"type":"text","text":` + protocol.Quote(object) + `}],"structuredContent":` + object + `}`
	text := func(line string) string {
		return `{"content":[{"type":"text","text":` + protocol.Quote(line) + `}],"isError":true}`
	}
	tests := []struct {
		name     string
		tool     string
		result   string
		kind     recourse.Kind
		code     string
		hints    []string
		readings []string
	}{
		{
			"an envelope", "run_dispatch", text(envelope), recourse.KindClientError, "no_audio_track",
			[]string{"Add a track; any will do", "Upload anew"},
			[]string{
				"studies/envelope-kind", "studies/envelope-suggestions", "studies/envelope-suffix", "studies/envelope-members", "studies/envelope-last",
				"studies/envelope-escaped", "studies/envelope-truth",
			},
		},
		{
			"suggestions", "run_dispatch", text("[empty_audience] The filters match nobody. Suggestions: Widen the age, or drop it; Ask in Spain"),
			recourse.KindNoMatch, "empty_audience",
			[]string{"Widen the age, or drop it", "Ask in Spain"},
			[]string{"studies/suggestion-semicolon"},
		},
		{
			"a set-up that failed", "chatbot_setup", returned, recourse.KindClientError, "smoke_test_failed",
			[]string{"Check the selector; then retry"},
			[]string{"studies/chatbot-setup", "studies/chatbot-setup-smoke-test", "studies/returned-no-is-error", "studies/returned-members"},
		},
		{
			"a person that was not attached", "person_attach", returned, recourse.KindClientError, "smoke_test_failed",
			[]string{"Check the selector; then retry"},
			[]string{"studies/person-attach"},
		},
		{
			"the tunnel program", "study_publish", text("[cloudflared_missing] It is not on PATH. Suggestions: Install it"),
			recourse.KindInvalidState, "cloudflared_missing",
			[]string{"Install it"},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			promises.Reads(t, tt.readings...)
			srv := testkit.NewServer(t, studyTools())
			srv.Always(tt.tool, faults.Result("", tt.result))
			client := gatewaytest.Start(t, srv.URL(), "contract: studies", "reads: studies").Client(t, testkit.Legacy)
			a, err := client.Call(t.Context(), tt.tool, `{}`)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.result, gatewaytest.Shown(t, a)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			e := gatewaytest.Record(t, a)
			for i, hint := range tt.hints { // the gateway's record marks the server's hints
				tt.hints[i] = contract.ServerSays + hint
			}
			if diff := cmp.Diff(tt.hints, e.Hints); diff != "" || e.Kind != tt.kind || e.Code != tt.code {
				t.Errorf("got %s %s, hints (-want +got):\n%s", e.Kind, e.Code, diff)
			}
		})
	}
}

// A tool that returns failures as results does so for every failure. A success passes unchanged.
func TestStudiesReturns(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, studyTools())
	srv.Always("chatbot_setup", faults.Status(http.StatusTooManyRequests, faults.Plain).With("Retry-After", "60"))
	const success = `{"content":[],"structuredContent":{"ok":true,"error_kind":null}}`
	srv.Always("person_attach", faults.Result("", success))
	client := gatewaytest.Start(t, srv.URL(), "contract: studies", "reads: studies").Client(t, testkit.Legacy)
	a, err := client.Call(t.Context(), "chatbot_setup", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Structured map[string]any `json:"structuredContent"`
		IsError    bool           `json:"isError"`
	}
	if err := json.Unmarshal(a.Message.Result, &result); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"ok": false, "error_kind": "rate_limited", "message": "farm limits requests at the moment.", "suggestions": []any{"Back off for 1 min and retry"},
	}
	if diff := cmp.Diff(want, result.Structured); diff != "" || result.IsError {
		t.Errorf("got isError %t, structuredContent (-want +got):\n%s", result.IsError, diff)
	}
	if a, err = client.Call(t.Context(), "person_attach", `{}`); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(success, string(a.Message.Result)); diff != "" {
		t.Errorf("a success (-want +got):\n%s", diff)
	}
}
