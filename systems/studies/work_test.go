package studies_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/studies"
)

// verifyCall matches a verify call in a text.
var verifyCall = regexp.MustCompile(`Before calling again run (\w+)\((.*?)\) and check (.*)$`)

// After a write whose answer is lost, the verify call in the failure shows that the write was done.
func TestWrites(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, tool, arguments string // FAULT is replaced by the fault
		verify, tells         string // the verify call, and the part of its answer that shows the write
		promises              []string
	}{
		{
			name: "study", tool: "study_create", arguments: `{"workspace_id":"w-1","title":"Dinner FAULT"}`,
			verify: `study_get(workspace_id='w-1') and check the study list`, tells: `"title":"Dinner FAULT"`,
			promises: []string{"studies/verify-study", "studies/write-may-have-landed", "studies/write-names-call", "studies/verify-server-error"},
		},
		{
			name: "iteration", tool: "iteration_create", arguments: `{"study_id":"s-1","stimulus":"bread FAULT"}`,
			verify: `study_get(study_id='s-1', view='full') and check the iterations list`, tells: `"stimulus":"bread FAULT"`,
			promises: []string{"studies/verify-iteration"},
		},
		{
			name: "dispatch", tool: "run_dispatch", arguments: `{"study_id":"s-1","count":3,"instructions":"FAULT"}`,
			verify: `study_get(study_id='s-1', lean=True) and check participant_count and runtime_status`, tells: `"participant_count":3`,
			promises: []string{"studies/verify-dispatch"},
		},
		{
			name: "analyze", tool: "study_analyze", arguments: `{"study_id":"s-1","focus":"FAULT"}`,
			verify: `study_get(study_id='s-1', view='insights') and check the insights`, tells: `"status":"running"`,
			promises: []string{"studies/verify-analyze"},
		},
		{
			name: "person", tool: "person_create", arguments: `{"workspace_id":"w-1","name":"Leo FAULT","country":"IT"}`,
			verify: `person_get(workspace_id='w-1') and check the person list`, tells: `"name":"Leo FAULT"`,
			promises: []string{"studies/verify-person"},
		},
		{
			name: "workspace", tool: "workspace_create", arguments: `{"name":"New FAULT"}`,
			verify: `workspace_get() and check the workspace list`, tells: `"name":"New FAULT"`,
			promises: []string{"studies/verify-workspace"},
		},
		{
			name: "ask", tool: "ask_create", arguments: `{"workspace_id":"w-1","question":"FAULT or coffee?","person_ids":["tp-1"]}`,
			verify: `ask_get(workspace_id='w-1') and check the ask list`, tells: `"question":"FAULT or coffee?"`,
			promises: []string{"studies/verify-ask"},
		},
	}
	faults := []struct {
		fault, start string
		timeout      time.Duration
		landed       bool
	}{
		{fault: "fault-drop", start: "[network_error] The backend could not be reached.", landed: true},
		{fault: "fault-slow", start: "[timeout] The backend did not answer in time.", landed: true, timeout: time.Second},
		{fault: "fault-500", start: "[server_error] The backend failed (HTTP 500).", landed: false},
	}
	for _, tt := range tests {
		for _, f := range faults {
			if f.timeout > 0 && tt.name != "study" {
				continue // only one row waits for a timeout
			}
			t.Run(tt.name+"/"+f.fault, func(t *testing.T) {
				t.Parallel()
				promises.Covers(t, tt.promises...)
				client := systemtest.HTTP(t, newSystem(t, studies.Options{Timeout: f.timeout}), testkit.Modern)
				text := client.Call(t, tt.tool, strings.ReplaceAll(tt.arguments, "FAULT", f.fault)).Tool(t).Text()
				want := f.start + " Suggestions: The write may have landed. Before calling again run " + tt.verify
				if diff := cmp.Diff(want, text); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
				said := verifyCall.FindStringSubmatch(text)
				answer := client.Call(t, said[1], argumentsOf(said[2])).Tool(t).Text()
				if landed := strings.Contains(answer, strings.ReplaceAll(tt.tells, "FAULT", f.fault)); landed != f.landed {
					t.Errorf("%s(%s): landed %t, want %t: %s", said[1], said[2], landed, f.landed, answer)
				}
			})
		}
	}
}

