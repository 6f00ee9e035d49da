package contract_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// line returns the text of a tool result; the result's only other member is isError.
func line(t *testing.T, a contract.Answer) string {
	t.Helper()
	var result struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		IsError bool            `json:"isError"`
		Meta    json.RawMessage `json:"_meta"`
	}
	dec := json.NewDecoder(strings.NewReader(string(a.Result)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&result); err != nil || len(result.Content) != 1 || !result.IsError {
		t.Fatalf("%v: %s", err, contracttest.Wire(a))
	}
	return result.Content[0].Text
}

// backend returns an HTTP answer of the service's backend.
func backend(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// The status selects the code, unless the backend names one.
func TestStudiesBackend(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status    int
		body      string
		code      string
		kind      recourse.Kind
		retryable bool
	}{
		{401, ``, "auth_failed", recourse.KindUnauthenticated, false},
		{403, ``, "auth_failed", recourse.KindPermissionDenied, false},
		{403, `{"error_code":"forbidden"}`, "forbidden", recourse.KindPermissionDenied, false},
		{403, `{"error_code":"insufficient_credits"}`, "insufficient_credits", recourse.KindQuotaExhausted, false},
		{402, ``, "insufficient_credits", recourse.KindQuotaExhausted, false},
		{404, ``, "not_found", recourse.KindNotFound, false},
		{408, ``, "timeout", recourse.KindTimeout, true},
		{422, ``, "validation_error", recourse.KindInvalidValue, false},
		{429, ``, "rate_limited", recourse.KindRateLimited, true},
		{500, ``, "server_error", recourse.KindServerError, true},
		{501, ``, "server_error", recourse.KindNotImplemented, true},
		{502, ``, "server_error", recourse.KindUnavailable, true},
		{503, ``, "server_error", recourse.KindUnavailable, true},
		{504, ``, "server_error", recourse.KindTimeout, true},
		{400, ``, "client_error", recourse.KindClientError, false},
		{405, ``, "client_error", recourse.KindClientError, false},
		{409, ``, "client_error", recourse.KindConflict, false},
		{410, ``, "client_error", recourse.KindNotFound, false},
		{413, ``, "client_error", recourse.KindTooLarge, false},
		{418, ``, "client_error", recourse.KindClientError, false},
		// The backend's code overrides the status, in both directions.
		{400, `{"error_code":"empty_audience"}`, "empty_audience", recourse.KindNoMatch, false},
		{409, `{"error_code":"usage_limit_reached"}`, "usage_limit_reached", recourse.KindLimitReached, false},
		{400, `{"error_code":"rate_limited"}`, "rate_limited", recourse.KindRateLimited, true},
		{500, `{"error_code":"not_found"}`, "not_found", recourse.KindNotFound, false},
		{401, `{"error_code":"signing_key_mismatch"}`, "auth_failed", recourse.KindUnauthenticated, false},
		// An unlisted code is shown, and the status decides about retrying.
		{409, `{"error_code":"study_locked"}`, "study_locked", recourse.KindConflict, false},
		{408, `{"error_code":"slow_panel"}`, "slow_panel", recourse.KindTimeout, true},
		{429, `{"error_code":"burst_limit"}`, "burst_limit", recourse.KindRateLimited, true},
		{503, `{"error_code":"maintenance"}`, "maintenance", recourse.KindUnavailable, true},
		{501, `{"error_code":"not_built"}`, "not_built", recourse.KindNotImplemented, true},
		{400, `{"error_code":"two words"}`, "http_error", recourse.KindClientError, false},
		{500, `{"error_code":"two words"}`, "http_error", recourse.KindServerError, true},
		// A value that cannot be a code is ignored.
		{409, `{"error":"Conflict","code":"E17"}`, "client_error", recourse.KindConflict, false},
		{409, `{"error_code":17}`, "17", recourse.KindConflict, false},
		{409, `{"error_code":{"a":1}}`, "client_error", recourse.KindConflict, false},
		{409, `[]`, "client_error", recourse.KindConflict, false},
		{409, `{`, "client_error", recourse.KindConflict, false},
	}
	c := contract.MustBuiltin("studies")
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.status, tt.body), func(t *testing.T) {
			t.Parallel()
			call := contracttest.ToolCall()
			e := c.FromHTTP("the backend", backend(tt.status, tt.body))
			if e.Kind != tt.kind || e.Cause() == nil || e.Upstream.Status != tt.status {
				t.Errorf("kind %s, want %s; %+v", e.Kind, tt.kind, e)
			}
			text := line(t, c.Write(e, &call))
			if !strings.HasPrefix(text, "["+tt.code+"] ") || c.Retryable(e, &call) != tt.retryable {
				t.Errorf("%s, retryable %t; want %s, %t", text, c.Retryable(e, &call), tt.code, tt.retryable)
			}
		})
	}
	if e := c.FromHTTP("the backend", backend(200, `{"error_code":"x"}`)); e != nil {
		t.Errorf("a success is read as %v", e)
	}
	challenge := backend(401, ``)
	challenge.Header.Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	call := contracttest.ToolCall()
	if text := line(t, c.Write(recourse.FromHTTP("the backend", challenge), &call)); !strings.HasPrefix(text, "[auth_failed] ") {
		t.Errorf("a challenge is read as %s", text)
	}
	waits := backend(429, `{}`)
	waits.Header.Set("Retry-After", "12")
	if e := c.FromHTTP("the backend", waits); e.RetryAfter != 12*time.Second {
		t.Errorf("wait %s", e.RetryAfter)
	}
}

