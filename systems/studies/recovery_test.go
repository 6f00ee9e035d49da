package studies_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/systems"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/studies"
)

// newAgent returns an agent of a new system.
func newAgent(t *testing.T, faults string, options ...recovery.Option) *systemtest.Agent {
	t.Helper()
	return systemtest.NewAgent(t, newSystem(t, studies.Options{}), rules(t), faults, options...)
}

// Retries depend on the code, whatever the sentence says.
func TestClientBranchesOnCode(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/client-branches", "studies/code-stable", "studies/rate-limited-advice", "studies/server-error-advice",
		"studies/network-error-advice", "studies/forbidden-advice", "studies/http-error-retry")

	const yes, no = "Please try again, it will pass.", "Do not ever call this again: it is forbidden."
	for code, repeats := range map[string]bool{
		"rate_limited": true, "timeout": true, "server_error": true, "network_error": true,
		"auth_failed": false, "forbidden": false, "not_found": false, "validation_error": false, "empty_audience": false,
		"usage_limit_reached": false, "insufficient_credits": false, "analysis_failed": false, "client_error": false,
		"cloudflared_missing": false, "tunnel_startup_failed": false, "registration_failed": false, "port_conflict": false,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			sentence, reached := yes, 1
			if repeats {
				sentence, reached = no, 4
			}
			agent := newAgent(t, `- {effect: after, fault: {contract: studies, code: `+code+`, message: "`+sentence+`"}}`)
			if e := agent.Call(t, "study_get", `{"study_id":"s-1"}`, code).Failure; !strings.HasPrefix(e.Message, sentence) {
				t.Errorf("got message %q", e.Message)
			}
			agent.CheckReached(t, map[string]int{"study_get": reached})
		})
	}
	for fault, tt := range map[string]struct {
		code    string
		reached int
	}{"004": {"maintenance", 4}, "503": {"server_error", 4}, "404": {"not_found", 1}, "418": {"client_error", 1}} {
		agent := newAgent(t, "")
		agent.Call(t, "study_get", id(fault), tt.code)
		agent.CheckReached(t, map[string]int{"study_get": tt.reached})
	}
}

// The wait of a limit is kept; without a stated wait, waits grow.
func TestClientBacksOff(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/rate-limited-advice", "studies/server-error-advice")

	for name, tt := range map[string]struct {
		faults, tool, arguments string
		reached                 int
		waits                   []time.Duration
	}{
		"a limit of a write": {
			"- {times: 2, fault: {contract: studies, code: rate_limited, wait: 12s}}", "study_create", `{"workspace_id":"w-1","title":"Dinner"}`,
			1,
			[]time.Duration{12 * time.Second, 24 * time.Second},
		},
		"a failed poll": {
			"- {times: 2, effect: after, fault: {contract: studies, code: server_error}}", "study_get", `{"study_id":"s-1"}`,
			3,
			[]time.Duration{time.Second, 2 * time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := newAgent(t, tt.faults)
			agent.Call(t, tt.tool, tt.arguments, "")
			agent.CheckReached(t, map[string]int{tt.tool: tt.reached})
			agent.CheckWaits(t, tt.waits...)
		})
	}
}

