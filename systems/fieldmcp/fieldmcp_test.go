package fieldmcp_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/systems"
	"github.com/recoursehq/recourse/systems/fieldmcp"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
)

func TestMain(m *testing.M) {
	systemtest.Main(m, func() (systems.System, error) { return fieldmcp.New(fieldmcp.Options{}) })
}

// A clock stands still until the test moves it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 7, 28, 12, 0, 48, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// noSleep returns immediately.
func noSleep(context.Context, time.Duration) error { return nil }

// plenty is a quota that no test exhausts.
var plenty = []mcptool.Policy{{Name: "minute", Limit: 100_000, Window: time.Minute}, {Name: "month", Limit: 100_000}}

func newSystem(t *testing.T, o fieldmcp.Options) *fieldmcp.System {
	t.Helper()
	o.Logger = systemtest.Quiet()
	s, err := fieldmcp.New(fieldmcp.WithSleep(o, noSleep))
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

func rules(t *testing.T) *contract.Contract {
	t.Helper()
	c := contract.MustBuiltin("fieldmcp")
	return c
}

// A failure is the page's error object.
type failure struct {
	Error           bool     `json:"error"`
	Code            string   `json:"code"`
	Message         string   `json:"message"`
	Retryable       bool     `json:"retryable"`
	SuggestedAction string   `json:"suggestedAction"`
	Param           string   `json:"param"`
	ProvidedValue   any      `json:"providedValue"`
	ExpectedType    string   `json:"expectedType"`
	RetryAfter      float64  `json:"retryAfter"`
	Provider        string   `json:"provider"`
	MissingScopes   []string `json:"missingScopes"`
	ResourceID      string   `json:"resourceId"`
	ResourceType    string   `json:"resourceType"`
	Succeeded       []struct {
		ID   string         `json:"id"`
		Data map[string]any `json:"data"`
	} `json:"succeeded"`
	Failed []struct {
		ID        string `json:"id"`
		Code      string `json:"code"`
		Message   string `json:"message"`
		Retryable bool   `json:"retryable"`
	} `json:"failed"`
	MissingData []missing `json:"missingData"`
}

type missing struct {
	What   string `json:"what"`
	Impact string `json:"impact"`
}

func fail(t *testing.T, client systemtest.Client, tool, arguments string) failure {
	t.Helper()
	r := client.Call(t, tool, arguments)
	var f failure
	r.Object(t, 0, &f)
	if !f.Error || !r.Tool(t).IsError || f.Message == "" || f.SuggestedAction == "" {
		t.Errorf("%s %s: %s", tool, arguments, r.Result)
	}
	if want, listed := kinds[f.Code]; listed {
		if e := r.Read(t, rules(t)); e == nil || e.Kind != want {
			t.Errorf("%s %s: %s is read as %v, want %s", tool, arguments, f.Code, e, want)
		}
	}
	return f
}

// kinds are the kinds of the page's codes, for clients that know it.
var kinds = map[string]recourse.Kind{
	"MISSING_REQUIRED_PARAM": recourse.KindMissingParam, "INVALID_PARAM_TYPE": recourse.KindInvalidType,
	"MUTUALLY_EXCLUSIVE_PARAMS": recourse.KindConflictingParams, "INVALID_PARAM_VALUE": recourse.KindInvalidValue,
	"TOKEN_REVOKED": recourse.KindTokenRevoked, "TOKEN_EXPIRED": recourse.KindTokenExpired,
	"MISSING_SCOPE": recourse.KindMissingScope, "PROVIDER_NOT_CONNECTED": recourse.KindNotConnected,
	"RATE_LIMIT_PROVIDER": recourse.KindRateLimited, "RATE_LIMIT_ORG": recourse.KindRateLimited,
	"FIELD_NOT_FOUND": recourse.KindNotFound, "ORG_NOT_FOUND": recourse.KindNotFound, "EQUIPMENT_NOT_FOUND": recourse.KindNotFound,
	"BOUNDARY_NOT_FOUND": recourse.KindNotFound, "RESOURCE_NOT_FOUND": recourse.KindNotFound,
	"PROVIDER_UNAVAILABLE": recourse.KindUnavailable, "PROVIDER_TIMEOUT": recourse.KindTimeout,
	"INSUFFICIENT_DATA": recourse.KindInsufficientData, "NO_DATA_FOR_PERIOD": recourse.KindNoData,
	"PARTIAL_SUCCESS": recourse.KindPartial, "INTERNAL_ERROR": recourse.KindInternal,
}

// Every failure in the tools' documentation that arguments can cause, on every wire.
func TestFailures(t *testing.T) {
	t.Parallel()

	tests := []struct {
		tool, arguments string
		code            string
		retryable       bool
		retryAfter      float64
	}{
		{"deere_get_field", `{}`, "MISSING_REQUIRED_PARAM", false, 0},
		{"deere_get_field", `{"fieldId":7}`, "INVALID_PARAM_TYPE", false, 0},
		{"deere_list_resources", `{"resourceType":"tractors"}`, "INVALID_PARAM_VALUE", false, 0},
		{"deere_get_fields", `{"fieldIds":["1","2","3","4","5","6","7","8","9","10","11"]}`, "INVALID_PARAM_VALUE", false, 0},
		{"deere_search_operations", `{"season":2025,"startDate":"2025-01-01"}`, "MUTUALLY_EXCLUSIVE_PARAMS", false, 0},
		{"deere_search_operations", `{"startDate":"1999-01-01","endDate":"1999-12-31"}`, "NO_DATA_FOR_PERIOD", false, 0},
		{"deere_analyze_yield", `{"fieldId":"FLD-101","season":1999}`, "NO_DATA_FOR_PERIOD", false, 0},
		{"deere_analyze_yield", `{"fieldId":"FLD-104","season":2025}`, "INSUFFICIENT_DATA", false, 0},
		{"deere_get_fields", `{"fieldIds":["FLD-101","FLD-999"]}`, "PARTIAL_SUCCESS", false, 0},
		{"deere_get_fields", `{"fieldIds":["FLD-998","FLD-999"]}`, "FIELD_NOT_FOUND", false, 0},
		{"deere_get_field", `{"fieldId":"fault-502"}`, "PROVIDER_UNAVAILABLE", true, 30},
		{"deere_get_field", `{"fieldId":"fault-503"}`, "PROVIDER_UNAVAILABLE", true, 12},
		{"deere_get_field", `{"fieldId":"fault-drop"}`, "PROVIDER_UNAVAILABLE", true, 30},
		{"deere_get_field", `{"fieldId":"fault-408"}`, "PROVIDER_TIMEOUT", true, 0},
		{"deere_get_field", `{"fieldId":"fault-504"}`, "PROVIDER_TIMEOUT", true, 0},
		{"deere_get_field", `{"fieldId":"fault-slow"}`, "PROVIDER_TIMEOUT", true, 0},
		{"deere_get_field", `{"fieldId":"fault-429"}`, "RATE_LIMIT_PROVIDER", true, 12},
		{"deere_get_field", `{"fieldId":"fault-limited"}`, "RATE_LIMIT_PROVIDER", true, 1},
		{"deere_get_field", `{"fieldId":"fault-busy"}`, "RATE_LIMIT_PROVIDER", true, 2},
		{"deere_list_resources", `{"resourceType":"fields","cursor":"x"}`, "INVALID_PARAM_VALUE", false, 0},
		{"deere_list_resources", `{"resourceType":"fields","orgId":"fault-500"}`, "PROVIDER_ERROR", true, 0},
		{"deere_get_farm", `{"farmId":"fault-501"}`, "PROVIDER_ERROR", true, 0},
		{"deere_get_farm", `{"farmId":"fault-400"}`, "PROVIDER_ERROR", false, 0},
		{"deere_get_farm", `{"farmId":"fault-418"}`, "PROVIDER_ERROR", false, 0},
		{"deere_get_field", `{"fieldId":"fault-units"}`, "INTERNAL_ERROR", false, 0},
	}
	s := newSystem(t, fieldmcp.Options{Timeout: 2 * time.Second, Quotas: plenty})
	for _, wire := range systemtest.Wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, s)
			for _, test := range tests {
				f := fail(t, client, test.tool, test.arguments)
				if f.Code != test.code || f.Retryable != test.retryable || f.RetryAfter != test.retryAfter {
					t.Errorf("%s %s: %+v", test.tool, test.arguments, f)
				}
			}
		})
	}
}

