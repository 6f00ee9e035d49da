package studies_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/retry"
	"github.com/recoursehq/recourse/systems"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/studies"
)

// TestMain lets the test binary act as the tunnel program if it is called by that program's name.
func TestMain(m *testing.M) {
	if strings.HasPrefix(filepath.Base(os.Args[0]), tunnelProgram) {
		os.Exit(cloudflared(os.Args[1:]))
	}
	systemtest.Main(m, func() (systems.System, error) {
		return studies.New(studies.Options{Timeout: 300 * time.Millisecond, PollEvery: time.Millisecond})
	})
}

func rules(t *testing.T) *contract.Contract {
	t.Helper()
	c := contract.MustBuiltin("studies")
	return c
}

// newSystem starts a system with short waits.
func newSystem(t *testing.T, o studies.Options) *studies.System {
	t.Helper()
	o.Logger = systemtest.Quiet()
	if o.PollEvery == 0 {
		o.PollEvery = time.Millisecond
	}
	s, err := studies.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// retryable returns the code of a failure, and whether a client that only knows the page repeats the call.
func retryable(t *testing.T, r systemtest.Reply) (code string, repeat bool) {
	t.Helper()
	c := rules(t)
	e := r.Read(t, c)
	if e == nil {
		return "", false
	}
	return e.Code, c.Retryable(e, &contract.Call{Method: "tools/call", At: contract.AtTool})
}

// id returns arguments with a study id that makes polling fail; see the package documentation.
func id(fault string) string { return `{"study_id":"00000000-0000-4000-8000-000000000` + fault + `"}` }

func title(fault string) string { return `{"workspace_id":"w-1","title":"fault-` + fault + `"}` }

const (
	credits = " Suggestions: Read workspace_get(workspace_id=...).credits for the period balance, the refresh date, the purchased balance" +
		" and the total available. Then wait for the refresh of a paid plan, purchase credits, or upgrade"
	again = " Suggestions: List again with study_get to confirm the id, then retry"
	obey  = " Suggestions: Read the message and change what it names"
)

// The whole text of each failure, and whether a client that only knows the page repeats the call.
func TestCodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, tool, arguments, want string
		retryable                   bool
		promises                    []string
	}{
		{
			name: "401", tool: "study_get", arguments: id("401"), want: "[auth_failed] The backend requires valid credentials. Suggestions: Re-authenticate, then retry",
			promises: []string{"studies/status-401", "studies/auth-failed-advice", "studies/final-auth-failed", "studies/prefix", "studies/is-error"},
		},
		{
			name: "403", tool: "study_get", arguments: id("403"), want: "[auth_failed] The backend does not permit this. Suggestions: Re-authenticate, then retry",
			promises: []string{"studies/status-403", "studies/code-auth-failed"},
		},
		{
			name: "somebody else's", tool: "study_get", arguments: `{"study_id":"s-5"}`,
			want:     "[forbidden] The workspace belongs to somebody else. Suggestions: Do not retry as it is. Use what the acting identity owns, or get access to it",
			promises: []string{"studies/code-forbidden", "studies/forbidden-advice", "studies/final-forbidden"},
		},
		{
			name: "404", tool: "study_get", arguments: id("404"), want: "[not_found] The backend does not have what was asked for." + again,
			promises: []string{"studies/status-404", "studies/code-not-found", "studies/not-found-advice", "studies/final-not-found"},
		},
		{
			name: "no such study", tool: "study_get", arguments: `{"study_id":"5d2c9e1a-7b40-4f6e-9a31-ffffffffffff"}`, want: "[not_found] There is no such study." + again,
			promises: []string{"studies/code-not-found"},
		},
		{
			name: "not attached", tool: "run_dispatch", arguments: `{"study_id":"s-1","iteration_id":"i-1","person_ids":["tp-1","tp-5"]}`,
			want:     "[not_found] tp-5 is not attached to the iteration i-1: person_attach does that." + again,
			promises: []string{"studies/not-found-not-attached"},
		},
		{
			name: "422", tool: "study_get", arguments: id("422"), want: "[validation_error] The backend does not accept the values. Suggestions: Fix the input and retry",
			promises: []string{"studies/status-422", "studies/final-validation-error"},
		},
		{
			name: "nobody", tool: "run_dispatch", arguments: `{"study_id":"s-1","country":"JP"}`,
			want: "[empty_audience] Nobody who takes part in the iteration is in JP. Suggestions: " +
				"Broaden the filters, sample a different country, or pass explicit person_ids=[...]",
			promises: []string{"studies/code-empty-audience", "studies/empty-audience-advice", "studies/final-empty-audience"},
		},
		{
			name: "studies are full", tool: "study_create", arguments: `{"workspace_id":"w-2","title":"One more"}`,
			want: "[usage_limit_reached] The free plan holds 3 studies a workspace, and all of them are taken. Suggestions: " +
				"The plan is full of studies. Free a slot with study_delete, or upgrade the plan",
			promises: []string{
				"studies/code-usage-limit-reached", "studies/usage-limit-resource", "studies/usage-limit-study-delete", "studies/usage-limit-advice",
				"studies/final-usage-limit-reached", "studies/usage-limit-is-not-credits",
			},
		},
		{
			name: "people are full", tool: "person_create", arguments: `{"workspace_id":"w-2","name":"Lea","country":"AT"}`,
			want: "[usage_limit_reached] The free plan holds 5 people a workspace, and all of them are taken. Suggestions: " +
				"The plan is full of people. Free a slot with person_delete, or upgrade the plan",
			promises: []string{"studies/usage-limit-resource", "studies/usage-limit-person-delete"},
		},
		{
			name: "no credits", tool: "run_dispatch", arguments: `{"study_id":"s-2","count":5}`,
			want:     "[insufficient_credits] 5 credits are needed, and 1 are left." + credits,
			promises: []string{"studies/status-402", "studies/code-insufficient-credits", "studies/credits-call", "studies/credits-advice", "studies/final-insufficient-credits", "studies/usage-limit-is-not-credits"},
		},
		{
			name: "no credits, 403", tool: "study_create", arguments: title("credits"),
			want:     "[insufficient_credits] The pool of simulation credits is empty." + strings.Replace(credits, "...", `"w-1"`, 1),
			promises: []string{"studies/credits-403"},
		},
		{
			name: "429", tool: "study_create", arguments: title("429"), retryable: true,
			want:     "[rate_limited] The backend limits requests at the moment. Suggestions: Back off for 12 s and retry",
			promises: []string{"studies/status-429", "studies/code-rate-limited", "studies/rate-limited-advice", "studies/retryable-rate-limited"},
		},
		{
			name: "408", tool: "study_get", arguments: id("408"), retryable: true, want: "[timeout] The backend did not answer in time. Suggestions: Retry",
			promises: []string{"studies/status-408", "studies/code-timeout", "studies/retryable-timeout"},
		},
		{
			name: "500", tool: "study_get", arguments: id("500"), retryable: true, want: "[server_error] The backend failed (HTTP 500). Suggestions: Back off and retry",
			promises: []string{"studies/status-5xx", "studies/code-server-error", "studies/server-error-advice", "studies/retryable-server-error"},
		},
		{
			name: "503", tool: "study_get", arguments: id("503"), retryable: true, want: "[server_error] The backend is not available at the moment. Suggestions: Back off and retry",
			promises: []string{"studies/status-5xx"},
		},
		{
			name: "a nonsensical answer", tool: "study_get", arguments: id("003"), retryable: true,
			want:     "[server_error] An internal error occurred. Suggestions: Back off and retry",
			promises: []string{"studies/server-error-internal"},
		},
		{
			name: "a proxy's page", tool: "brand_set", arguments: `{"workspace_id":"w-1","name":"fault-html"}`, retryable: true,
			want: "[server_error] The backend sent an invalid response. Suggestions: The write may have landed. " +
				"Before calling again run brand_get(workspace_id='w-1') and check what has changed",
			promises: []string{"studies/server-error-internal"},
		},
		{
			name: "the connection breaks", tool: "study_get", arguments: id("001"), retryable: true,
			want:     "[network_error] The backend could not be reached. Suggestions: Retry",
			promises: []string{"studies/code-network-error", "studies/network-error-advice", "studies/retryable-network-error"},
		},
		{
			name: "418", tool: "study_get", arguments: id("418"),
			want:     "[client_error] The backend refused the request (HTTP 418). Suggestions: Read the message and change the request",
			promises: []string{"studies/status-other-4xx", "studies/final-client-error"},
		},
		{
			name: "an unlisted code", tool: "study_create", arguments: title("locked"), want: "[study_locked] The study is locked while it is exported." + obey,
			promises: []string{"studies/code-http-error", "studies/http-error-retry", "studies/unknown-code"},
		},
		{
			name: "an unlisted code with 503", tool: "study_get", arguments: id("004"), retryable: true,
			want:     "[maintenance] The service is being maintained. Suggestions: Back off and retry",
			promises: []string{"studies/http-error-retry", "studies/unknown-code"},
		},
		{name: "an invalid code", tool: "study_create", arguments: title("odd"), want: "[http_error] The study is locked." + obey},
		{
			name: "a code against its status", tool: "study_create", arguments: title("overload"), retryable: true,
			want:     "[rate_limited] Too many runs are under way. Suggestions: Back off and retry",
			promises: []string{"studies/error-code-wins"},
		},
		{
			name: "an analysis without answers", tool: "study_analyze", arguments: `{"study_id":"s-3","wait":true}`,
			want:     "[analysis_failed] The analysis has failed: no participant has answered yet. Suggestions: Read the reason before analyzing again",
			promises: []string{"studies/code-analysis-failed", "studies/analysis-failed-reason", "studies/analysis-failed-from-analyze", "studies/final-analysis-failed"},
		},
	}
	kinds := map[string]recourse.Kind{ // kinds of the codes, for clients that know the page
		"auth_failed": recourse.KindUnauthenticated, "forbidden": recourse.KindPermissionDenied, "not_found": recourse.KindNotFound,
		"empty_audience": recourse.KindNoMatch, "validation_error": recourse.KindInvalidValue, "usage_limit_reached": recourse.KindLimitReached,
		"insufficient_credits": recourse.KindQuotaExhausted, "rate_limited": recourse.KindRateLimited, "timeout": recourse.KindTimeout,
		"server_error": recourse.KindServerError, "network_error": recourse.KindUnreachable, "analysis_failed": recourse.KindJobFailed,
		"client_error": recourse.KindClientError,
	}
	s := newSystem(t, studies.Options{})
	for _, wire := range wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, s)
			for _, tt := range tests {
				promises.Covers(t, tt.promises...)
				r := client.Call(t, tt.tool, tt.arguments)
				if diff := cmp.Diff(tt.want, r.Tool(t).Text()); diff != "" || !r.Tool(t).IsError {
					t.Errorf("%s: isError %t (-want +got):\n%s", tt.name, r.Tool(t).IsError, diff)
				}
				word, _, _ := strings.Cut(strings.TrimPrefix(tt.want, "["), "]")
				if tt.name == "an unlisted code with 503" { // it is retryable because of its status, which only the record has
					if e := r.Record(t); !rules(t).Retryable(e, &contract.Call{Method: "tools/call"}) {
						t.Errorf("%s: %+v is not retryable", tt.name, e)
					}
				} else if code, repeat := retryable(t, r); code != word || repeat != tt.retryable {
					t.Errorf("%s: read as %s, retryable %t; want %s, %t", tt.name, code, repeat, word, tt.retryable)
				}
				if want, listed := kinds[word]; listed {
					if e := r.Read(t, rules(t)); e == nil || e.Kind != want {
						t.Errorf("%s: read as %v, want %s", tt.name, e, want)
					}
				}
			}
		})
	}
}