// argumentsOf converts arguments in Python's syntax to JSON.
func argumentsOf(python string) string {
	if python == "" {
		return `{}`
	}
	pairs := strings.Split(strings.NewReplacer("True", "true", "'", `"`).Replace(python), ", ")
	for i, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		pairs[i] = fmt.Sprintf("%q:%s", name, value)
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// progress is the result of run_dispatch and study_analyze.
type progress struct {
	RuntimeStatus string `json:"runtime_status"`
	Next          string `json:"next_action"`
	Insights      struct {
		Status  string `json:"status"`
		Summary string `json:"summary"`
	} `json:"insights"`
	Participants []struct {
		ID       string `json:"id"`
		Status   string `json:"status"`
		Response string `json:"response"`
	} `json:"participants"`
}

func work(t *testing.T, client systemtest.Client, tool, arguments string) progress {
	t.Helper()
	r := client.Call(t, tool, arguments)
	if r.Tool(t).IsError {
		t.Fatalf("%s %s: %s", tool, arguments, r.Tool(t).Text())
	}
	var p progress
	if err := json.Unmarshal(r.Tool(t).StructuredContent, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// A call without wait names the call that polls, and polling sees the end of the work.
func TestNextAction(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/wait-default", "studies/next-action")

	if diff := cmp.Diff(contract.PollRule{
		Wait: "wait", Timeout: "timeout", Next: "next_action",
		Status: []string{"/runtime_status", "/insights/status"}, Pending: []string{"queued", "running"},
		Default: time.Minute, Failed: []string{"failed"}, Reason: []string{"/insights/reason", "/insights/error", "/reason", "/error"},
	}, rules(t).Poll); diff != "" {
		t.Errorf("the contract's wait rule (-want +got):\n%s", diff)
	}
	for _, wire := range wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, newSystem(t, studies.Options{}))
			for _, test := range []struct{ tool, arguments, next string }{
				{"run_dispatch", `{"study_id":"s-1","country":"PT"}`, `study_get(study_id="s-1", lean=True)`},
				{"study_analyze", `{"study_id":"s-1","wait":false}`, `study_get(study_id="s-1", view="insights")`},
			} {
				p := work(t, client, test.tool, test.arguments)
				if p.Next != test.next || p.RuntimeStatus == "completed" || p.Insights.Status == "completed" {
					t.Fatalf("%s: %+v, want next_action %s", test.tool, p, test.next)
				}
				tool, arguments, _ := strings.Cut(strings.TrimSuffix(p.Next, ")"), "(")
				looks := 0
				for p.RuntimeStatus != "completed" && p.Insights.Status != "completed" && looks < 10 {
					looks++
					p = work(t, client, tool, argumentsOf(arguments))
				}
				if looks < 2 || looks == 10 {
					t.Errorf("%s: after %d polls got %+v", test.tool, looks, p)
				}
			}
		})
	}
}

// A call with wait returns when the work has ended, despite transient failures.
func TestWait(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, tool, arguments string
		code                  string // "" means that the work has ended
		promises              []string
	}{
		{name: "run", tool: "run_dispatch", arguments: `{"study_id":"s-1","country":"PT","wait":true}`},
		{name: "503", tool: "run_dispatch", arguments: `{"study_id":"s-1","country":"PT","wait":true,"instructions":"fault-later503"}`, promises: []string{"studies/wait-absorbs"}},
		{name: "rate_limited", tool: "run_dispatch", arguments: `{"study_id":"s-1","country":"PT","wait":true,"instructions":"fault-lateroverload"}`, promises: []string{"studies/wait-absorbs"}},
		{name: "408", tool: "study_analyze", arguments: `{"study_id":"s-1","wait":true,"focus":"fault-later408"}`, promises: []string{"studies/wait-absorbs"}},
		{name: "an unlisted code with 503", tool: "study_analyze", arguments: `{"study_id":"s-1","wait":true,"focus":"fault-latermaintenance"}`, promises: []string{"studies/wait-absorbs"}},
		{
			name: "401", tool: "run_dispatch", arguments: `{"study_id":"s-1","country":"PT","wait":true,"instructions":"fault-later401"}`, code: "auth_failed",
			promises: []string{"studies/wait-interrupted"},
		},
		{
			name: "forbidden", tool: "study_analyze", arguments: `{"study_id":"s-1","wait":true,"focus":"fault-laterforbidden"}`, code: "forbidden",
			promises: []string{"studies/wait-interrupted"},
		},
		{
			name: "an unlisted code with 409", tool: "study_analyze", arguments: `{"study_id":"s-1","wait":true,"focus":"fault-laterlocked"}`, code: "study_locked",
			promises: []string{"studies/wait-interrupted"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			promises.Covers(t, tt.promises...)
			client := systemtest.HTTP(t, newSystem(t, studies.Options{}), testkit.Modern)
			if tt.tool == "study_analyze" { // an analysis needs answers
				work(t, client, "run_dispatch", `{"study_id":"s-1","country":"PT","wait":true}`)
			}
			r := client.Call(t, tt.tool, tt.arguments)
			if code, _ := retryable(t, r); code != tt.code {
				t.Fatalf("read as %q, want %q: %s", code, tt.code, r.Tool(t).Text())
			}
			if tt.code != "" {
				return
			}
			var p progress
			if err := json.Unmarshal(r.Tool(t).StructuredContent, &p); err != nil {
				t.Fatal(err)
			}
			if p.Next != "" || p.RuntimeStatus != "completed" && p.Insights.Status != "completed" {
				t.Errorf("the work has not ended: %+v", p)
			}
		})
	}
}