// A 404 of the provider has the code of the resource.
func TestProviderNotFound(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/upstream-404")

	client := systemtest.HTTP(t, newSystem(t, fieldmcp.Options{}), testkit.Modern)
	for _, test := range []struct{ tool, arguments, code, resource, id string }{
		{"deere_get_field", `{"fieldId":"FLD-999"}`, "FIELD_NOT_FOUND", "field", "FLD-999"},
		{"deere_search_operations", `{"fieldId":"FLD-999"}`, "FIELD_NOT_FOUND", "field", "FLD-999"},
		{"deere_get_organization", `{"orgId":"ORG-9"}`, "ORG_NOT_FOUND", "organization", "ORG-9"},
		{"deere_list_resources", `{"resourceType":"equipment","orgId":"ORG-9"}`, "ORG_NOT_FOUND", "organization", "ORG-9"},
		{"deere_get_equipment", `{"equipmentId":"EQ-99"}`, "EQUIPMENT_NOT_FOUND", "equipment", "EQ-99"},
		{"deere_get_boundary", `{"fieldId":"FLD-104"}`, "BOUNDARY_NOT_FOUND", "boundary", ""},
		{"deere_get_boundary", `{"fieldId":"FLD-104","boundaryId":"BND-9"}`, "BOUNDARY_NOT_FOUND", "boundary", "BND-9"},
		{"deere_get_boundary", `{"fieldId":"FLD-104","boundaryId":"BND-101"}`, "BOUNDARY_NOT_FOUND", "boundary", "BND-101"},
		{"deere_list_resources", `{"resourceType":"organizations","orgId":"ORG-9"}`, "ORG_NOT_FOUND", "organization", "ORG-9"},
		{"deere_search_operations", `{"orgId":"ORG-9"}`, "ORG_NOT_FOUND", "organization", "ORG-9"},
		{"deere_get_farm", `{"farmId":"FRM-9"}`, "RESOURCE_NOT_FOUND", "farm", "FRM-9"},
		{"deere_get_operation", `{"operationId":"OP-999"}`, "RESOURCE_NOT_FOUND", "operation", "OP-999"},
	} {
		f := fail(t, client, test.tool, test.arguments)
		if f.Code != test.code || f.ResourceType != test.resource || f.ResourceID != test.id || f.Retryable {
			t.Errorf("%s %s: %+v", test.tool, test.arguments, f)
		}
		if f.Code == "BOUNDARY_NOT_FOUND" && !strings.Contains(f.Message, "Its orgId is ORG-1.") {
			t.Errorf("no facts for the recovery: %+v", f)
		}
		status := client.Call(t, test.tool, test.arguments).Record(t).Upstream.Status
		if others := strings.Contains(test.arguments, "BND-101"); (status == 404) == others { // that boundary belongs to another field
			t.Errorf("%s %s: got provider status %d", test.tool, test.arguments, status)
		}
	}
}