// A write whose answer is lost is settled by the verify call for it: it is repeated only if that shows that the write
// had no effect.
func TestClientVerifies(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/client-verifies", "studies/write-not-blindly")

	for _, tt := range []struct {
		tool, arguments, verify string
		tells                   string // the part of the verify call's answer that shows the write; "" if the contract has a rule
	}{
		{"study_create", `{"workspace_id":"w-1","title":"Lunch"}`, "study_get", `"title":"Lunch"`},
		{"iteration_create", `{"study_id":"s-1","stimulus":"rye bread"}`, "study_get", `rye bread`},
		{"run_dispatch", `{"study_id":"s-1","count":3,"wait":false}`, "study_get", `"participant_count":3`},
		{"study_analyze", `{"study_id":"s-1","wait":false}`, "study_get", `"status":`},
		{"person_create", `{"workspace_id":"w-1","name":"Leo","country":"IT"}`, "person_get", `"name":"Leo"`},
		{"workspace_create", `{"name":"New"}`, "workspace_get", `"name":"New"`},
		{"ask_create", `{"workspace_id":"w-1","question":"Rye or oats?","person_ids":["tp-1"],"wait":false}`, "ask_get", `Rye or oats?`},
		{"workspace_update", `{"workspace_id":"w-1","name":"Lab"}`, "workspace_get", ""},
		{"study_delete", `{"study_id":"s-1"}`, "study_get", ""},
	} {
		for _, fault := range []string{
			"effect: before, fault: reset-before", "effect: after, fault: reset-before", "fault: truncate",
			"effect: after, fault: {contract: studies, code: timeout}", "effect: before, fault: {contract: studies, code: server_error}",
		} {
			t.Run(tt.tool+", "+fault, func(t *testing.T) {
				t.Parallel()
				agent := newAgent(t, "- {match: {tool: "+tt.tool+"}, times: 1, "+fault+"}",
					recovery.WithHooks(recovery.Hooks{Landed: func(_ context.Context, v recovery.Verification) (bool, error) {
						return strings.Contains(strings.ReplaceAll(string(v.Result), `\"`, `"`), tt.tells), nil
					}}))
				agent.Call(t, tt.tool, tt.arguments, "")
				agent.CheckReached(t, map[string]int{tt.tool: 1, tt.verify: 1})
			})
		}
	}
}

// A write is not repeated if nothing settles it, or if the service has refused it.
func TestClientDoesNotRepeatWrites(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/write-not-blindly", "studies/client-undecided")

	for name, tt := range map[string]struct {
		faults, arguments, code string
		reached                 map[string]int
	}{
		"no answer, and nothing decides": {
			"- {match: {tool: study_create}, effect: after, fault: reset-before}", `{"workspace_id":"w-1","title":"Supper"}`, "unreachable",
			map[string]int{"study_create": 1, "study_get": 1},
		},
		"a broken connection, and nothing decides": {
			"", `{"workspace_id":"w-1","title":"Tea fault-drop"}`, "network_error", map[string]int{"study_create": 1, "study_get": 1},
		},
		"no answer, and the verify call fails": {
			`- {match: {tool: study_create}, effect: after, fault: reset-before}
- {match: {tool: study_get}, effect: after, fault: {contract: studies, code: forbidden}}`, `{"workspace_id":"w-1","title":"Supper"}`, "unreachable",
			map[string]int{"study_create": 1, "study_get": 1},
		},
		"refused": {"", `{"workspace_id":"w-1","title":"Brunch fault-422"}`, "validation_error", map[string]int{"study_create": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := newAgent(t, tt.faults)
			agent.Call(t, "study_create", tt.arguments, tt.code)
			agent.CheckReached(t, tt.reached)
		})
	}
}

