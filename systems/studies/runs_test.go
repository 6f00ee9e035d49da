package studies_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/studies"
)

// The verify calls in texts work in every state in which a write can leave a study.
func TestVerifyWorksInEveryState(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/analysis-failed-from-analyze")

	states := []struct{ name, tool, arguments string }{
		{name: "no write"},
		{"a failed analysis", "study_analyze", `{"study_id":"s-3","wait":true}`},
		{"a running analysis", "study_analyze", `{"study_id":"s-3"}`},
		{"a stuck analysis", "study_analyze", `{"study_id":"s-3","focus":"fault-stuck"}`},
	}
	for _, state := range states {
		t.Run(state.name, func(t *testing.T) {
			t.Parallel()
			client := systemtest.HTTP(t, newSystem(t, studies.Options{}), testkit.Modern)
			if state.tool != "" {
				client.Call(t, state.tool, state.arguments)
			}
			for _, arguments := range []string{
				`{"workspace_id":"w-2"}`, `{"study_id":"s-3"}`, `{"study_id":"s-3","lean":true}`, `{"study_id":"s-3","view":"full"}`,
				`{"study_id":"s-3","view":"insights"}`, `{"study_id":"s-3","view":"summary"}`, `{"study_id":"s-3","view":"per_participant"}`,
				`{"study_id":"s-3","view":"transcripts"}`,
			} {
				if r := client.Call(t, "study_get", arguments).Tool(t); r.IsError {
					t.Errorf("study_get %s: %s", arguments, r.Text())
				}
			}
			text := client.Call(t, "study_get", `{"study_id":"s-3","view":"full"}`).Tool(t).Text()
			failed := strings.Contains(text, `"status":"failed"`) && strings.Contains(text, `"reason":"no participant has answered yet"`)
			if state.name == "a failed analysis" && !failed {
				t.Errorf("no failed analysis in %s", text)
			}
		})
	}
}

// If polling a job fails for good, the job has still been started: the failure says so, and names the verify call.
func TestLandedThoughTheLookFailed(t *testing.T) {
	t.Parallel()
	jobs := []struct{ name, tool, arguments, begun, verify string }{
		{
			"run", "run_dispatch", `{"study_id":"s-1","country":"PT","wait":true,"instructions":"fault-laterWHAT"}`, "The run was dispatched.",
			`study_get(study_id='s-1', lean=True) and check participant_count and runtime_status`,
		},
		{
			"analysis", "study_analyze", `{"study_id":"s-1","wait":true,"focus":"fault-laterWHAT"}`, "The analysis was started.",
			`study_get(study_id='s-1', view='insights') and check the insights`,
		},
	}
	faults := map[string]string{
		"401": "auth_failed", "402": "insufficient_credits", "403": "auth_failed", "404": "not_found", "422": "validation_error", "418": "client_error",
		"forbidden": "forbidden", "credits": "insufficient_credits", "locked": "study_locked",
	}
	for _, wire := range wires() {
		for _, job := range jobs {
			t.Run(wire.Name+"/"+job.name, func(t *testing.T) {
				t.Parallel()
				client := wire.Client(t, newSystem(t, studies.Options{}))
				for fault, code := range faults {
					r := client.Call(t, job.tool, strings.ReplaceAll(job.arguments, "WHAT", fault))
					text := r.Tool(t).Text()
					start := "[" + code + "] " + job.begun + " Looking at how it gets on failed: "
					end := " Suggestions: The write has landed: do not make the call again. Run " + job.verify
					if !strings.HasPrefix(text, start) || !strings.HasSuffix(text, end) {
						t.Errorf("fault-later%s: %s, want %s...%s", fault, text, start, end)
					}
					if e := r.Record(t); e.Effect != recourse.EffectApplied || e.RetryAdvice() != recourse.RetryNever || e.Verify == nil {
						t.Errorf("fault-later%s: effect %s, retry %s, verify %v", fault, e.Effect, e.RetryAdvice(), e.Verify)
					}
					client.Call(t, "study_get", `{"study_id":"s-1"}`) // the second failing poll
				}
				answer := client.Call(t, "study_get", `{"study_id":"s-1","lean":true}`).Tool(t).Text()
				if want := fmt.Sprintf(`"participant_count":%d`, 2*len(faults)); job.name == "run" && !strings.Contains(answer, want) {
					t.Errorf("%s, want %s", answer, want)
				}
			})
		}
	}
}