// When the time is over, the call answers with the current state.
func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/wait-absorbs", "studies/next-action")

	client := systemtest.HTTP(t, newSystem(t, studies.Options{PollEvery: 50 * time.Millisecond}), testkit.Modern)
	start := time.Now()
	p := work(t, client, "run_dispatch", `{"study_id":"s-1","country":"PT","wait":true,"timeout":1,"instructions":"fault-stuck"}`)
	if p.RuntimeStatus != "queued" || p.Next != `study_get(study_id="s-1", lean=True)` || time.Since(start) < time.Second {
		t.Errorf("after %s: %+v", time.Since(start), p)
	}
	p = work(t, client, "study_analyze", `{"study_id":"s-1","wait":true,"timeout":1,"focus":"fault-stuck"}`)
	if p.Insights.Status != "queued" || p.Next != `study_get(study_id="s-1", view="insights")` {
		t.Errorf("got analysis %+v", p)
	}
}

// The service's own wait is kept, even beyond the call's time.
func TestWaitKeepsWaits(t *testing.T) {
	t.Parallel()
	client := systemtest.HTTP(t, newSystem(t, studies.Options{}), testkit.Modern)
	p := work(t, client, "run_dispatch", `{"study_id":"s-1","country":"PT","wait":true,"timeout":1,"instructions":"fault-later429"}`)
	if p.RuntimeStatus != "queued" || p.Next == "" {
		t.Errorf("%+v", p)
	}
	var codes []string
	for range 2 { // one of the two failing polls has happened in the call
		code, _ := retryable(t, client.Call(t, "study_get", `{"study_id":"s-1"}`))
		codes = append(codes, code)
	}
	if diff := cmp.Diff([]string{"rate_limited", ""}, codes); diff != "" {
		t.Errorf("later polls (-want +got):\n%s", diff)
	}
}

// An answer costs a credit; someone who declines costs none, and has no responses.
func TestCredits(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/credits-on-success-only", "studies/credits-members", "studies/not-found-no-responses")

	client := systemtest.HTTP(t, newSystem(t, studies.Options{}), testkit.Legacy)
	type balance struct {
		Credits struct {
			Period    *int   `json:"period_balance"`
			Refresh   string `json:"refresh_date"`
			Purchased *int   `json:"purchased_balance"`
			Total     *int   `json:"total_available"`
		} `json:"credits"`
	}
	left := func() int {
		t.Helper()
		var b balance
		client.Call(t, "workspace_get", `{"workspace_id":"w-1"}`).Object(t, 0, &b)
		if c := b.Credits; c.Period == nil || c.Purchased == nil || c.Total == nil || c.Refresh == "" || *c.Period+*c.Purchased != *c.Total {
			t.Fatalf("%+v", b)
		}
		return *b.Credits.Total
	}
	before := left()
	p := work(t, client, "run_dispatch", `{"study_id":"s-1","person_ids":["tp-1","tp-6"],"wait":true}`)
	if spent := before - left(); spent != 1 || len(p.Participants) != 2 {
		t.Errorf("%d credits were spent: %+v", spent, p)
	}
	for i, want := range []string{`"response":"Ana from PT`, "[not_found] The participant has no responses."} {
		if text := client.Call(t, "study_get", `{"participant_id":"`+p.Participants[i].ID+`"}`).Tool(t).Text(); !strings.Contains(text, want) {
			t.Errorf("participant %d: %s, want %s", i+1, text, want)
		}
	}
}