// The client follows next_action until the work has ended, despite transient failures; others end the wait.
func TestClientPolls(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/client-polls", "studies/client-poll-interrupted")

	for name, tt := range map[string]struct {
		faults, tool, arguments string
		code, tells             string // of the answer
		polls                   int    // a minimum
	}{
		"a run":       {"", "run_dispatch", `{"study_id":"s-1","country":"PT"}`, "", `"runtime_status":"completed"`, 2},
		"an analysis": {"", "study_analyze", `{"study_id":"s-1"}`, "", `"status":"completed"`, 2},
		"failed polls": {
			"", "study_analyze", `{"study_id":"s-1","focus":"fault-later429"}`, "", `"status":"completed"`, 4,
		},
		"polls without an answer": {
			"- {match: {tool: study_get}, times: 2, effect: after, fault: reset-before}", "run_dispatch", `{"study_id":"s-1","country":"PT"}`, "",
			`"runtime_status":"completed"`, 3,
		},
		"a forbidden poll": {
			"- {match: {tool: study_get}, times: 1, effect: after, fault: {contract: studies, code: forbidden}}", "run_dispatch",
			`{"study_id":"s-1","country":"PT"}`, "forbidden", "", 1,
		},
		"an analysis that fails": {"", "study_analyze", `{"study_id":"s-3"}`, "analysis_failed", "no participant has answered yet", 2},
		"work that never ends":   {"", "study_analyze", `{"study_id":"s-1","focus":"fault-stuck"}`, "", `"status":"`, 5},
		"no wait requested":      {"", "study_analyze", `{"study_id":"s-1","wait":false}`, "", `"next_action"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := newAgent(t, tt.faults, recovery.WithTimeout(5*time.Minute))
			if tt.tool == "study_analyze" {
				agent.Call(t, "run_dispatch", `{"study_id":"s-1","country":"PT","wait":true}`, "")
			}
			o := agent.Call(t, tt.tool, tt.arguments, tt.code)
			if o.Failure != nil {
				o.Text += o.Failure.Message
			}
			if !strings.Contains(o.Text, tt.tells) || o.Failure != nil && o.Failure.Effect != recourse.EffectApplied {
				t.Errorf("got %s %v", o.Text, o.Failure)
			}
			reached := agent.Reached()
			if polls := reached["study_get"]; polls < tt.polls || tt.polls <= 1 && polls != tt.polls {
				t.Errorf("polled %d times, want %d", polls, tt.polls)
			}
			if reached[tt.tool] != 1 {
				t.Errorf("%d calls", reached[tt.tool])
			}
		})
	}
}

// The agent gets what a code advises: what was wrong, and the call that finds the right value. The client itself makes
// no such call; the agent makes the corrected one.
func TestClientMends(t *testing.T) {
	t.Parallel()
	type calls = map[string]int
	for _, tt := range []struct {
		name              string
		tool, wrong, code string
		param, hint       string // of the failure
		advised           string // the tool that the advice names
		mend, with        string // the corrections before the second call
		right             string
		reached           calls
		promises          []string
	}{
		{
			name: "an alias of the wrong kind", tool: "study_get", wrong: `{"study_id":"w-1"}`, code: "validation_error", param: "study_id", hint: "Fix study_id",
			right: `{"study_id":"s-1"}`, reached: calls{"study_get": 2}, promises: []string{"studies/client-mends", "studies/validation-advice"},
		},
		{
			name: "a study that does not exist", tool: "study_get", wrong: `{"study_id":"00000000-0000-4000-8000-00000000ffff"}`, code: "not_found",
			hint: "List again with study_get", advised: "study_get", mend: "study_get", with: `{"workspace_id":"w-1"}`, right: `{"study_id":"s-1"}`,
			reached: calls{"study_get": 3}, promises: []string{"studies/client-relists", "studies/not-found-advice"},
		},
		{
			name: "an empty audience", tool: "run_dispatch", wrong: `{"study_id":"s-1","country":"JP","wait":false}`, code: "empty_audience",
			hint: "sample a different country", right: `{"study_id":"s-1","country":"PT","wait":false}`, reached: calls{"run_dispatch": 2},
			promises: []string{"studies/client-broadens", "studies/empty-audience-advice"},
		},
		{
			name: "a full plan", tool: "study_create", wrong: `{"workspace_id":"w-2","title":"One more"}`, code: "usage_limit_reached",
			hint: "upgrade the plan", advised: "study_delete", mend: "study_delete", with: `{"study_id":"s-4"}`, right: `{"workspace_id":"w-2","title":"One more"}`,
			reached: calls{"study_create": 2, "study_delete": 1}, promises: []string{"studies/client-frees", "studies/usage-limit-advice"},
		},
		{
			name: "no credits left", tool: "run_dispatch", wrong: `{"study_id":"s-2","count":5,"wait":false}`, code: "insufficient_credits",
			hint: "purchase credits", advised: "workspace_get", mend: "workspace_get", with: `{"workspace_id":"w-2"}`,
			right: `{"study_id":"s-2","count":1,"wait":false}`, reached: calls{"run_dispatch": 2, "workspace_get": 1},
			promises: []string{"studies/client-credits", "studies/credits-advice", "studies/credits-call"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			promises.Covers(t, tt.promises...)
			agent := newAgent(t, "")
			e := agent.Call(t, tt.tool, tt.wrong, tt.code).Failure
			if !strings.Contains(strings.Join(e.Hints, " "), tt.hint) || tt.param != "" && (len(e.Violations) == 0 || e.Violations[0].Param != tt.param) {
				t.Errorf("%+v", e)
			}
			advised := recovery.Advised(rules(t), e)
			if tt.advised != "" && (len(advised) == 0 || advised[0].Tool != tt.advised) {
				t.Errorf("got advice %+v", advised)
			}
			agent.CheckReached(t, map[string]int{tt.tool: 1})
			if tt.mend != "" {
				agent.Call(t, tt.mend, tt.with, "")
			}
			agent.Call(t, tt.tool, tt.right, "")
			agent.CheckReached(t, tt.reached)
			agent.CheckWaits(t)
		})
	}
}

// The hook that signs in is called once, and the call is repeated with the new token.
func TestClientReauthenticates(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/client-reauthenticates", "studies/auth-failed-advice")

	for token, code := range map[string]string{studies.Token: "", "prod_older": "auth_failed"} {
		system := newSystem(t, studies.Options{Hosted: true})
		var agent *systemtest.Agent
		asked := 0
		bring := func(token string) {
			agent.Enter(systems.Entrance{Path: system.Entrance().Path, Header: http.Header{"Authorization": {"Bearer " + token}}})
		}
		agent = systemtest.NewAgent(t, system, rules(t), "", recovery.WithHooks(recovery.Hooks{Connect: func(context.Context, *recourse.Error) error {
			asked++
			bring(token)
			return nil
		}}))
		bring("prod_old")
		agent.Call(t, "me_get", `{}`, code)
		agent.CheckReached(t, map[string]int{"me_get": 2})
		if agent.CheckWaits(t); asked != 1 {
			t.Errorf("the hook was called %d times", asked)
		}
	}
}

// The agent gets the structure beside the sentence: an envelope's code, suggestions and members.
func TestClientReadsStructure(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/client-envelope")
	agent := newAgent(t, "")
	const film = `{"study_id":"s-1","stimulus":"a film","media_url":"https://media.example.com/silent.mp4"}`
	e := agent.Call(t, "iteration_create", film, "no_audio_track").Failure
	if len(e.Hints) == 0 || e.Hints[0] != "Upload a video with sound" || string(e.Details["source_url"]) != `"https://media.example.com/silent.mp4"` {
		t.Errorf("suggestions %q, details %s", e.Hints, e.Details)
	}
	agent.CheckReached(t, map[string]int{"iteration_create": 1})
	agent.CheckWaits(t)
}

// A set-up that fails is no error for the agent's program: it gets the result, and branches on ok. What may pass is repeated first.
func TestClientGetsReturnedFailures(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/client-ok")
	const good = `{"workspace_id":"w-1","url":"https://bot.example.com/chat"}`
	for _, tt := range []struct {
		name, arguments, faults string
		want                    []string
		reached                 map[string]int
		waits                   []time.Duration
	}{
		{
			name: "a set-up that cannot succeed", arguments: `{"workspace_id":"w-1","url":"https://bot.example.com/"}`,
			want: []string{`"ok":false`, `"error_kind":"config_detection_failed"`, "such as https://bot.example.com/chat"}, reached: map[string]int{"chatbot_setup": 2},
		},
		{
			name: "a smoke test", arguments: `{"workspace_id":"w-1","url":"https://mute.example.com/chat"}`,
			want: []string{`"ok":false`, `"error_kind":"smoke_test_failed"`, "Start the chatbot", `"source_url"`}, reached: map[string]int{"chatbot_setup": 2},
		},
		{
			name: "a limit that passes", arguments: good, faults: "- {times: 1, match: {tool: chatbot_setup}, fault: {contract: studies, code: rate_limited, wait: 3s}}",
			want: []string{`"ok":true`}, reached: map[string]int{"chatbot_setup": 2}, waits: []time.Duration{3 * time.Second},
		},
		{
			name: "a limit that stays", arguments: good, faults: "- {match: {tool: chatbot_setup}, fault: {contract: studies, code: rate_limited, wait: 3s}}",
			want: []string{`"ok":false`, `"error_kind":"rate_limited"`}, waits: []time.Duration{3 * time.Second, 6 * time.Second, 12 * time.Second},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			agent := newAgent(t, tt.faults)
			outcomes := []string{agent.Call(t, "chatbot_setup", tt.arguments, "").Text}
			if tt.waits == nil { // what was no error is sent again
				outcomes = append(outcomes, agent.Call(t, "chatbot_setup", tt.arguments, "").Text)
			}
			for _, text := range outcomes {
				for _, want := range tt.want {
					if !strings.Contains(text, want) {
						t.Errorf("no %s in %s", want, text)
					}
				}
			}
			if tt.reached != nil && tt.faults == "" {
				agent.CheckReached(t, tt.reached)
			}
			agent.CheckWaits(t, tt.waits...)
		})
	}
}