// If a part of a batch fails, the rest is there in full, and each failed item has its own error.
func TestBatch(t *testing.T) {
	t.Parallel()
	client := systemtest.HTTP(t, newSystem(t, fieldmcp.Options{}), testkit.Legacy)
	f := fail(t, client, "deere_get_fields", `{"fieldIds":["FLD-101","FLD-999","fault-502","FLD-102"]}`)
	if len(f.Succeeded) != 2 || f.Succeeded[0].ID != "FLD-101" || f.Succeeded[1].Data["name"] != "River bottom" {
		t.Errorf("succeeded: %+v", f.Succeeded)
	}
	if len(f.Failed) != 2 || f.Failed[0].Code != "FIELD_NOT_FOUND" || f.Failed[0].Retryable || f.Failed[1].Code != "PROVIDER_UNAVAILABLE" || !f.Failed[1].Retryable {
		t.Errorf("failed: %+v", f.Failed)
	}
	for _, ids := range [][2]string{{"FLD-999", "fault-502"}, {"fault-502", "FLD-999"}} { // each has its own code, in any order
		f = fail(t, client, "deere_get_fields", `{"fieldIds":["`+ids[0]+`","`+ids[1]+`"]}`)
		if f.Code != "PARTIAL_SUCCESS" || len(f.Succeeded) != 0 || len(f.Failed) != 2 {
			t.Errorf("all items fail: %+v", f)
		}
		for i, item := range f.Failed {
			if missing := item.ID == "FLD-999"; item.ID != ids[i] || missing != (item.Code == "FIELD_NOT_FOUND") || missing == item.Retryable {
				t.Errorf("all items fail: %+v", f)
			}
		}
	}
	f = fail(t, client, "deere_get_fields", `{"fieldIds":["FLD-998","FLD-999"]}`)
	if f.Code != "FIELD_NOT_FOUND" || len(f.Failed) != 2 {
		t.Errorf("all items fail alike: %+v", f)
	}
	f = fail(t, client, "deere_compare_yields", `{"fieldIds":["FLD-101","FLD-104"],"season":2025}`)
	if len(f.Succeeded) != 1 || len(f.Failed) != 1 || f.Failed[0].Code != "INSUFFICIENT_DATA" ||
		len(f.MissingData) == 0 || !strings.HasPrefix(f.MissingData[len(f.MissingData)-1].What, "FLD-104: ") {
		t.Errorf("%+v", f)
	}
}