// Zero and empty values are out of range; they do not count as missing.
func TestEmptyValuesAreOutOfRange(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/validation-range", "studies/validation-names-field", "studies/pre-flight-parameter")

	const big = "100000000000000000000"
	tests := []struct{ tool, arguments, want string }{
		{"run_dispatch", `{"study_id":"s-1","count":0}`, "count must be between 1 and 20."},
		{"run_dispatch", `{"study_id":"s-1","count":-1}`, "count must be between 1 and 20."},
		{"run_dispatch", `{"study_id":"s-1","count":21}`, "count must be between 1 and 20."},
		{"person_generate", `{"workspace_id":"w-1","brief":"x","country":"PT","count":0}`, "count must be between 1 and 20."},
		{"run_dispatch", `{"study_id":"s-1","wait":true,"timeout":0}`, "timeout must be between 1 and 600 seconds."},
		{"run_dispatch", `{"study_id":"s-1","wait":true,"timeout":-1}`, "timeout must be between 1 and 600 seconds."},
		{"run_dispatch", `{"study_id":"s-1","wait":true,"timeout":601}`, "timeout must be between 1 and 600 seconds."},
		{"study_analyze", `{"study_id":"s-1","wait":true,"timeout":0}`, "timeout must be between 1 and 600 seconds."},
		{"simulation_extend", `{"participant_id":"t-1","question":"Why?","timeout":0}`, "timeout must be between 1 and 600 seconds."},
		{"ask_run", `{"ask_id":"a-1","timeout":0}`, "timeout must be between 1 and 600 seconds."},
		{"ask_create", `{"workspace_id":"w-1","question":"Why?","person_ids":["tp-1"],"timeout":0}`, "timeout must be between 1 and 600 seconds."},
		{"run_dispatch", `{"study_id":"s-1","person_ids":[]}`, "person_ids is empty"},
		{"run_dispatch", `{"study_id":"s-1","iteration_id":""}`, "iteration_id is empty"},
		{"run_dispatch", `{"study_id":"s-1","country":""}`, "country is empty"},
		{"ask_create", `{"workspace_id":"w-1","question":"Why?","person_ids":[]}`, "person_ids is empty"},
		{"ask_people", `{"ask_id":"a-1","person_ids":[ ]}`, "person_ids is empty"},
		{"ask_questions", `{"ask_id":"a-1","questions":[]}`, "questions is empty"},
		{"study_get", `{"study_id":""}`, "study_id is empty"},
		{"study_get", `{"study_id":"","workspace_id":"w-1"}`, "study_id is empty"},
		{"study_get", `{"study_id":"s-1","view":""}`, "view is empty"},
		{"person_get", `{"person_id":""}`, "person_id is empty"},
		{"study_create", `{"workspace_id":"w-1","title":""}`, "title is empty"},
		{"connect_start", `{"port":0}`, "port must be between 1 and 65535."},
		{"person_create", `{"workspace_id":"w-1","name":"x","country":"PT","age":-1}`, "age must be between 0 and 120."},
		{"run_dispatch", `{"study_id":"s-1","count":` + big + `}`, "count must be"},
		{"run_dispatch", `{"study_id":"s-1","wait":true,"timeout":` + big + `}`, "timeout must be"},
		{"person_create", `{"workspace_id":"w-1","name":"x","country":"PT","age":` + big + `}`, "age must be"},
		{"connect_start", `{"port":` + big + `}`, "port must be"},
	}
	s := newSystem(t, studies.Options{Token: "old"}) // the service would refuse it
	for _, wire := range wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, s)
			for _, tt := range tests {
				r := client.Call(t, tt.tool, tt.arguments)
				if text := r.Tool(t).Text(); !strings.HasPrefix(text, "[validation_error] "+tt.want) || r.Record(t).Effect != recourse.EffectNone {
					t.Errorf("%s %s: %s (effect %s), want %s", tt.tool, tt.arguments, text, r.Record(t).Effect, tt.want)
				}
			}
		})
	}
	client := systemtest.HTTP(t, newSystem(t, studies.Options{}), testkit.Modern)
	if text := client.Call(t, "person_create", `{"workspace_id":"w-1","name":"Baby","country":"PT","age":0}`).Tool(t).Text(); !strings.Contains(text, `"age":0`) {
		t.Errorf("an age of 0 was refused: %s", text)
	}
	total := 0
	for _, step := range []struct {
		arguments string
		more      int
	}{{`{"study_id":"s-1"}`, 5}, {`{"study_id":"s-1","count":null}`, 5}, {`{"study_id":"s-1","count":1}`, 1}, {`{"study_id":"s-1","count":20}`, 5}} {
		total += step.more
		text := client.Call(t, "run_dispatch", step.arguments).Tool(t).Text()
		if !strings.Contains(text, fmt.Sprintf(`"participant_count":%d,`, total)) {
			t.Errorf("run_dispatch %s: %s, want %d participants", step.arguments, text, total)
		}
	}
}