// A plan limits workspaces, and a deletion frees a place.
func TestWorkspacesAreFull(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/usage-limit-workspace-delete", "studies/usage-limit-resource", "studies/usage-limit-advice")

	client := systemtest.HTTP(t, newSystem(t, studies.Options{}), testkit.Modern)
	create := func() string { return client.Call(t, "workspace_create", `{"name":"Another"}`).Tool(t).Text() }
	const full = "[usage_limit_reached] The free plan holds 4 workspaces, and all of them are taken. Suggestions: " +
		"The plan is full of workspaces. Free a slot with workspace_delete, or upgrade the plan"
	for i, want := range []string{`"id":"w-4"`, `"id":"w-5"`, full} {
		if text := create(); !strings.Contains(text, want) {
			t.Errorf("workspace %d: %s, want %s", i+1, text, want)
		}
	}
	client.Call(t, "workspace_delete", `{"workspace_id":"w-4"}`)
	if text := create(); !strings.Contains(text, `"id":"w-6"`) {
		t.Errorf("after the deletion: %s", text)
	}
	for tool, arguments := range map[string]string{"study_delete": `{"study_id":"s-2"}`, "person_delete": `{"person_id":"tp-7"}`} {
		if text := client.Call(t, tool, arguments).Tool(t).Text(); text != `{"deleted":true}` {
			t.Errorf("%s: %s", tool, text)
		}
	}
	for tool, arguments := range map[string]string{"study_create": `{"workspace_id":"w-2","title":"t"}`, "person_create": `{"workspace_id":"w-2","name":"n","country":"AT"}`} {
		if r := client.Call(t, tool, arguments).Tool(t); r.IsError {
			t.Errorf("%s after a deletion: %s", tool, r.Text())
		}
	}
}

// The envelope after the line has the structure, and overrides the line.
func TestEnvelopes(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/envelope-4xx", "studies/envelope-kind", "studies/envelope-suggestions", "studies/envelope-suffix", "studies/envelope-members",
		"studies/envelope-last", "studies/envelope-escaped", "studies/envelope-truth", "studies/suggestion-semicolon")

	const gone = "https://media.example.com/[envelope] {}gone.mp4"
	tests := []struct {
		name, tool, arguments, want string
		hints                       []string
	}{
		{
			name: "no sound", tool: "iteration_create", arguments: `{"study_id":"s-1","stimulus":"a film","media_url":"https://media.example.com/silent.mp4"}`,
			want: `[no_audio_track] The video has no audio track. Suggestions: Upload a video with sound; Use modality="image" for a video without sound` +
				` [envelope] {"error_kind":"no_audio_track","suggestions":["Upload a video with sound",` +
				`"Use modality=\"image\" for a video without sound"],"modality":"video",` +
				`"source_url":"https://media.example.com/silent.mp4"}`,
			hints: []string{"Upload a video with sound", `Use modality="image" for a video without sound`},
		},
		{
			name: "gone", tool: "iteration_create", arguments: `{"study_id":"s-1","stimulus":"a film","media_url":"` + gone + `"}`,
			want: `[media_download_failed] The file could not be downloaded: HTTP 404. Suggestions: Check that the address is public, a signed one may have expired` +
				` [envelope] {"error_kind":"media_download_failed","suggestions":["Check that the address is public; ` +
				`a signed one may have expired"],"modality":"video",` +
				`"source_url":"https://media.example.com/\u005benvelope] {}gone.mp4"}`,
			hints: []string{"Check that the address is public; a signed one may have expired"},
		},
		{
			name: "no envelope", tool: "study_create", arguments: `{"workspace_id":"w-1","title":"` + strings.Repeat("long ", 30) + `"}`,
			want:  "[validation_error] title is too long. Suggestions: Shorten title, 120 characters fit; Put the rest into question; Fix the input and retry",
			hints: []string{"Shorten title, 120 characters fit", "Put the rest into question", "Fix the input and retry"},
		},
	}
	s := newSystem(t, studies.Options{})
	for _, wire := range wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, s)
			for _, tt := range tests {
				r := client.Call(t, tt.tool, tt.arguments)
				if diff := cmp.Diff(tt.want, r.Tool(t).Text()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tt.name, diff)
				}
				if diff := cmp.Diff(tt.hints, r.Read(t, rules(t)).Hints); diff != "" {
					t.Errorf("%s: read as (-want +got):\n%s", tt.name, diff)
				}
			}
			e := client.Call(t, tests[1].tool, tests[1].arguments).Read(t, rules(t))
			var url string
			if err := json.Unmarshal(e.Details["source_url"], &url); err != nil || url != gone || e.Code != "media_download_failed" {
				t.Errorf("%s, source_url %s: %v", e.Code, e.Details["source_url"], err)
			}
		})
	}
}

