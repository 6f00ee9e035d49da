package terra_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/terra"
)

const noFields = "fields or select are required"

func TestQueryFails(t *testing.T) {
	t.Parallel()
	s := newSystem(t, terra.Options{})
	where := func(condition string) string { return `{"fields":["awakenings"],"where":` + condition + `}` }
	timestamp := func(operator, value string) string {
		return where(`{"field":"start_time","operator":"` + operator + `","value":` + value + `}`)
	}
	tests := []struct {
		name, arguments, want string
		promises              []string
	}{
		{name: "an empty query", arguments: `{}`, want: noFields, promises: []string{"terra/detail-fields-or-select", "terra/tool-no-retry", "terra/tool-is-error", "terra/tool-surfaced"}},
		{name: "empty fields", arguments: `{"fields":[]}`, want: noFields, promises: []string{"terra/detail-empty-fields"}},
		{name: "only nulls", arguments: `{"fields":null,"select":null,"where":null}`, want: noFields, promises: []string{"terra/detail-empty-fields"}},
		{name: "empty fields and empty select", arguments: `{"fields":[],"select":[]}`, want: noFields, promises: []string{"terra/detail-empty-fields"}},
		{
			name: "both", arguments: `{"fields":["awakenings"],"select":[{"function":"sum","field":"awakenings"}]}`,
			want: "fields and select cannot both be set", promises: []string{"terra/detail-fields-and-select"},
		},
		{
			name: "both, with an invalid filter and an unknown field", arguments: `{"fields":["steps"],"select":[{"function":"sum","field":"awakenings"}],"where":{"and":[]}}`,
			want: "fields and select cannot both be set", promises: []string{"terra/detail-shape-before-filters"},
		},
		{name: "neither, with an invalid filter", arguments: `{"where":{"not":{}}}`, want: noFields, promises: []string{"terra/detail-shape-before-filters"}},
		{
			name: "a list without IN", arguments: timestamp("GTE", `["2025-11-12T00:00:00Z"]`),
			want: "Only the IN operator accepts a list of timestamps", promises: []string{"terra/detail-list-without-in"},
		},
		{name: "an empty list without IN", arguments: timestamp("EQ", `[]`), want: "Only the IN operator accepts a list of timestamps"},
		{name: "an empty IN", arguments: timestamp("IN", `[]`), want: "IN timestamp filters require at least one timestamp", promises: []string{"terra/detail-empty-in"}},
		{
			name: "an invalid timestamp", arguments: timestamp("LT", `"12/11/2025"`), promises: []string{"terra/detail-bad-timestamp"},
			want: "Invalid ISO 8601 timestamp '12/11/2025'. Use formats like 2025-11-12T00:00:00Z.",
		},
		{
			name: "an invalid timestamp in a list", arguments: timestamp("IN", `["2025-11-12","it's soon"]`), promises: []string{"terra/detail-bad-timestamp"},
			want: "Invalid ISO 8601 timestamp 'it's soon'. Use formats like 2025-11-12T00:00:00Z.",
		},
		{name: "a number for a timestamp", arguments: timestamp("LT", `5`), want: "Invalid ISO 8601 timestamp '5'. Use formats like 2025-11-12T00:00:00Z."},
		{
			name: "a list of numbers", arguments: where(`{"field":"awakenings","operator":"IN","value":[1,2]}`),
			want: "Only timestamp fields support list values via IN", promises: []string{"terra/detail-list-not-timestamp"},
		},
		{name: "a list of texts", arguments: where(`{"field":"device","operator":"EQ","value":[]}`), want: "Only timestamp fields support list values via IN"},
		{name: "an empty and", arguments: where(`{"and":[]}`), want: "And condition provided but empty after conversion", promises: []string{"terra/detail-empty-and"}},
		{name: "an and of empty conditions", arguments: where(`{"and":[{},{}]}`), want: "And condition provided but empty after conversion"},
		{name: "an empty or", arguments: where(`{"or":[]}`), want: "Or condition provided but empty after conversion", promises: []string{"terra/detail-empty-or"}},
		{name: "an empty not", arguments: where(`{"not":{}}`), want: "Not condition was None after conversion", promises: []string{"terra/detail-empty-not"}},
		{name: "a nested empty not", arguments: where(`{"and":[{"or":[{"not":{}}]}]}`), want: "Not condition was None after conversion"},
		{name: "two conditions in one", arguments: where(`{"and":[{}],"not":{}}`), want: "A condition is one of and, or, not and a comparison."},
		{name: "half a comparison", arguments: where(`{"field":"awakenings","operator":"EQ"}`), want: "A comparison needs field, operator and value."},
		{name: "a text for a number", arguments: where(`{"field":"awakenings","operator":"EQ","value":"2"}`), want: "awakenings is compared with a number."},
		{
			name: "an unknown field", arguments: `{"fields":["steps"]}`, promises: []string{"terra/everything-else"},
			want: `There is no field "steps" here. The fields are start_time, end_time, duration_asleep_seconds, duration_deep_seconds, duration_rem_seconds, awakenings, avg_hr_bpm, device.`,
		},
		{name: "an average of timestamps", arguments: `{"select":[{"function":"avg","field":"start_time"}]}`, want: "avg takes a field of numbers, and start_time is a timestamp."},
		{
			name: "an unknown operator", arguments: where(`{"field":"awakenings","operator":"LIKE","value":2}`),
			want: `where.operator must be one of "EQ", "NE", "GT", "GTE", "LT", "LTE", "IN".`, promises: []string{"terra/tool-operators"},
		},
	}
	for _, tt := range tests {
		for _, era := range eras {
			t.Run(tt.name+"/"+era.String(), func(t *testing.T) {
				t.Parallel()
				promises.Covers(t, tt.promises...)
				result, e := ask(t, s, era, "get_sleep_data", tt.arguments)
				if result.Text() != tt.want || !result.IsError || len(result.Content) != 1 || result.StructuredContent != nil {
					t.Errorf("%+v, want the one text %q", result, tt.want)
				}
				if retry := e.RetryAdvice(); retry == recourse.RetrySameCall || e.Effect != recourse.EffectNone {
					t.Errorf("retry %s, effect %s", retry, e.Effect)
				}
			})
		}
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	s := newSystem(t, terra.Options{})
	nights := func(condition string) string { return `{"fields":["awakenings"],"where":` + condition + `}` }
	tests := []struct {
		name, arguments, want string
		promises              []string
	}{
		{name: "null for unused members", arguments: `{"fields":["awakenings"],"select":null,"where":null}`, want: `[2,4,1,5,2,3]`},
		{name: "fields", arguments: `{"fields":["avg_hr_bpm","awakenings"],"where":{"field":"awakenings","operator":"EQ","value":3}}`, want: `[{"avg_hr_bpm":null,"awakenings":3}]`},
		{
			name: "select", arguments: `{"select":[{"function":"count","field":"avg_hr_bpm"},{"function":"sum","field":"awakenings"},{"function":"avg","field":"avg_hr_bpm"},` +
				`{"function":"min","field":"avg_hr_bpm"},{"function":"max","field":"avg_hr_bpm"}]}`,
			want: `[{"avg_avg_hr_bpm":54.8,"count_avg_hr_bpm":5,"max_avg_hr_bpm":61,"min_avg_hr_bpm":51,"sum_awakenings":17}]`,
		},
		{name: "select without matches", arguments: `{"select":[{"function":"avg","field":"awakenings"}],"where":{"field":"awakenings","operator":"GT","value":99}}`, want: `[{"avg_awakenings":null}]`},
		{name: "NE", arguments: nights(`{"field":"awakenings","operator":"NE","value":2}`), want: `[4,1,5,3]`},
		{name: "GT", arguments: nights(`{"field":"awakenings","operator":"GT","value":3}`), want: `[4,5]`},
		{name: "GTE", arguments: nights(`{"field":"awakenings","operator":"GTE","value":3}`), want: `[4,5,3]`},
		{name: "LT", arguments: nights(`{"field":"awakenings","operator":"LT","value":2}`), want: `[1]`},
		{name: "LTE", arguments: nights(`{"field":"awakenings","operator":"LTE","value":2}`), want: `[2,1,2]`},
		{name: "IN", arguments: nights(`{"field":"start_time","operator":"IN","value":["2025-11-09T22:41:00Z","2025-11-11T23:05:00+01:00","2025-11-12T00:05:00+01:00"]}`), want: `[2]`},
		{name: "basic forms", arguments: nights(`{"field":"start_time","operator":"IN","value":["20251111T000500+0100","20251109T224100Z","20251113"]}`), want: `[2,4]`},
		{name: "a day", arguments: nights(`{"field":"start_time","operator":"GTE","value":"2025-11-14"}`), want: `[3]`},
		{name: "a text", arguments: nights(`{"field":"device","operator":"NE","value":"Oura Ring"}`), want: `[]`},
		{name: "missing values", arguments: nights(`{"field":"avg_hr_bpm","operator":"NE","value":54}`), want: `[4,1,5,2]`},
		{name: "or, and, not", arguments: nights(`{"or":[{"field":"awakenings","operator":"EQ","value":5},{"and":[{},{"not":{"field":"awakenings","operator":"GT","value":1}}]}]}`), want: `[1,5]`},
		{name: "an empty condition", arguments: nights(`{}`), want: `[2,4,1,5,2,3]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			promises.Covers(t, "terra/tool-arguments", "terra/tool-operators")
			result, _ := ask(t, s, testkit.Modern, "get_sleep_data", tt.arguments)
			var got struct {
				Data []map[string]any `json:"data"`
			}
			if err := json.Unmarshal(result.StructuredContent, &got); err != nil {
				t.Fatalf("%v: %+v", err, result)
			}
			var data any = got.Data
			if !strings.Contains(tt.want, "{") { // with a single field, the values suffice
				values := []any{}
				for _, record := range got.Data {
					values = append(values, record["awakenings"])
				}
				data = values
			}
			text, err := json.Marshal(data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// ask calls a tool for the user Ada.
func ask(t *testing.T, s *terra.System, era testkit.Era, tool, arguments string) (testkit.ToolResult, *recourse.Error) {
	t.Helper()
	return read(t, send(t, s, era, s.Entrance(), tool, arguments))
}

// The tools are those of the source document, and all are read-only.
func TestTools(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "terra/tools", "terra/tool-arguments")

	s := newSystem(t, terra.Options{})
	reply := systemtest.HTTP(t, s, testkit.Modern)(t, "tools/list", `{}`)
	var list struct {
		Tools []struct {
			Name        string `json:"name"`
			Annotations struct {
				ReadOnlyHint bool `json:"readOnlyHint"`
			} `json:"annotations"`
			InputSchema struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"inputSchema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(reply.Result, &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		arguments := slices.Sorted(maps.Keys(tool.InputSchema.Properties))
		if diff := cmp.Diff([]string{"fields", "select", "where"}, arguments); diff != "" || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s, read-only %t (-want +got):\n%s", tool.Name, tool.Annotations.ReadOnlyHint, diff)
		}
	}
	want := []string{"get_activity_data", "get_body_data", "get_daily_data", "get_menstruation_data", "get_nutrition_data", "get_sleep_data"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, tool := range names {
		result, _ := ask(t, s, testkit.Legacy, tool, `{"select":[{"function":"count","field":"`+firstField[tool]+`"}]}`)
		if result.IsError || strings.Contains(result.Text(), ":0}") {
			t.Errorf("%s: %s", tool, result.Text())
		}
	}
}

// firstField is a field with a time in each tool's data.
var firstField = map[string]string{
	"get_activity_data": "start_time", "get_body_data": "timestamp", "get_daily_data": "timestamp",
	"get_menstruation_data": "timestamp", "get_nutrition_data": "timestamp", "get_sleep_data": "start_time",
}

// The client of the Go SDK gets the text for the model.
func TestSDKClient(t *testing.T) {
	t.Parallel()
	session := systemtest.SDK(t, newSystem(t, terra.Options{}))
	for _, call := range []struct {
		tool, arguments, want string
		isError               bool
	}{
		{"get_daily_data", `{"select":[{"function":"max","field":"steps"}]}`, `{"data":[{"max_steps":24902}]}`, false},
		{"get_sleep_data", `{}`, noFields, true},
	} {
		text, isError := systemtest.SDKText(t, session, call.tool, call.arguments)
		if !strings.Contains(text, call.want) || isError != call.isError {
			t.Errorf("%s %s: isError %t, %s", call.tool, call.arguments, isError, text)
		}
	}
}