// Only people attached to the study's iteration take part.
func TestAttachments(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/not-found-not-attached", "studies/code-empty-audience")

	const foreign = "5d2c9e1a-7b40-4f6e-9a31-00000000000f" // a person of w-2
	tests := []struct{ name, arguments, want string }{
		{"another study's iteration", `{"study_id":"s-1","iteration_id":"i-2"}`, "[not_found] The study has no such iteration."},
		{"the same, with people", `{"study_id":"s-1","iteration_id":"i-2","person_ids":["tp-1"]}`, "[not_found] The study has no such iteration."},
		{"an unknown iteration", `{"study_id":"s-1","iteration_id":"` + foreign + `"}`, "[not_found] The study has no such iteration."},
		{"no iteration", `{"study_id":"s-3"}`, "[not_found] The study has no iteration: iteration_create adds one."},
		{"a person who is not attached", `{"study_id":"s-1","person_ids":["tp-5"]}`, "[not_found] tp-5 is not attached to the iteration i-1: person_attach does that."},
		{"a person of another workspace", `{"study_id":"s-1","person_ids":["` + foreign + `"]}`, "[not_found] tp-"},
		{"one of two", `{"study_id":"s-1","iteration_id":"i-1","person_ids":["tp-1","tp-5"]}`, "[not_found] tp-5 is not attached"},
		{"nobody attached matches", `{"study_id":"s-1","country":"AT"}`, "[empty_audience] "},
	}
	s := newSystem(t, studies.Options{})
	for _, wire := range wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, s)
			for _, tt := range tests {
				r := client.Call(t, "run_dispatch", tt.arguments)
				if text := r.Tool(t).Text(); !strings.HasPrefix(text, tt.want) || r.Record(t).Effect != recourse.EffectNone {
					t.Errorf("%s: %s (effect %s), want %s", tt.name, text, r.Record(t).Effect, tt.want)
				}
			}
			if p := work(t, client, "run_dispatch", `{"study_id":"s-1","count":20,"wait":true,"timeout":30}`); len(p.Participants) == 0 {
				t.Error("no participants")
			}
			text := client.Call(t, "study_get", `{"study_id":"s-1","view":"per_participant"}`).Tool(t).Text()
			if strings.Contains(text, `"person_id":"tp-5"`) || strings.Contains(text, `"iteration_id":"i-2"`) {
				t.Errorf("someone who is not attached takes part: %s", text)
			}
		})
	}
}