// Two tools return their failures as results.
func TestReturned(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, tool, arguments, want string
		promises                    []string
	}{
		{
			name: "no chat", tool: "chatbot_setup", arguments: `{"workspace_id":"w-1","url":"https://bot.example.com/"}`,
			want: `{"ok":false,"error_kind":"config_detection_failed","message":"No chat was found at the address.","suggestions":["Give the address that takes ` +
				`the messages, such as https://bot.example.com/chat"]}`,
			promises: []string{"studies/chatbot-setup", "studies/chatbot-setup-config", "studies/returned-no-is-error", "studies/returned-members"},
		},
		{
			name: "no answer", tool: "chatbot_setup", arguments: `{"workspace_id":"w-1","url":"https://mute.example.com/chat"}`,
			want: `{"ok":false,"error_kind":"smoke_test_failed","message":"The chatbot did not answer a greeting.","suggestions":["Start the chatbot",` +
				`"See what it logs"],"source_url":"https://mute.example.com/chat"}`,
			promises: []string{"studies/chatbot-setup", "studies/chatbot-setup-smoke-test"},
		},
		{
			name: "a wrong alias", tool: "chatbot_setup", arguments: `{"workspace_id":"w-99","url":"https://bot.example.com/chat"}`,
			want: `{"ok":false,"error_kind":"validation_error","message":"workspace_id is an unknown alias.","suggestions":["Fix workspace_id and retry"]}`,
		},
		{
			name: "somebody else's", tool: "chatbot_setup", arguments: `{"workspace_id":"w-3","url":"https://bot.example.com/chat"}`,
			want: `{"ok":false,"error_kind":"forbidden","message":"The workspace belongs to somebody else.","suggestions":["Do not retry as it is. ` +
				`Use what the acting identity owns, or get access to it"]}`,
		},
		{
			name: "attached already", tool: "person_attach", arguments: `{"iteration_id":"i-1","person_id":"tp-1"}`,
			want: `{"ok":false,"error_kind":"already_attached","message":"Ana is attached to this iteration already.","suggestions":["Read the message and ` +
				`change what it names"]}`,
			promises: []string{"studies/person-attach", "studies/returned-no-is-error", "studies/returned-members"},
		},
	}
	s := newSystem(t, studies.Options{})
	for _, wire := range wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, s)
			for _, tt := range tests {
				promises.Covers(t, tt.promises...)
				r := client.Call(t, tt.tool, tt.arguments)
				result := r.Tool(t)
				if diff := cmp.Diff(tt.want, result.Text()); diff != "" || result.IsError {
					t.Errorf("%s: isError %t (-want +got):\n%s", tt.name, result.IsError, diff)
				}
				if r.Record(t).Origin == recourse.OriginGateway {
					t.Errorf("%s: %v", tt.name, r.Record(t))
				}
			}
			for _, good := range []string{`{"workspace_id":"w-1","url":"https://bot.example.com/chat"}`} {
				if text := client.Call(t, "chatbot_setup", good).Tool(t).Text(); !strings.Contains(text, `"ok":true`) {
					t.Error(text)
				}
			}
		})
	}
	client := systemtest.HTTP(t, newSystem(t, studies.Options{}), testkit.Modern)
	if text := client.Call(t, "person_attach", `{"iteration_id":"i-1","person_id":"tp-5"}`).Tool(t).Text(); text != `{"iteration_id":"i-1","ok":true,"person_id":"tp-5"}` {
		t.Error(text)
	}
	if p := work(t, client, "run_dispatch", `{"study_id":"s-1","person_ids":["tp-5"],"wait":true}`); len(p.Participants) != 1 {
		t.Errorf("the attached person does not take part: %+v", p)
	}
}

// The client of the Go SDK gets the text for the model.
func TestSDKClient(t *testing.T) {
	t.Parallel()
	session := systemtest.SDK(t, newSystem(t, studies.Options{}))
	for _, call := range []struct {
		tool, arguments, want string
		isError               bool
	}{
		{"ask_get", `{"ask_id":"a-1"}`, "Tea or coffee?", false},
		{"chatbot_setup", `{"workspace_id":"w-1","url":"https://mute.example.com/chat"}`, "smoke_test_failed", false},
		{"study_get", `{"study_id":"w-1"}`, "[validation_error] study_id has the wrong prefix", true},
	} {
		text, isError := systemtest.SDKText(t, session, call.tool, call.arguments)
		if !strings.Contains(text, call.want) || isError != call.isError {
			t.Errorf("%s %s: isError %t, %s", call.tool, call.arguments, isError, text)
		}
	}
}