// A success is the page's object for results.
type success struct {
	Error       *bool           `json:"error"`
	Data        json.RawMessage `json:"data"`
	DataQuality string          `json:"dataQuality"`
	MissingData []missing       `json:"missingData"`
	NextCursor  string          `json:"nextCursor"`
}

func succeed(t *testing.T, client systemtest.Client, tool, arguments string) success {
	t.Helper()
	r := client.Call(t, tool, arguments)
	var s success
	r.Object(t, 0, &s)
	if s.Error == nil || *s.Error || r.Tool(t).IsError || s.MissingData == nil {
		t.Fatalf("%s %s: %s", tool, arguments, r.Result)
	}
	return s
}

// The eleven tools and their answers.
func TestTools(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/tools")

	client := systemtest.HTTP(t, newSystem(t, fieldmcp.Options{}), testkit.Modern)
	want := []string{
		"deere_analyze_yield", "deere_compare_yields", "deere_get_boundary", "deere_get_equipment", "deere_get_farm", "deere_get_field",
		"deere_get_fields", "deere_get_operation", "deere_get_organization", "deere_list_resources", "deere_search_operations",
	}
	if diff := cmp.Diff(want, client.Tools(t)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	for _, call := range []struct{ tool, arguments, want string }{
		{"deere_get_organization", `{"orgId":"ORG-1"}`, `"Willow Creek Farms"`},
		{"deere_get_farm", `{"farmId":"FRM-1"}`, `"Home farm"`},
		{"deere_get_field", `{"fieldId":"FLD-101"}`, `"hectares":16.19`},
		{"deere_get_fields", `{"fieldIds":["FLD-101","FLD-102"]}`, `"River bottom"`},
		{"deere_get_boundary", `{"fieldId":"FLD-101"}`, `"BND-101"`},
		{"deere_get_equipment", `{"equipmentId":"EQ-1"}`, `"Combine S780"`},
		{"deere_get_operation", `{"operationId":"OP-5"}`, `"harvest"`},
		{"deere_search_operations", `{"orgId":"ORG-1","operationType":"harvest","season":2025}`, `"OP-8"`},
		{"deere_analyze_yield", `{"fieldId":"FLD-102","season":2025}`, `"tonnesPerHectare":11.5,"daysOfGrowth":173`},
		{"deere_compare_yields", `{"fieldIds":["FLD-101","FLD-102"],"season":2025}`, `"soybeans"`},
	} {
		s := succeed(t, client, call.tool, call.arguments)
		if !strings.Contains(string(s.Data), call.want) || s.DataQuality != "COMPLETE" || len(s.MissingData) != 0 {
			t.Errorf("%s %s: %+v %s", call.tool, call.arguments, s, s.Data)
		}
	}
	partial := succeed(t, client, "deere_analyze_yield", `{"fieldId":"FLD-103","season":2025}`)
	if diff := cmp.Diff([]missing{{"seeding", "degraded"}, {"application", "optional"}}, partial.MissingData); diff != "" || partial.DataQuality != "PARTIAL" {
		t.Errorf("%s, missing (-want +got):\n%s", partial.DataQuality, diff)
	}
	lacking := fail(t, client, "deere_analyze_yield", `{"fieldId":"FLD-104","season":2025}`)
	if diff := cmp.Diff([]missing{{"application", "optional"}, {"harvest", "required"}}, lacking.MissingData); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

// The quality of a comparison is that of its worst field. Without required data it is insufficient, and the rest is
// still reported.
func TestDataQuality(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/success-data-quality", "fieldmcp/success-insufficient", "fieldmcp/missing-data-impact", "fieldmcp/missing-data-optional")

	client := systemtest.HTTP(t, newSystem(t, fieldmcp.Options{}), testkit.Legacy)
	for _, test := range []struct {
		tool, arguments, quality string
		missing                  []missing
	}{
		{"deere_compare_yields", `{"fieldIds":["FLD-101","FLD-102"],"season":2025}`, "COMPLETE", []missing{}},
		{
			"deere_compare_yields", `{"fieldIds":["FLD-101","FLD-103"],"season":2025}`, "PARTIAL",
			[]missing{{"FLD-103: seeding", "degraded"}, {"FLD-103: application", "optional"}},
		},
		{"deere_analyze_yield", `{"fieldId":"FLD-101","season":2024}`, "COMPLETE", []missing{{"application", "optional"}}},
		{"deere_get_operation", `{"operationId":"OP-12"}`, "INSUFFICIENT", []missing{{"tonnes", "required"}}},
		{"deere_get_operation", `{"operationId":"OP-5"}`, "COMPLETE", []missing{}},
	} {
		s := succeed(t, client, test.tool, test.arguments)
		if diff := cmp.Diff(test.missing, s.MissingData); diff != "" || s.DataQuality != test.quality {
			t.Errorf("%s %s: %s, missing (-want +got):\n%s", test.tool, test.arguments, s.DataQuality, diff)
		}
	}
	f := fail(t, client, "deere_analyze_yield", `{"fieldId":"FLD-102","season":2024}`)
	if last := f.MissingData[len(f.MissingData)-1]; f.Code != "INSUFFICIENT_DATA" || last != (missing{"tonnes", "required"}) {
		t.Errorf("%+v", f)
	}
}

// Lists have pages.
func TestPages(t *testing.T) {
	t.Parallel()
	client := systemtest.HTTP(t, newSystem(t, fieldmcp.Options{}), testkit.Modern)
	for _, call := range []struct{ tool, arguments string }{
		{"deere_list_resources", `"resourceType":"fields"`}, {"deere_search_operations", `"orgId":"ORG-1"`},
	} {
		type item struct {
			ID string `json:"id"`
		}
		var all, paged []item
		if err := json.Unmarshal(succeed(t, client, call.tool, "{"+call.arguments+"}").Data, &all); err != nil {
			t.Fatal(err)
		}
		for cursor := ""; len(paged) < 100; {
			s := succeed(t, client, call.tool, `{`+call.arguments+`,"limit":2`+cursor+`}`)
			var page []item
			if err := json.Unmarshal(s.Data, &page); err != nil || len(page) == 0 || len(page) > 2 {
				t.Fatalf("%v: a page of %d: %s", err, len(page), s.Data)
			}
			paged = append(paged, page...)
			if s.NextCursor == "" {
				break
			}
			cursor = `,"cursor":"` + s.NextCursor + `"`
		}
		if diff := cmp.Diff(all, paged); diff != "" || len(all) < 5 {
			t.Errorf("%s (-all +paged):\n%s", call.tool, diff)
		}
		f := fail(t, client, call.tool, `{`+call.arguments+`,"cursor":"99"}`)
		if f.Code != "INVALID_PARAM_VALUE" || f.Param != "cursor" {
			t.Errorf("%+v", f)
		}
	}
}

func TestListResources(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/list-resources")

	client := systemtest.HTTP(t, newSystem(t, fieldmcp.Options{}), testkit.Legacy)
	for _, test := range []struct {
		arguments string
		ids       []string
	}{
		{`{"resourceType":"organizations"}`, []string{"ORG-1", "ORG-2"}},
		{`{"resourceType":"organizations","orgId":"ORG-2"}`, []string{"ORG-2"}},
		{`{"resourceType":"fields"}`, []string{"FLD-101", "FLD-102", "FLD-103", "FLD-104", "FLD-201"}},
		{`{"resourceType":"fields","orgId":"ORG-2"}`, []string{"FLD-201"}},
		{`{"resourceType":"equipment","orgId":"ORG-1"}`, []string{"EQ-1", "EQ-2"}},
		{`{"resourceType":"boundaries","orgId":"ORG-1"}`, []string{"BND-101", "BND-102", "BND-103"}},
	} {
		var items []struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(succeed(t, client, "deere_list_resources", test.arguments).Data, &items); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, item := range items {
			ids = append(ids, item.ID)
		}
		if !slices.Equal(ids, test.ids) {
			t.Errorf("%s: %v", test.arguments, ids)
		}
	}
}

// The demo's scenes can be called.
func TestScenes(t *testing.T) {
	t.Parallel()
	s := newSystem(t, fieldmcp.Options{})
	client := systemtest.Stdio(t, s.MCPServer())
	for _, scene := range s.Scenes() {
		if text := client.Call(t, scene.Tool, scene.Arguments).Tool(t).Text(); text == "" {
			t.Errorf("%s: no text", scene.Title)
		}
	}
}

// The client of the Go SDK gets the text for the model.
func TestSDKClient(t *testing.T) {
	t.Parallel()
	session := systemtest.SDK(t, newSystem(t, fieldmcp.Options{}))
	for _, call := range []struct {
		tool, arguments, want string
		isError               bool
	}{
		{"deere_list_resources", `{"resourceType":"fields"}`, `"error":false`, false},
		{"deere_get_field", `{"fieldId":"FLD-999"}`, "FIELD_NOT_FOUND", true},
		{"deere_get_fields", `{"fieldIds":["FLD-101","FLD-999"]}`, `"name":"North forty"`, true},
	} {
		text, isError := systemtest.SDKText(t, session, call.tool, call.arguments)
		if !strings.Contains(text, call.want) || isError != call.isError {
			t.Errorf("%s %s: isError %t, %s", call.tool, call.arguments, isError, text)
		}
	}
}

// A search says which of its arguments is wrong, rather than that there is no data.
func TestSearchArguments(t *testing.T) {
	t.Parallel()
	client := systemtest.HTTP(t, newSystem(t, fieldmcp.Options{}), testkit.Modern)
	for arguments, want := range map[string]string{
		`{"fieldId":"FLD-101","orgId":"ORG-2"}`:                                                 "FIELD_NOT_FOUND",
		`{"startDate":"2025-12-31","endDate":"2025-01-01"}`:                                     "INVALID_PARAM_VALUE",
		`{"startDate":"1990-01-01","endDate":"1990-01-01"}`:                                     "NO_DATA_FOR_PERIOD",
		`{"fieldId":"FLD-999","orgId":"ORG-2"}`:                                                 "FIELD_NOT_FOUND",
		`{"fieldId":"FLD-101","orgId":"ORG-999"}`:                                               "ORG_NOT_FOUND",
		`{"fieldId":"FLD-101","orgId":"ORG-1","startDate":"1990-01-01","endDate":"1990-02-01"}`: "NO_DATA_FOR_PERIOD",
	} {
		if f := fail(t, client, "deere_search_operations", arguments); f.Code != want ||
			want == "INVALID_PARAM_VALUE" && (f.Param != "endDate" || f.ProvidedValue != "2025-01-01" || f.ExpectedType == "") {
			t.Errorf("%s: %+v", arguments, f)
		}
	}
}