// What a message contains besides its sentence.
func TestStudiesLines(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("studies")
	unknown := func(e *recourse.Error) *recourse.Error { return e.WithEffect(recourse.EffectUnknown) }
	lost := recourse.Timeout("The backend", 30*time.Second)
	broken := recourse.Unreachable("The backend")
	const landed = " Suggestions: The write may have landed. Before calling again run "
	tests := map[string]struct {
		e         *recourse.Error
		tool      string
		arguments string
		want      string
	}{
		"study create": {
			unknown(lost), "study_create", `{"workspace_id":"w-1","name":"n"}`,
			`[timeout] The backend did not answer within 30 s.` + landed + `study_get(workspace_id='w-1') and check the study list`,
		},
		"iteration": {
			unknown(broken), "iteration_create", `{"study_id":"s-1"}`,
			`[network_error] The backend could not be reached.` + landed + `study_get(study_id='s-1', view='full') and check the iterations list`,
		},
		"run dispatch": {
			unknown(lost), "run_dispatch", `{"study_id":"s-1"}`,
			`[timeout] The backend did not answer within 30 s.` + landed + `study_get(study_id='s-1', lean=True) and check participant_count and runtime_status`,
		},
		"analyze": {
			unknown(recourse.ServerError("The backend", 500)), "study_analyze", `{"study_id":"s-1"}`,
			`[server_error] The backend failed (HTTP 500).` + landed + `study_get(study_id='s-1', view='insights') and check the insights`,
		},
		"person": {
			unknown(broken), "person_create", `{"workspace_id":"w-1"}`,
			`[network_error] The backend could not be reached.` + landed + `person_get(workspace_id='w-1') and check the person list`,
		},
		"workspace": {
			unknown(broken), "workspace_create", `{}`,
			`[network_error] The backend could not be reached.` + landed + `workspace_get() and check the workspace list`,
		},
		"ask": {
			unknown(broken), "ask_create", `{"workspace_id":"w-1"}`,
			`[network_error] The backend could not be reached.` + landed + `ask_get(workspace_id='w-1') and check the ask list`,
		},
		"another write": {
			unknown(broken), "study_publish", `{}`,
			`[network_error] The backend could not be reached. Suggestions: The write may have landed. Check with the matching _get before calling again`,
		},
		"a read": {broken.WithEffect(recourse.EffectNone), "study_get", `{}`, `[network_error] The backend could not be reached. Suggestions: Retry`},
		"signing key": {
			c.FromHTTP("The backend", backend(401, `{"error_code":"signing_key_mismatch","message":"The signature does not match."}`)), "study_get", `{}`,
			"[auth_failed] The signature does not match. Suggestions: The token was signed for another environment: " +
				"use the key and the base URL of one and the same environment, then retry",
		},
		"a study": {
			recourse.NotFound("study", "s-9"), "study_get", `{}`,
			`[not_found] There is no study "s-9". Suggestions: List again with study_get to confirm the id, then retry`,
		},
		"a participant without responses": {
			recourse.NoData("The participant has no responses yet."), "study_get", `{}`,
			"[not_found] The participant has no responses yet. Suggestions: List again with the matching _get to confirm the id, then retry",
		},
		"a parameter": {
			recourse.Missing("study_id"), "study_get", `{}`, `[validation_error] Parameter study_id is required. Suggestions: Fix study_id and retry`,
		},
		"flags": {
			recourse.Conflicting("study_id", "workspace_id"), "study_get", `{}`,
			`[validation_error] Parameters study_id and workspace_id cannot be used together. Suggestions: Set only one of them, starting with study_id, and retry`,
		},
		"nobody": {
			recourse.New(recourse.KindNoMatch, "The filters match nobody."), "run_dispatch", `{}`,
			"[empty_audience] The filters match nobody. Suggestions: Broaden the filters, sample a different country, or pass explicit person_ids=[...]",
		},
		"studies are full": {
			recourse.New(recourse.KindLimitReached, "3 of 3 studies.").WithResource("study", ""), "study_create", `{}`,
			"[usage_limit_reached] 3 of 3 studies. Suggestions: The plan is full of studies. Free a slot with study_delete, or upgrade the plan",
		},
		"people are full": {
			recourse.New(recourse.KindLimitReached, "50 of 50 people.").WithResource("person", ""), "person_create", `{}`,
			"[usage_limit_reached] 50 of 50 people. Suggestions: The plan is full of people. Free a slot with person_delete, or upgrade the plan",
		},
		"workspaces are full": {
			recourse.New(recourse.KindLimitReached, "1 of 1 workspaces.").WithResource("workspace", ""), "workspace_create", `{}`,
			"[usage_limit_reached] 1 of 1 workspaces. Suggestions: The plan is full of workspaces. Free a slot with workspace_delete, or upgrade the plan",
		},
		"credits": {
			recourse.New(recourse.KindQuotaExhausted, "No credits left."), "run_dispatch", `{"workspace_id":"w-1"}`,
			`[insufficient_credits] No credits left. Suggestions: Read workspace_get(workspace_id="w-1").credits for the period balance, ` +
				`the refresh date, the purchased balance and the total available. Then wait for the refresh of a paid plan, purchase credits, or upgrade`,
		},
		"credits of an unnamed workspace": {
			recourse.New(recourse.KindQuotaExhausted, "No credits left."), "run_dispatch", `{}`,
			`[insufficient_credits] No credits left. Suggestions: Read workspace_get(workspace_id=...).credits for the period balance, ` +
				`the refresh date, the purchased balance and the total available. Then wait for the refresh of a paid plan, purchase credits, or upgrade`,
		},
		"analysis": {
			recourse.New(recourse.KindJobFailed, "Two answers are too few."), "study_analyze", `{}`,
			"[analysis_failed] Two answers are too few. Suggestions: Read the reason before analyzing again",
		},
		"internal":  {recourse.Internal(), "study_get", `{}`, "[server_error] An internal error occurred. Suggestions: Back off and retry"},
		"forbidden": {recourse.New(recourse.KindPermissionDenied, "Not yours."), "study_get", `{}`, "[forbidden] Not yours. Suggestions: Do not retry as it is. Use what the acting identity owns, or get access to it"},
		"hosted": {
			recourse.New(recourse.KindInvalidState, "connect_start runs on your own machine only."), "connect_start", `{}`,
			"[validation_error] connect_start runs on your own machine only. Suggestions: Fix the input and retry",
		},
		"port": {
			recourse.New(recourse.KindConflict, "A tunnel is up on port 3000."), "connect_start", `{}`,
			"[port_conflict] A tunnel is up on port 3000. Suggestions: Stop the tunnel that is up or use its port",
		},
		"semicolons": {
			recourse.New(recourse.KindClientError, "Bad; very bad.").WithHint("one; two").WithHint("three"), "study_get", `{}`,
			"[client_error] Bad; very bad. Suggestions: one, two; three; Read the message and change the request",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := contracttest.ToolCall()
			call.Tool, call.Arguments = tt.tool, []byte(tt.arguments)
			if diff := cmp.Diff(tt.want, line(t, c.Write(tt.e, &call))); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

// The tunnel's codes have their own kinds, and none is retryable.
func TestStudiesTunnel(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("studies")
	for code, want := range map[string]recourse.Kind{
		"cloudflared_missing": recourse.KindInvalidState, "tunnel_startup_failed": recourse.KindJobFailed,
		"registration_failed": recourse.KindJobFailed, "port_conflict": recourse.KindConflict,
	} {
		call := contracttest.ToolCall()
		a := c.Write(recourse.New(want, "It failed.").WithCode("studies", code), &call)
		if text := line(t, a); !strings.HasPrefix(text, "["+code+"] It failed. Suggestions: ") {
			t.Errorf("written as %q", text)
		}
		e := contracttest.ReadBack(t, c, contracttest.WithoutMeta(t, a))
		if e.Kind != want || e.Code != code || c.Retryable(e, &call) {
			t.Errorf("%s is read as %s %s", code, e.Kind, e.Code)
		}
	}
}

// The envelope is read back exactly, whatever its content, and overrides the sentence.
func TestStudiesEnvelope(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("studies")
	body := `{"error_code":"media_failed","message":"The video has no sound.","envelope":{"error_kind":"no_audio_track",
		"suggestions":["Add a track; any will do","Upload [envelope] {\"x\":1} anew"],"source_url":"https://example.com/a.mp4","tries":[1, 2]}}`
	call := contracttest.ToolCall()
	a := c.Write(c.FromHTTP("the backend", backend(400, body)), &call)
	want := `[no_audio_track] The video has no sound. Suggestions: Add a track, any will do; Upload [ENVELOPE] {"x":1} anew` +
		` [envelope] {"error_kind":"no_audio_track","suggestions":["Add a track; any will do",` +
		`"Upload \u005benvelope] {\"x\":1} anew"],"source_url":"https://example.com/a.mp4","tries":[1,2]}`
	if diff := cmp.Diff(want, line(t, a)); diff != "" {
		t.Fatalf("text (-want +got):\n%s", diff)
	}
	r := contract.Reader{Contracts: contract.Builtin().All()}
	reading, ok := r.Result(contracttest.WithoutMeta(t, a).Result)
	e := reading.Error()
	if !ok || e == nil || e.Code != "no_audio_track" || e.Kind != recourse.KindClientError || reading.Contract.Name != "studies" {
		t.Fatalf("read as %+v", e)
	}
	if diff := cmp.Diff([]string{"The server says: Add a track; any will do", `The server says: Upload [envelope] {"x":1} anew`}, e.Hints); diff != "" {
		t.Errorf("suggestions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]json.RawMessage{"source_url": []byte(`"https://example.com/a.mp4"`), "tries": []byte(`[1,2]`)}, e.Details); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
	call.Relay.OriginalContract = c
	if diff := cmp.Diff(contracttest.Wire(contracttest.WithoutMeta(t, a)), contracttest.Wire(contracttest.WithoutMeta(t, c.Write(e, &call)))); diff != "" {
		t.Errorf("written again (-first +again):\n%s", diff)
	}
	// An unlisted code counts only if an envelope confirms it, or if the server follows the contract.
	for text, want := range map[string]string{
		"[no_audio_track] No sound.": "", "[no_audio_track] No sound. [envelope] {\"error_kind\":\"other\"}": "",
		"[no_audio_track] No sound. [envelope] {\"error_kind\":\"no_audio_track\"}": "no_audio_track", "[not_found] No.": "not_found",
		// If the mark also occurs in a sentence, the last one counts.
		"[no_audio_track] See [envelope] {\"a\":1} above. [envelope] {\"error_kind\":\"no_audio_track\"}": "no_audio_track",
	} {
		reading, _ := r.Result(textResult(t, text, true))
		if got := reading.Error().Code; got != want {
			t.Errorf("%s: code %q, want %q", text, got, want)
		}
	}
	known := contract.Reader{Contracts: []*contract.Contract{c}, Weak: c}
	if reading, ok := known.Result(textResult(t, "[no_audio_track] No sound.", true)); !ok || reading.Error().Code != "no_audio_track" {
		t.Errorf("from a server that follows the contract: %+v", reading)
	}
}

// Tools that return their failures do so with ok=false and without isError, even if they declare an outputSchema. Such
// failures are read if the server follows the contract.
func TestStudiesReturned(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("studies")
	for _, tool := range []string{"chatbot_setup", "person_attach"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			call := contracttest.ToolCall()
			call.Tool, call.OutputSchema = tool, true
			e := recourse.New(recourse.KindJobFailed, "The smoke test got no answer.").WithCode("studies", "smoke_test_failed").
				WithHint("Check the selector; then retry").WithDetail("step", 2)
			a := c.Write(e, &call)
			object := `{"ok":false,"error_kind":"smoke_test_failed","message":"The smoke test got no answer.","suggestions":["Check the selector; then retry"],"step":2}`
			quoted, _ := json.Marshal(object)
			want := `{"content":[{"type":"text","text":` + string(quoted) + `}],"structuredContent":` + object + `}`
			if diff := cmp.Diff(want, string(contracttest.WithoutMeta(t, a).Result)); diff != "" {
				t.Fatalf("result (-want +got):\n%s", diff)
			}
			sure := contract.Reader{Contracts: contract.Builtin().All()}
			if _, ok := sure.Result(contracttest.WithoutMeta(t, a).Result); ok {
				t.Error("a success is read as a failure")
			}
			known := contract.Reader{Contracts: contract.Builtin().All(), Weak: c}
			reading, ok := known.Result(contracttest.WithoutMeta(t, a).Result)
			got := reading.Error()
			if !ok || got == nil || got.Code != "smoke_test_failed" || got.Message != e.Message || string(got.Details["step"]) != "2" {
				t.Fatalf("read as %+v", got)
			}
			call.Relay.OriginalContract = c
			if diff := cmp.Diff(contracttest.Wire(contracttest.WithoutMeta(t, a)), contracttest.Wire(contracttest.WithoutMeta(t, c.Write(got, &call)))); diff != "" {
				t.Errorf("written again (-first +again):\n%s", diff)
			}
			if _, ok := known.Result([]byte(`{"content":[],"structuredContent":{"ok":true,"error_kind":"x"}}`)); ok {
				t.Error("ok=true is read as a failure")
			}
		})
	}
}

func TestStudiesRules(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("studies")
	if diff := cmp.Diff(contract.PollRule{
		Wait: "wait", Timeout: "timeout", Next: "next_action",
		Status: []string{"/runtime_status", "/insights/status"}, Pending: []string{"queued", "running"},
		Default: time.Minute, Failed: []string{"failed"}, Reason: []string{"/insights/reason", "/insights/error", "/reason", "/error"},
	}, c.Poll); diff != "" {
		t.Errorf("poll (-want +got):\n%s", diff)
	}
	call := contracttest.ToolCall()
	for _, code := range []string{"rate_limited", "timeout", "server_error", "network_error"} {
		if e := recourse.New(recourse.KindUnknown, "").WithCode("studies", code); !c.Retryable(e, &call) {
			t.Errorf("%s ends a wait", code)
		}
	}
	for _, code := range []string{
		"auth_failed", "forbidden", "not_found", "validation_error", "empty_audience", "usage_limit_reached", "insufficient_credits",
		"analysis_failed", "client_error", "http_error", "cloudflared_missing", "tunnel_startup_failed", "registration_failed", "port_conflict",
	} {
		if e := recourse.New(recourse.KindUnknown, "").WithCode("studies", code); c.Retryable(e, &call) {
			t.Errorf("%s does not end a wait", code)
		}
	}
}
