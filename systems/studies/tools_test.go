package studies_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/studies"
)

func keys(object map[string]json.RawMessage) []string { return slices.Sorted(maps.Keys(object)) }

// The tools, grouped by their subjects.
func TestTools(t *testing.T) {
	t.Parallel()
	want := []string{
		"ask_create", "ask_delete", "ask_get", "ask_people", "ask_questions", "ask_round", "ask_run", "brand_get", "brand_set", "chatbot_delete",
		"chatbot_get", "chatbot_setup", "connect_start", "connect_status", "connect_stop", "docs_get", "iteration_create", "iteration_update", "me_get",
		"person_attach", "person_create", "person_delete", "person_generate", "person_get", "person_update", "run_dispatch", "simulation_extend",
		"site_access_delete", "site_access_get", "site_access_set", "study_analyze", "study_benchmark", "study_create", "study_delete", "study_get",
		"study_revise", "upload_create", "upload_status", "workspace_create", "workspace_delete", "workspace_get", "workspace_update",
	}
	client := systemtest.HTTP(t, newSystem(t, studies.Options{}), testkit.Modern)
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(client.Tools(t)))); diff != "" || len(want) != 42 {
		t.Errorf("%d (-want +got):\n%s", len(want), diff)
	}
}

// A story that calls the tools which no other test calls.
func TestEveryTool(t *testing.T) {
	t.Parallel()
	steps := []struct{ tool, arguments, want string }{
		{"me_get", `{}`, `"email":"dana@example.com"`},
		{"docs_get", `{}`, `"items":["errors"]`},
		{"docs_get", `{"page":"errors"}`, "code in brackets"},
		{"docs_get", `{"page":"nothing"}`, "[not_found] "},
		{"workspace_update", `{"workspace_id":"w-1","name":"Acme & Co"}`, `"name":"Acme \u0026 Co"`},
		{"brand_get", `{"workspace_id":"w-1"}`, `"name":"Acme \u0026 Co"`},
		{"brand_set", `{"workspace_id":"w-1","name":"Acme","voice":"dry"}`, `"voice":"dry"`},
		{"brand_get", `{"workspace_id":"w-1"}`, `"voice":"dry"`},
		{"site_access_set", `{"workspace_id":"w-1","domain":"shop.example.com","username":"ana","password":"hunter2pw"}`, `"username":"ana"`},
		{"site_access_get", `{"workspace_id":"w-1"}`, `"domain":"shop.example.com"`},
		{"site_access_delete", `{"workspace_id":"w-1","domain":"shop.example.com"}`, `"deleted":true`},
		{"site_access_delete", `{"workspace_id":"w-1","domain":"shop.example.com"}`, `[not_found] There is no such login.`},
		{"upload_create", `{"workspace_id":"w-1","name":"advert.mp4"}`, `"status":"queued"`},
		{"upload_status", `{"workspace_id":"w-1"}`, `"status":"completed"`},
		{"upload_create", `{"workspace_id":"w-1","name":"silent.mp4"}`, `[no_audio_track] `},
		{"study_revise", `{"study_id":"s-1","title":"Supper"}`, `"title":"Supper"`},
		{"study_revise", `{"study_id":"s-1"}`, `[validation_error] title or question is required.`},
		{"study_benchmark", `{"study_id":"s-1","title":"Supper, other words"}`, `"id":"s-6"`},
		{"study_benchmark", `{"study_id":"s-2"}`, `[usage_limit_reached] `},
		{"iteration_update", `{"study_id":"s-1","iteration_id":"i-1","stimulus":"soup"}`, `"stimulus":"soup"`},
		{"iteration_update", `{"study_id":"s-1","iteration_id":"i-2","stimulus":"soup"}`, `[not_found] `},
		{"iteration_update", `{"study_id":"s-1","iteration_id":"i-1","media_url":"https://media.example.com/gone.mp4"}`, `[media_download_failed] `},
		{"iteration_update", `{"study_id":"s-1","iteration_id":"i-1"}`, `[validation_error] stimulus or media_url is required.`},
		{"person_generate", `{"workspace_id":"w-1","brief":"a cook","country":"IT","count":2}`, `"country":"IT"`},
		{"person_generate", `{"workspace_id":"w-2","brief":"a cook","country":"IT","count":1}`, `[usage_limit_reached] `},
		{"person_update", `{"person_id":"tp-1","age":35}`, `"age":35`},
		{"person_update", `{"person_id":"tp-1"}`, `[validation_error] name, country or age is required.`},
		{"chatbot_setup", `{"workspace_id":"w-1","url":"https://bot.example.com/chat"}`, `"ok":true`},
		{"chatbot_get", `{"chatbot_id":"cc-1"}`, `"url":"https://bot.example.com/chat"`},
		{"chatbot_get", `{"chatbot_id":"cc-1","workspace_id":"w-1"}`, `[validation_error] chatbot_id and workspace_id cannot be used together`},
		{"chatbot_delete", `{"chatbot_id":"cc-1"}`, `"deleted":true`},
		{"chatbot_get", `{"chatbot_id":"cc-1"}`, `[not_found] There is no such chatbot.`},
		{"run_dispatch", `{"study_id":"s-1","person_ids":["tp-1"],"wait":true}`, `"response":"Ana`},
		{"simulation_extend", `{"participant_id":"t-1","question":"Why porridge?"}`, `study_get(participant_id=\"t-1\")`},
		{"simulation_extend", `{"participant_id":"t-1","question":"With milk?","wait":true}`, `as for “With milk?”`},
		{"ask_create", `{"workspace_id":"w-1","question":"Tea?","person_ids":["tp-1"]}`, `"next_action":"ask_get(ask_id=\"a-2\")"`},
		{"ask_run", `{"ask_id":"a-2","wait":true}`, `"runtime_status":"completed"`},
		{"ask_round", `{"ask_id":"a-2","question":"Milk?","wait":true}`, `as for “Milk?”`},
		{"ask_questions", `{"ask_id":"a-2","questions":["Sugar?","Lemon?"],"wait":true}`, `as for “Lemon?”`},
		{"ask_people", `{"ask_id":"a-2","person_ids":["tp-2"],"wait":true}`, `Bruno from PT: as for “Tea?”`},
		{"ask_people", `{"ask_id":"a-2","person_ids":["tp-7"]}`, `[not_found] `},
		{"ask_delete", `{"ask_id":"a-2"}`, `"deleted":true`},
		{"ask_get", `{"ask_id":"a-2"}`, `[not_found] There is no such ask.`},
		{"simulation_extend", `{"participant_id":"5d2c9e1a-7b40-4f6e-9a31-ffffffffffff","question":"Why?"}`, `[not_found] There is no such participant.`},
	}
	for _, wire := range wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, newSystem(t, studies.Options{}))
			for _, step := range steps {
				text := client.Call(t, step.tool, step.arguments).Tool(t).Text()
				if !strings.Contains(text, step.want) || strings.Contains(text, "hunter2pw") {
					t.Errorf("%s %s: %s, want %s", step.tool, step.arguments, text, step.want)
				}
			}
		})
	}
}