// Six concurrent runs for one credit are one run and five refusals.
func TestCreditsAreReserved(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/code-insufficient-credits", "studies/credits-on-success-only")

	for _, wire := range wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, newSystem(t, studies.Options{}))
			var codes []string
			for range 6 {
				code, _ := retryable(t, client.Call(t, "run_dispatch", `{"study_id":"s-2","count":1,"instructions":"fault-stuck"}`))
				codes = append(codes, code)
			}
			const no = "insufficient_credits"
			if diff := cmp.Diff([]string{"", no, no, no, no, no}, codes); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if code, _ := retryable(t, client.Call(t, "ask_create", `{"workspace_id":"w-2","question":"Why?","person_ids":["tp-7"]}`)); code != no {
				t.Errorf("an ask without credits: %q", code)
			}
		})
	}
}

// Each view of a study has its members.
func TestViews(t *testing.T) {
	t.Parallel()
	client := systemtest.HTTP(t, newSystem(t, studies.Options{}), testkit.Legacy)
	work(t, client, "run_dispatch", `{"study_id":"s-1","person_ids":["tp-1","tp-6"],"wait":true}`)
	work(t, client, "study_analyze", `{"study_id":"s-1","wait":true}`)
	for view, want := range map[string][]string{
		"summary":         {"answered", "id", "participant_count", "question", "runtime_status", "title", "type"},
		"per_participant": {"id", "participants", "type"},
		"transcripts":     {"id", "transcripts", "type"},
		"insights":        {"id", "insights", "type"},
		"full": {
			"id", "insights", "iterations", "participant_count", "participants", "question", "runtime_status", "title", "type", "workspace_id",
		},
	} {
		var out map[string]json.RawMessage
		client.Call(t, "study_get", `{"study_id":"s-1","view":"`+view+`"}`).Object(t, 0, &out)
		if diff := cmp.Diff(want, keys(out)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", view, diff)
		}
		switch text := string(out["transcripts"]); view {
		case "summary":
			if string(out["answered"]) != "1" {
				t.Errorf("answered: %s", out["answered"])
			}
		case "transcripts":
			if strings.Count(text, `"participant_id":"t-1"`) != 1 || strings.Contains(text, "t-2") {
				t.Errorf("transcripts: %s", text)
			}
		}
	}
}

// A title has at most 120 characters, however many bytes those are.
func TestTitleIsCountedInCharacters(t *testing.T) {
	t.Parallel()
	client := systemtest.HTTP(t, newSystem(t, studies.Options{}), testkit.Modern)
	for n, isError := range map[int]bool{120: false, 121: true} {
		r := client.Call(t, "study_create", `{"workspace_id":"w-1","title":"`+strings.Repeat("é", n)+`"}`).Tool(t)
		if r.IsError != isError {
			t.Errorf("%d characters: %s", n, r.Text())
		}
	}
}

// Who is asked already is not asked, and paid for, again when more people are added to an ask; nor is who is named twice.
func TestAskPeopleOnce(t *testing.T) {
	t.Parallel()
	for _, wire := range wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, newSystem(t, studies.Options{}))
			credits := func() float64 {
				t.Helper()
				var w struct {
					Credits struct {
						Total float64 `json:"total_available"`
					} `json:"credits"`
				}
				if err := json.Unmarshal([]byte(client.Call(t, "workspace_get", `{"workspace_id":"w-1"}`).Tool(t).Text()), &w); err != nil {
					t.Fatal(err)
				}
				return w.Credits.Total
			}
			before := credits()
			client.Call(t, "ask_create", `{"workspace_id":"w-1","question":"Tea?","person_ids":["tp-1","tp-1"],"wait":true}`)
			text := client.Call(t, "ask_people", `{"ask_id":"a-2","person_ids":["tp-1","tp-2","tp-2"],"wait":true}`).Tool(t).Text()
			if paid := before - credits(); paid != 2 || strings.Count(text, "as for") != 2 {
				t.Errorf("paid for %v answers: %s", paid, text)
			}
			text = client.Call(t, "ask_people", `{"ask_id":"a-2","person_ids":["tp-2"],"wait":true}`).Tool(t).Text()
			if paid := before - credits(); paid != 2 || !strings.Contains(text, `"runtime_status":"completed"`) {
				t.Errorf("paid for %v answers: %s", paid, text)
			}
		})
	}
}
