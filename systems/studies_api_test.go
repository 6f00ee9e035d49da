package systems_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// studiesDescription describes a service of studies that has no MCP server of its own.
const studiesDescription = `
openapi: 3.0.3
info: {title: Panels, version: "1"}
paths:
  /studies:
    post:
      operationId: study_create
      requestBody:
        content: {application/json: {schema: {type: object, properties: {workspace_id: {type: string}, title: {type: string}}}}}
      responses: {"201": {description: made}}
  /studies/{study_id}:
    get:
      operationId: study_get
      parameters: [{name: study_id, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: fine}}
  /media:
    post:
      operationId: media_add
      requestBody: {content: {application/json: {schema: {type: object, properties: {url: {type: string}}}}}}
      responses: {"201": {description: made}}
  /workspaces/{workspace_id}:
    get:
      operationId: workspace_get
      parameters: [{name: workspace_id, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: fine}}
`

// What a service says of a failure counts as in the contract's own system: its code before the status, its advice and its
// structure.
func TestStudiesOverAnAPI(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/signing-key-mismatch", "studies/status-401")
	const operator = "Panels refused the gateway's own credentials. The operator of the gateway has to renew them."
	for name, tt := range map[string]struct {
		tool, arguments string
		status          int
		body            string
		text            string
		kind            recourse.Kind
		retry           recourse.Retry
	}{
		"a wrong key": {
			"study_get", `{"study_id":"s-1"}`, http.StatusUnauthorized, `{"message":"Invalid token"}`,
			"[auth_failed] " + operator + " Suggestions: Nothing in the call can help: whoever runs the gateway has to renew its credentials",
			recourse.KindPermissionDenied, recourse.RetryAfterSetup,
		},
		"another environment's key": {
			"study_get", `{"study_id":"s-1"}`, http.StatusUnauthorized, `{"error_code":"signing_key_mismatch","message":"Bad signature"}`,
			"[auth_failed] " + operator + " Suggestions: The token was signed for another environment: " +
				"use the key and the base URL of one and the same environment, then retry",
			recourse.KindPermissionDenied, recourse.RetryAfterSetup,
		},
		"an envelope": {
			"media_add", `{"url":"https://example.com/a.mp4"}`, http.StatusUnprocessableEntity,
			`{"message":"The video has no sound.","envelope":{"error_kind":"no_audio_track","suggestions":["Add a track"],"source_url":"https://example.com/a.mp4"}}`,
			`[no_audio_track] The video has no sound. Suggestions: Add a track [envelope] {"error_kind":"no_audio_track","suggestions":["Add a track"],` +
				`"source_url":"https://example.com/a.mp4"}`,
			recourse.KindInvalidValue, recourse.RetryAfterFix,
		},
		"suggestions in the body": {
			"media_add", `{}`, http.StatusUnprocessableEntity, `{"error_code":"media_download_failed","message":"Not there.","suggestions":["Upload it","Use another one"]}`,
			"[media_download_failed] Not there. Suggestions: Upload it; Use another one", recourse.KindInvalidValue, recourse.RetryAfterFix,
		},
		"a code that the status contradicts": {
			"study_get", `{"study_id":"s-1"}`, http.StatusNotFound, `{"error_code":"rate_limited","message":"Slow down."}`,
			"[rate_limited] Slow down. Suggestions: Back off and retry", recourse.KindRateLimited, recourse.RetrySameCall,
		},
		"a full plan": {
			"study_create", `{"workspace_id":"w-1"}`, http.StatusForbidden, `{"error_code":"usage_limit_reached","message":"3 of 3 studies."}`,
			"[usage_limit_reached] 3 of 3 studies. Suggestions: Delete what is not used, or upgrade the plan", recourse.KindLimitReached, recourse.RetryAfterFix,
		},
		"no rights": {
			"study_get", `{"study_id":"s-1"}`, http.StatusForbidden, `{"error_code":"forbidden","message":"Not yours."}`,
			"[forbidden] Not yours. Suggestions: Do not retry as it is. Use what the acting identity owns, or get access to it",
			recourse.KindPermissionDenied, recourse.RetryNever,
		},
		"what the call refers to": {
			"study_create", `{"workspace_id":"w-9"}`, http.StatusNotFound, `{"message":"No such workspace."}`,
			"[not_found] No such workspace. Suggestions: List again with workspace_get to confirm the id, then retry",
			recourse.KindNotFound, recourse.RetryAfterFix,
		},
	} {
		testkit.Virtual(t, name, func(t *testing.T) {
			p := gatewaytest.StartProvider(t, func(w http.ResponseWriter, _ *http.Request) { testkit.WriteJSON(w, tt.status, tt.body) })
			client := gatewaytest.StartAPI(t, p, studiesDescription, "contract: studies", "title: Panels", "timeout: 10s").Client(t, testkit.Modern)
			a, err := client.Call(t.Context(), tt.tool, tt.arguments)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"content":[{"type":"text","text":` + protocol.Quote(tt.text) + `}],"isError":true`
			if got := gatewaytest.Shown(t, a); !strings.HasPrefix(got, want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			e := gatewaytest.Record(t, a)
			if e.Kind != tt.kind || e.RetryAdvice() != tt.retry || e.Effect != recourse.EffectNone {
				t.Errorf("got %s, retry %s, effect %s", e.Kind, e.RetryAdvice(), e.Effect)
			}
		})
	}
}

// The failure of a call names the thing that does not exist, which is not always what the tool is about.
func TestStudiesReferencedThings(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ tool, arguments, text, lists string }{
		"the only one":          {"study_create", `{"workspace_id":"w-7","title":"x"}`, "404 Not Found", "workspace_get"},
		"by its id":             {"ask_create", `{"workspace_id":"w-7","person_ids":["tp-1","tp-2"]}`, "Error: tp-2 was not found", "person_get"},
		"by its type":           {"iteration_create", `{"study_id":"s-7","workspace_id":"w-1"}`, "Error: study not found", "study_get"},
		"by its argument":       {"ask_create", `{"workspace_id":"w-7","study_id":"s-1"}`, "not found: workspace_id", "workspace_get"},
		"inside, camel case":    {"study_create", `{"study":{"workspaceId":"w-7"}}`, "404 Not Found", "workspace_get"},
		"of several, not known": {"ask_create", `{"workspace_id":"w-7","study_id":"s-1"}`, "404 Not Found", "the matching _get"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, studyTools())
			srv.Always(tt.tool, faults.ToolError("", tt.text))
			client := gatewaytest.Start(t, srv.URL(), "contract: studies").Client(t, testkit.Modern)
			a, err := client.Call(t.Context(), tt.tool, tt.arguments)
			if err != nil {
				t.Fatal(err)
			}
			if got := gatewaytest.Shown(t, a); !strings.Contains(got, "List again with "+tt.lists+" to confirm the id") {
				t.Errorf("got %s", got)
			}
		})
	}
}

// A call that waits for work has the time that it asks for, in addition to the timeout.
func TestStudiesOwnWait(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		arguments string
		took      time.Duration
		code      string
	}{
		"its own time":      {`{"wait":true,"timeout":900}`, 880 * time.Second, ""},
		"the usual one":     {`{"wait":true}`, 65 * time.Second, ""},
		"longer than that":  {`{"wait":true,"timeout":30}`, 50 * time.Second, "timeout"},
		"without wait":      {`{"timeout":900}`, 30 * time.Second, "timeout"},
		"an absurd time":    {`{"wait":true,"timeout":1e30}`, 2 * time.Hour, "timeout"},
		"no time but words": {`{"wait":true,"timeout":"long"}`, 65 * time.Second, ""},
	} {
		testkit.Virtual(t, name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithTools(testkit.Tool{Name: "run_dispatch"}))
			srv.Always("run_dispatch", testkit.Fault{Runs: true, Happen: func(e *testkit.Exchange) {
				select {
				case <-e.Context().Done():
				case <-time.After(tt.took):
					e.Reply(http.StatusOK, protocol.TypeJSON, protocol.Answer(e.ID(), e.PlainResult()))
				}
			}})
			client := gatewaytest.Start(t, srv.URL(), "contract: studies", "timeout: 10s", "max_timeout: 15s").Client(t, testkit.Modern)
			a, err := client.Call(t.Context(), "run_dispatch", tt.arguments)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(a.Body), "[timeout]"); got != (tt.code != "") {
				t.Errorf("got %s", a.Body)
			}
		})
	}
}

// What a server says of the call that settles a write does not replace what the contract says.
func TestStudiesVerifyIsTheContracts(t *testing.T) {
	t.Parallel()
	record := recourse.Timeout("The service", time.Second).WithEffect(recourse.EffectUnknown).With(func(e *recourse.Error) {
		e.Verify = &recourse.Verify{Tool: "study_get", LookAt: "whatever it says", Args: recourse.Args{}.With("study_id", "s-9")}
	})
	raw, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	srv := testkit.NewServer(t, studyTools())
	srv.Always("run_dispatch", faults.Result("", `{"content":[{"type":"text","text":"late"}],"isError":true,"_meta":{"`+recourse.MetaKey+`":`+string(raw)+`}}`))
	client := gatewaytest.Start(t, srv.URL(), "contract: studies").Client(t, testkit.Modern)
	a, err := client.Call(t.Context(), "run_dispatch", `{"study_id":"s-1"}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := gatewaytest.Shown(t, a); !strings.Contains(got, `run study_get(study_id='s-1', lean=True) and check participant_count and runtime_status`) {
		t.Errorf("got %s", got)
	}
}

// While a call waits by itself, its client hears that it goes on, and gets the answer as an event.
func TestStudiesProgress(t *testing.T) {
	t.Parallel()
	const long = 100 * time.Second
	large := strings.Repeat("x", 400<<10)
	answer := func(result string) func(e *testkit.Exchange) {
		return func(e *testkit.Exchange) { e.Reply(http.StatusOK, protocol.TypeJSON, protocol.Answer(e.ID(), result)) }
	}
	for name, tt := range map[string]struct {
		reply func(e *testkit.Exchange)
		want  string
	}{
		"an answer":                         {answer(protocol.TextResult("done")), `"text":"done"`},
		"a large answer over several lines": {answer(strings.Replace(protocol.TextResult(large), `"content":`, "\n\"content\":\n", 1)), large},
		"a failure":                         {answer(`{"content":[{"type":"text","text":"[forbidden] Not yours."}],"isError":true}`), `[forbidden] Not yours.`},
		"a status":                          {func(e *testkit.Exchange) { e.Reply(http.StatusForbidden, "", "") }, `[auth_failed]`},
	} {
		testkit.Virtual(t, name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithTools(testkit.Tool{Name: "run_dispatch"}))
			srv.Always("run_dispatch", testkit.Fault{Runs: true, Happen: func(e *testkit.Exchange) {
				time.Sleep(long)
				tt.reply(e)
			}})
			client := gatewaytest.Start(t, srv.URL(), "contract: studies", "timeout: 10s").Client(t, testkit.Legacy)
			a, err := client.Request(t.Context(), "tools/call",
				`{"name":"run_dispatch","arguments":{"wait":true,"timeout":95},"_meta":{"progressToken":"p-1"}}`)
			if err != nil {
				t.Fatal(err)
			}
			body := string(a.Body)
			if got := strings.Count(body, `"progressToken":"p-1"`); got < 6 || !strings.Contains(body, tt.want) || a.Message == nil {
				t.Errorf("got %d reports of progress, HTTP %d, message %v: %.600s", got, a.Status, a.Message != nil, body)
			}
		})
	}
}