// A _get tool takes a single id, whichever two are given.
func TestGetsTakeOneID(t *testing.T) {
	t.Parallel()
	client := systemtest.HTTP(t, newSystem(t, studies.Options{Token: "old"}), testkit.Modern)
	for tool, ids := range map[string][]string{
		"study_get":   {`"study_id":"s-1"`, `"workspace_id":"w-1"`, `"participant_id":"t-1"`},
		"person_get":  {`"person_id":"tp-1"`, `"workspace_id":"w-1"`},
		"ask_get":     {`"ask_id":"a-1"`, `"workspace_id":"w-1"`},
		"chatbot_get": {`"chatbot_id":"cc-1"`, `"workspace_id":"w-1"`},
	} {
		for i, a := range ids {
			for _, b := range ids[i+1:] {
				text := client.Call(t, tool, "{"+a+","+b+"}").Tool(t).Text()
				if !strings.HasPrefix(text, "[validation_error] ") || !strings.Contains(text, "cannot be used together: give at most one id.") {
					t.Errorf("%s {%s,%s}: %s", tool, a, b, text)
				}
			}
		}
	}
}

// Every tool that writes names a verify call, of an existing tool that only reads and accepts its arguments.
// person_attach has none: no tool lists an iteration's people by its id alone.
func TestEveryWriteCanBeVerified(t *testing.T) {
	t.Parallel()
	client := systemtest.HTTP(t, newSystem(t, studies.Options{}), testkit.Modern)
	var list struct {
		Tools []struct {
			Name        string `json:"name"`
			InputSchema struct {
				Properties map[string]json.RawMessage `json:"properties"`
				Required   []string                   `json:"required"`
			} `json:"inputSchema"`
			Annotations struct {
				ReadOnly bool `json:"readOnlyHint"`
			} `json:"annotations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(client(t, "tools/list", `{}`).Result, &list); err != nil {
		t.Fatal(err)
	}
	takes, reads := map[string]map[string]json.RawMessage{}, map[string]bool{}
	for _, tool := range list.Tools {
		takes[tool.Name], reads[tool.Name] = tool.InputSchema.Properties, tool.Annotations.ReadOnly
	}
	for _, tool := range list.Tools {
		arguments := map[string]string{}
		for name := range tool.InputSchema.Properties {
			arguments[name] = "x"
		}
		raw, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		call := &contract.Call{Method: "tools/call", Tool: tool.Name, Arguments: raw, At: contract.AtTool}
		verify := rules(t).Write(recourse.Timeout("the service", 0).WithEffect(recourse.EffectUnknown), call).Record.Verify
		switch {
		case reads[tool.Name] || tool.Name == "person_attach":
			if verify != nil {
				t.Errorf("%s is verified by %v", tool.Name, verify)
			}
		case verify == nil:
			t.Errorf("%s has no verify call", tool.Name)
		case !reads[verify.Tool]:
			t.Errorf("%s is verified by %s, which is unknown or writes", tool.Name, verify.Tool)
		default:
			for _, arg := range verify.Args {
				if _, ok := takes[verify.Tool][arg.Name]; !ok {
					t.Errorf("%s is verified by %s, which has no parameter %s", tool.Name, verify.Tool, arg.Name)
				}
			}
		}
	}
}

// A deletion whose answer is lost is verified by the _get of the deleted object.
func TestDeletionsAreVerified(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ tool, id, verify string }{
		{"study_delete", "study_id", "study_get"},
		{"person_delete", "person_id", "person_get"},
		{"workspace_delete", "workspace_id", "workspace_get"},
		{"ask_delete", "ask_id", "ask_get"},
		{"chatbot_delete", "chatbot_id", "chatbot_get"},
	} {
		t.Run(tt.tool, func(t *testing.T) {
			t.Parallel()
			const lost = "00000000-0000-4000-8000-000000000001"
			client := systemtest.HTTP(t, newSystem(t, studies.Options{}), testkit.Modern)
			text := client.Call(t, tt.tool, fmt.Sprintf(`{%q:%q}`, tt.id, lost)).Tool(t).Text()
			want := fmt.Sprintf("Before calling again run %s(%s='%s') and check whether it is still there", tt.verify, tt.id, lost)
			if !strings.HasPrefix(text, "[network_error] ") || !strings.HasSuffix(text, want) {
				t.Errorf("%s, want %s", text, want)
			}
		})
	}
}