// A request that the service never answers is a timeout, and reads are repeated.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/timeout-no-answer")

	client := systemtest.Stdio(t, newSystem(t, studies.Options{Timeout: 100 * time.Millisecond}).MCPServer())
	r := client.Call(t, "study_get", id("002"))
	code, repeat := retryable(t, r)
	if text := r.Tool(t).Text(); text != "[timeout] The backend did not answer in time. Suggestions: Retry" || code != "timeout" || !repeat {
		t.Errorf("%s, read as %s, retryable %t", text, code, repeat)
	}
}

// The code does not depend on the sentence.
func TestCodeIsStable(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/code-stable")

	client := systemtest.HTTP(t, newSystem(t, studies.Options{}), testkit.Modern)
	texts := map[string]bool{}
	for _, arguments := range []string{id("404"), `{"study_id":"5d2c9e1a-7b40-4f6e-9a31-ffffffffffff"}`, `{"participant_id":"5d2c9e1a-7b40-4f6e-9a31-ffffffffffff"}`} {
		r := client.Call(t, "study_get", arguments)
		if code, _ := retryable(t, r); code != "not_found" {
			t.Errorf("%s is read as %s", r.Tool(t).Text(), code)
		}
		texts[r.Tool(t).Text()] = true
	}
	if len(texts) != 3 {
		t.Errorf("the texts do not differ: %v", texts)
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		token, want string
		promises    []string
	}{
		{token: "old", want: "[auth_failed] Invalid or expired token. Suggestions: Re-authenticate, then retry", promises: []string{"studies/code-auth-failed"}},
		{
			token: "staging_dana", promises: []string{"studies/signing-key-mismatch"},
			want: "[auth_failed] The token was signed with the key of another environment. Suggestions: The token was signed for another environment: " +
				"use the key and the base URL of one and the same environment, then retry",
		},
	} {
		t.Run(test.token, func(t *testing.T) {
			t.Parallel()
			promises.Covers(t, test.promises...)
			client := systemtest.Stdio(t, newSystem(t, studies.Options{Token: test.token}).MCPServer())
			if diff := cmp.Diff(test.want, client.Call(t, "workspace_get", `{}`).Tool(t).Text()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Arguments are checked without the service, as far as possible: it would refuse the token.
func TestPreFlight(t *testing.T) {
	t.Parallel()
	people := func(n int) string {
		return `["` + strings.Repeat(`tp-1","`, n-1) + `tp-1"]`
	}
	tests := []struct {
		name, tool, arguments, want string // the beginning of the text
		promises                    []string
	}{
		{name: "missing", tool: "study_create", arguments: `{"workspace_id":"w-1"}`, want: "title is required.", promises: []string{"studies/validation-missing"}},
		{
			name: "two ids", tool: "study_get", arguments: `{"study_id":"s-1","workspace_id":"w-1"}`, want: "study_id and workspace_id cannot be used together",
			promises: []string{"studies/get-one-id", "studies/validation-exclusive", "studies/pre-flight-flags"},
		},
		{name: "two other ids", tool: "person_get", arguments: `{"person_id":"tp-1","workspace_id":"w-1"}`, want: "person_id and workspace_id cannot be used together", promises: []string{"studies/get-one-id"}},
		{name: "three ids", tool: "study_get", arguments: `{"study_id":"s-1","workspace_id":"w-1","participant_id":"t-1"}`, want: "study_id and workspace_id and participant_id cannot be used together"},
		{name: "two views", tool: "study_get", arguments: `{"study_id":"s-1","view":"full","lean":true}`, want: "view and lean cannot be used together.", promises: []string{"studies/validation-exclusive"}},
		{name: "an unknown view", tool: "study_get", arguments: `{"study_id":"s-1","view":"all"}`, want: "view must be one of summary, full,"},
		{
			name: "people and a filter", tool: "run_dispatch", arguments: `{"study_id":"s-1","person_ids":["tp-1"],"count":3}`, want: "person_ids and count cannot be used together",
			promises: []string{"studies/validation-exclusive", "studies/pre-flight-flags"},
		},
		{name: "an unknown alias", tool: "study_get", arguments: `{"study_id":"s-99"}`, want: "study_id is an unknown alias.", promises: []string{"studies/validation-unknown-alias", "studies/pre-flight-alias"}},
		{
			name: "the wrong prefix", tool: "study_get", arguments: `{"study_id":"w-1"}`, want: "study_id has the wrong prefix: it takes an alias that begins with s-",
			promises: []string{"studies/validation-wrong-prefix", "studies/pre-flight-alias"},
		},
		{name: "no id at all", tool: "study_get", arguments: `{"study_id":"Breakfast"}`, want: "study_id is not an id"},
		{name: "an unknown person", tool: "run_dispatch", arguments: `{"study_id":"s-1","person_ids":["tp-1","tp-99"]}`, want: "person_ids is an unknown alias."},
		{name: "21 people", tool: "run_dispatch", arguments: `{"study_id":"s-1","person_ids":` + people(21) + `}`, want: "person_ids names 21 people: at most 20", promises: []string{"studies/dispatch-most-20"}},
		{name: "a count of 21", tool: "run_dispatch", arguments: `{"study_id":"s-1","count":21}`, want: "count must be between 1 and 20", promises: []string{"studies/dispatch-most-20"}},
		{name: "an hour", tool: "run_dispatch", arguments: `{"study_id":"s-1","wait":true,"timeout":3600}`, want: "timeout must be between 1 and 600 seconds."},
		{name: "an age", tool: "person_create", arguments: `{"workspace_id":"w-1","name":"x","country":"PT","age":1000}`, want: "age must be between 0 and 120."},
	}
	s := newSystem(t, studies.Options{Token: "old"})
	for _, wire := range wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, s)
			for _, tt := range tests {
				promises.Covers(t, tt.promises...)
				r := client.Call(t, tt.tool, tt.arguments)
				if text := r.Tool(t).Text(); !strings.HasPrefix(text, "[validation_error] "+tt.want) || r.Record(t).Effect != recourse.EffectNone {
					t.Errorf("%s: %s, want %s", tt.name, text, tt.want)
				}
			}
			if text := client.Call(t, "run_dispatch", `{"study_id":"s-1","person_ids":`+people(20)+`}`).Tool(t).Text(); !strings.HasPrefix(text, "[auth_failed] ") {
				t.Errorf("20 people: %s", text)
			}
		})
	}
}

// Aliases stand for UUIDs. The server never shows UUIDs, but accepts them.
func TestAliases(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/alias-prefixes", "studies/get-one-id")

	client := systemtest.HTTP(t, newSystem(t, studies.Options{Tunnel: fakeTunnel(t)}), testkit.Legacy)
	told := ""
	tell := func(tool, arguments string) string {
		t.Helper()
		r := client.Call(t, tool, arguments)
		if r.Tool(t).IsError {
			t.Fatalf("%s %s: %s", tool, arguments, r.Tool(t).Text())
		}
		told += r.Tool(t).Text()
		return r.Tool(t).Text()
	}
	tell("workspace_get", `{}`)
	tell("study_get", `{}`)
	tell("study_get", `{"study_id":"s-1","view":"full"}`)
	tell("person_get", `{"workspace_id":"w-1"}`)
	tell("ask_get", `{"ask_id":"a-1"}`)
	tell("run_dispatch", `{"study_id":"s-1","person_ids":["tp-1"],"wait":true}`)
	tell("study_get", `{"participant_id":"t-1"}`)
	tell("chatbot_setup", `{"workspace_id":"w-1","url":"https://bot.example.com/chat"}`)
	tell("connect_start", fmt.Sprintf(`{"port":%d}`, portGood))
	for _, alias := range []string{"w-1", "s-1", "a-1", "tp-1", "i-1", "t-1", "ep-1", "cc-1"} {
		if !strings.Contains(told, `"`+alias+`"`) {
			t.Errorf("no %s in %s", alias, told)
		}
	}
	const first, iteration = "5d2c9e1a-7b40-4f6e-9a31-000000000001", "5D2C9E1A-7B40-4F6E-9A31-00000000000B"
	if strings.Contains(told, first[:20]) {
		t.Errorf("the text has a UUID: %s", told)
	}
	if got := tell("workspace_get", `{"workspace_id":"`+first+`"}`); !strings.Contains(got, `"id":"w-1"`) {
		t.Errorf("by its UUID: %s", got)
	}
	if got := tell("run_dispatch", `{"study_id":"s-1","iteration_id":"`+iteration+`","person_ids":["tp-2"]}`); !strings.Contains(got, `"participant_count":2`) {
		t.Errorf("in an iteration by its UUID: %s", got)
	}
	if got := tell("study_get", `{"workspace_id":"w-2"}`); strings.Count(got, `"type":"study"`) != 3 {
		t.Errorf("the studies of w-2: %s", got)
	}
	if got := tell("study_get", `{}`); strings.Count(got, `"type":"study"`) != 4 {
		t.Errorf("all studies: %s", got)
	}
}

// A client that only knows the page and each tool's nature repeats reads after transient failures, but no write with
// unknown effect.
func TestClientRepeats(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/write-not-blindly")

	client := systemtest.HTTP(t, newSystem(t, studies.Options{}), testkit.Modern)
	for _, test := range []struct {
		tool, arguments string
		nature          retry.Nature
		repeats         bool
	}{
		{"study_get", id("503"), retry.Reads, true},
		{"study_get", id("404"), retry.Reads, false},
		{"study_create", title("drop"), retry.Writes, false},
		{"study_create", title("500"), retry.Writes, false},
		{"study_create", title("429"), retry.Writes, true},
	} {
		e := client.Call(t, test.tool, test.arguments).Read(t, rules(t))
		policy := retry.Policy{Attempts: 3, Start: time.Second, Factor: 2}
		d := policy.Decide(e.WithEffect(retry.Effect(e, test.nature)), test.nature, 1, time.Hour)
		if d.Repeat != test.repeats {
			t.Errorf("%s %s: %v: repeat is %t because %s", test.tool, test.arguments, e, d.Repeat, d.Reason)
		}
	}
	text := client.Call(t, "study_get", `{"workspace_id":"w-1"}`).Tool(t).Text()
	if n := strings.Count(text, "fault-drop"); n != 1 {
		t.Errorf("%d studies result from the lost write: %s", n, text)
	}
}

// The demo's scenes can be called.
func TestScenes(t *testing.T) {
	t.Parallel()
	for _, wire := range wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, studies.Options{})
			client := wire.Client(t, s)
			var codes []string
			for _, scene := range s.Scenes() {
				code, _ := retryable(t, client.Call(t, scene.Tool, scene.Arguments))
				codes = append(codes, code)
			}
			want := []string{
				"", "validation_error", "usage_limit_reached", "network_error", "",
				"", "validation_error", "empty_audience", "insufficient_credits", "no_audio_track", "analysis_failed", "smoke_test_failed", "",
			}
			if diff := cmp.Diff(want, codes); diff != "" {
				t.Errorf("codes (-want +got):\n%s", diff)
			}
		})
	}
}

// wires are the ways to the system: directly, and through gateways with the same contract.
func wires() []systemtest.Wire {
	return append(systemtest.Wires(), systemtest.Fronted("contract: studies", "reads: studies", "trusted: true", "forward: [authorization]")...)
}
