package contract_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// fieldError is the object of a failed call in the source document.
type fieldError struct {
	Error           bool            `json:"error"`
	Code            string          `json:"code"`
	Message         string          `json:"message"`
	Retryable       *bool           `json:"retryable"`
	SuggestedAction string          `json:"suggestedAction,omitempty"`
	RequestID       string          `json:"requestId,omitempty"`
	Param           string          `json:"param,omitempty"`
	ProvidedValue   json.RawMessage `json:"providedValue,omitempty"`
	ExpectedType    string          `json:"expectedType,omitempty"`
	RetryAfter      float64         `json:"retryAfter,omitempty"`
	Provider        string          `json:"provider,omitempty"`
	MissingScopes   []string        `json:"missingScopes,omitempty"`
	ResourceID      string          `json:"resourceId,omitempty"`
	ResourceType    string          `json:"resourceType,omitempty"`
	Succeeded       json.RawMessage `json:"succeeded,omitempty"`
	Failed          json.RawMessage `json:"failed,omitempty"`
	MissingData     json.RawMessage `json:"missingData,omitempty"`
}

// toolError returns the object in a tool result. It checks that the text and structuredContent are equal, and that the
// result has no other member but isError.
func toolError(t *testing.T, a contract.Answer) fieldError {
	t.Helper()
	var result struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
		Meta       json.RawMessage `json:"_meta"`
	}
	if a.Surface != contract.SurfaceResult {
		t.Fatalf("no tool result: %s", contracttest.Wire(a))
	}
	dec := json.NewDecoder(strings.NewReader(string(a.Result)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&result); err != nil {
		t.Fatal(err)
	}
	if len(result.Content) != 1 || result.Content[0].Type != "text" || !result.IsError {
		t.Fatalf("content or isError: %s", a.Result)
	}
	if diff := cmp.Diff(result.Content[0].Text, string(result.Structured)); diff != "" {
		t.Errorf("text and structuredContent differ:\n%s", diff)
	}
	var e fieldError
	dec = json.NewDecoder(strings.NewReader(result.Content[0].Text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		t.Fatal(err)
	}
	if !e.Error || e.Retryable == nil || e.Message == "" {
		t.Errorf("a required member is missing: %s", result.Content[0].Text)
	}
	return e
}

// The 22 codes: the kind of each, whether it is retryable, and its advice.
func TestFieldMCPCodes(t *testing.T) {
	t.Parallel()
	provider := func(e *recourse.Error) *recourse.Error {
		return e.WithProvider("John Deere").WithOrigin(recourse.OriginProvider)
	}
	tests := []struct {
		code      string
		from      *recourse.Error
		retryable bool
		action    string
	}{
		{"MISSING_REQUIRED_PARAM", recourse.Missing("orgId"), false, "Check the parameter table of get_field. Provide orgId."},
		{"INVALID_PARAM_VALUE", recourse.InvalidValue("limit", "at most 100", 500), false, "Check the allowed values: providedValue and expectedType say what was wrong."},
		{"INVALID_PARAM_TYPE", recourse.InvalidType("limit", "number", "ten"), false, "Fix the type of limit: expected number."},
		{"MUTUALLY_EXCLUSIVE_PARAMS", recourse.Conflicting("fieldId", "orgId"), false, "Remove one of the conflicting parameters."},
		{"TOKEN_EXPIRED", recourse.TokenExpired("John Deere"), false, "This is the provider's token, not yours. The farmer needs to re-authorize John Deere in the dashboard."},
		{"TOKEN_REVOKED", recourse.TokenRevoked("John Deere"), false, "The farmer needs to re-connect John Deere in the dashboard."},
		{"MISSING_SCOPE", recourse.MissingScope("John Deere", "ag2"), false, "The farmer needs to re-authorize with the required scopes, see missingScopes."},
		{"PROVIDER_NOT_CONNECTED", recourse.NotConnected("John Deere"), false, "The farmer needs to connect John Deere in the dashboard first."},
		{"RATE_LIMIT_ORG", recourse.RateLimited(12 * time.Second).WithOrigin(recourse.OriginGateway), true, "Wait 12 s."},
		{"RATE_LIMIT_PROVIDER", provider(recourse.RateLimited(12 * time.Second)), true, "Wait 12 s: the provider limits requests for the moment."},
		{"RESOURCE_NOT_FOUND", recourse.NotFound("operation", "xyz"), false, "Use deere_list_resources to discover available resources."},
		{"FIELD_NOT_FOUND", recourse.NotFound("field", "xyz"), false, "Use deere_list_resources with resourceType='fields' to find valid field IDs."},
		{"ORG_NOT_FOUND", recourse.NotFound("organization", "xyz"), false, "Use deere_list_resources with resourceType='organizations' to find valid org IDs."},
		{"EQUIPMENT_NOT_FOUND", recourse.NotFound("equipment", "xyz"), false, "Use deere_list_resources with resourceType='equipment' to find valid equipment IDs."},
		{"BOUNDARY_NOT_FOUND", recourse.NotFound("boundary", "xyz"), false, "Use deere_list_resources with resourceType='boundaries' and the field's orgId to find valid boundary IDs for that field."},
		{"PROVIDER_UNAVAILABLE", provider(recourse.Unavailable("John Deere")), true, "Wait 30 s. The provider may have an outage."},
		{"PROVIDER_TIMEOUT", provider(recourse.Timeout("John Deere", 20*time.Second)), true, "Retry. Consider requesting less data: a shorter date range, fewer include options."},
		{"PROVIDER_ERROR", provider(recourse.ServerError("John Deere", 500)), true, "Retry shortly."},
		{"PROVIDER_ERROR", provider(recourse.ClientError("John Deere", 418)), false, "Check the request parameters."},
		{"INSUFFICIENT_DATA", recourse.InsufficientData(recourse.MissingData{What: "yield", Impact: "required"}), false, "Check the missingData array."},
		{"NO_DATA_FOR_PERIOD", recourse.NoData("There is no yield for 2025."), false, "Try a different time period. Use deere_search_operations to discover what data is available."},
		{"PARTIAL_SUCCESS", recourse.Partial(nil, []recourse.FailedItem{{ID: "a", Error: recourse.Internal()}}), false, "Use the succeeded array. Repeat only the failed items whose own error is retryable."},
		{"INTERNAL_ERROR", recourse.Internal().WithRequestID("req-1"), false, "Include requestId req-1 when contacting support."},
	}
	c := contract.MustBuiltin("fieldmcp")
	codes := map[string]bool{}
	for _, tt := range tests {
		codes[tt.code] = true
		t.Run(tt.code, func(t *testing.T) {
			t.Parallel()
			call := contracttest.ToolCall()
			a := c.Write(tt.from, &call)
			got := toolError(t, a)
			if got.Code != tt.code || *got.Retryable != tt.retryable || got.SuggestedAction != tt.action {
				t.Errorf("got %s, retryable %t, %q; want %s, %t, %q",
					got.Code, *got.Retryable, got.SuggestedAction, tt.code, tt.retryable, tt.action)
			}
			if again := contracttest.ReadBack(t, c, contracttest.WithoutMeta(t, a)); again.Code != tt.code {
				t.Errorf("read as %s", again.Code)
			}
		})
	}
	if len(codes) != 22 {
		t.Errorf("%d codes are tested, want 22", len(codes))
	}
}

// The 17 members, each as in the source document.
func TestFieldMCPMembers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		from *recourse.Error
		want fieldError
	}{
		"validation": {
			recourse.InvalidType("limit", "number", "ten").WithRequestID("req-1"),
			fieldError{RequestID: "req-1", Param: "limit", ProvidedValue: json.RawMessage(`"ten"`), ExpectedType: "number"},
		},
		"auth":     {recourse.MissingScope("John Deere", "ag1", "ag2"), fieldError{Provider: "John Deere", MissingScopes: []string{"ag1", "ag2"}}},
		"resource": {recourse.NotFound("field", "xyz"), fieldError{ResourceID: "xyz", ResourceType: "field"}},
		"provider": {recourse.Unavailable("John Deere"), fieldError{Provider: "John Deere", RetryAfter: 30}},
		"a part of a second is rounded up": {
			recourse.RateLimited(1500 * time.Millisecond).WithOrigin(recourse.OriginProvider), fieldError{RetryAfter: 2},
		},
		"data": {
			recourse.InsufficientData(recourse.MissingData{What: "yield", Impact: "required", Message: "Upload the harvest."}, recourse.MissingData{What: "soil"}),
			fieldError{MissingData: json.RawMessage(`[{"what":"yield","impact":"required","message":"Upload the harvest."},{"what":"soil"}]`)},
		},
		"partial": {
			recourse.Partial(
				[]recourse.SucceededItem{{ID: "f1", Value: []byte(`{"area":3}`)}, {ID: "f2"}},
				[]recourse.FailedItem{
					{ID: "f3", Error: recourse.Timeout("John Deere", 0).WithOrigin(recourse.OriginProvider)},
					{ID: "f4", Error: recourse.NotFound("field", "f4")},
					{ID: "f5", Error: recourse.RateLimited(0).WithOrigin(recourse.OriginGateway)},
				}),
			fieldError{
				Succeeded: json.RawMessage(`[{"id":"f1","data":{"area":3}},{"id":"f2"}]`),
				Failed: json.RawMessage(`[{"id":"f3","code":"PROVIDER_TIMEOUT","message":"John Deere did not answer in time.","retryable":true},` +
					`{"id":"f4","code":"FIELD_NOT_FOUND","message":"There is no field \"f4\".","retryable":false},` +
					`{"id":"f5","code":"RATE_LIMIT_ORG","message":"Too many requests.","retryable":true,"retryAfter":2}]`),
			},
		},
	}
	c := contract.MustBuiltin("fieldmcp")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := contracttest.ToolCall()
			a := c.Write(tt.from, &call)
			got := toolError(t, a)
			got.Error, got.Code, got.Message, got.Retryable, got.SuggestedAction = false, "", "", nil, ""
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
		})
	}
}

// Without _meta, reading returns what was written, for every path of the shape.
func TestFieldMCPReadsWhatItWrites(t *testing.T) {
	t.Parallel()
	carried := func(e *recourse.Error) *recourse.Error {
		kept := &recourse.Error{
			Code: e.Code, Contract: e.Contract, Message: e.Message, Hints: e.Hints[:min(1, len(e.Hints))],
			RetryAfter: e.RetryAfter, Resource: e.Resource, Provider: e.Provider, MissingScopes: e.MissingScopes,
			Succeeded: e.Succeeded, Missing: e.Missing, RequestID: e.RequestID,
		}
		for _, v := range e.Violations {
			kept.Violations = []recourse.Violation{{Param: v.Param, Got: v.Got, Want: v.Want}}
			break
		}
		for _, f := range e.Failed {
			kept.Failed = append(kept.Failed, recourse.FailedItem{ID: f.ID, Error: &recourse.Error{Code: f.Error.Code, Message: f.Error.Message}})
		}
		return kept
	}
	c := contract.MustBuiltin("fieldmcp")
	call := contracttest.ToolCall()
	for _, e := range contracttest.Records() {
		a := c.Write(e, &call)
		if a.Surface != contract.SurfaceResult {
			continue
		}
		want, _ := json.Marshal(carried(a.Record))
		got, _ := json.Marshal(carried(contracttest.ReadBack(t, c, contracttest.WithoutMeta(t, a))))
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Fatalf("%s %s %d %s:\n%s", e.Kind, e.Origin, e.Upstream.Status, e.Effect, diff)
		}
	}
}

// The provider's answers and their codes.
func TestFieldMCPUpstream(t *testing.T) {
	t.Parallel()
	challenge := func(code string) http.Header {
		return http.Header{"Www-Authenticate": {`Bearer error="` + code + `", scope="ag2"`}}
	}
	tests := map[string]struct {
		status    int
		header    http.Header
		resource  string
		code      string
		retryable bool
	}{
		"502":                         {status: 502, code: "PROVIDER_UNAVAILABLE", retryable: true},
		"503":                         {status: 503, code: "PROVIDER_UNAVAILABLE", retryable: true},
		"408":                         {status: 408, code: "PROVIDER_TIMEOUT", retryable: true},
		"504":                         {status: 504, code: "PROVIDER_TIMEOUT", retryable: true},
		"429":                         {status: 429, code: "RATE_LIMIT_PROVIDER", retryable: true},
		"401":                         {status: 401, code: "TOKEN_EXPIRED"},
		"401 with invalid_grant":      {status: 401, header: challenge("invalid_grant"), code: "TOKEN_REVOKED"},
		"400 with invalid_grant":      {status: 400, header: challenge("invalid_grant"), code: "TOKEN_REVOKED"},
		"403 with insufficient_scope": {status: 403, header: challenge("insufficient_scope"), code: "MISSING_SCOPE"},
		"403":                         {status: 403, code: "PROVIDER_ERROR"},
		"404":                         {status: 404, code: "RESOURCE_NOT_FOUND"},
		"404 of a field":              {status: 404, resource: "field", code: "FIELD_NOT_FOUND"},
		"404 of a farm":               {status: 404, resource: "farm", code: "RESOURCE_NOT_FOUND"},
		"400":                         {status: 400, code: "PROVIDER_ERROR"},
		"402":                         {status: 402, code: "PROVIDER_ERROR"},
		"409":                         {status: 409, code: "PROVIDER_ERROR"},
		"410":                         {status: 410, code: "PROVIDER_ERROR"},
		"413":                         {status: 413, code: "PROVIDER_ERROR"},
		"418":                         {status: 418, code: "PROVIDER_ERROR"},
		"422":                         {status: 422, code: "PROVIDER_ERROR"},
		"500":                         {status: 500, code: "PROVIDER_ERROR", retryable: true},
		"501":                         {status: 501, code: "PROVIDER_ERROR", retryable: true},
		"599":                         {status: 599, code: "PROVIDER_ERROR", retryable: true},
	}
	c := contract.MustBuiltin("fieldmcp")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := tt.header
			if header == nil {
				header = http.Header{}
			}
			e := recourse.FromHTTP("John Deere", &http.Response{StatusCode: tt.status, Header: header, Body: http.NoBody})
			if tt.resource != "" {
				e = e.WithResource(tt.resource, "xyz")
			}
			call := contracttest.ToolCall()
			got := toolError(t, c.Write(e, &call))
			if got.Code != tt.code || *got.Retryable != tt.retryable {
				t.Errorf("got %s, retryable %t; want %s, %t", got.Code, *got.Retryable, tt.code, tt.retryable)
			}
		})
	}
	// If the MCP server itself is down, the gateway reports that.
	call := contracttest.ToolCall()
	down := toolError(t, c.Write(recourse.Unreachable("Farm").WithOrigin(recourse.OriginGateway), &call))
	if down.Code != "PROVIDER_UNAVAILABLE" || down.Provider != "Farm" || down.RetryAfter != 30 {
		t.Errorf("server down: %+v", down)
	}
}

// The gateway's own limit is HTTP 429; its three statements of the wait agree.
func TestFieldMCPRateLimit(t *testing.T) {
	t.Parallel()
	minute, month := contracttest.Present().Add(12*time.Second), contracttest.Present().Add(72*time.Hour)
	tests := map[string]struct {
		quotas []recourse.Quota
		after  time.Duration
		wait   string
		body   string
	}{
		"minute": {
			quotas: []recourse.Quota{{Policy: "minute", ResetAt: minute}, {Policy: "month", Remaining: 4200, ResetAt: month}},
			wait:   "12",
			body:   `{"error":"Rate limit exceeded. Try again in 12 seconds.","errorCode":429,"rateLimits":{"minuteRemaining":0,"minuteResetAt":1785240012000,"monthlyRemaining":4200,"monthlyResetAt":1785499200000}}`,
		},
		"a part of a second is rounded up": {
			quotas: []recourse.Quota{{Policy: "minute", ResetAt: minute.Add(-999 * time.Millisecond)}, {Policy: "month", Remaining: 1, ResetAt: month}},
			after:  11*time.Second + time.Millisecond, wait: "12",
			body: `{"error":"Rate limit exceeded. Try again in 12 seconds.","errorCode":429,"rateLimits":{"minuteRemaining":0,"minuteResetAt":1785240011001,"monthlyRemaining":1,"monthlyResetAt":1785499200000}}`,
		},
		"month": {
			quotas: []recourse.Quota{{Policy: "month", ResetAt: month}, {Policy: "minute", Remaining: 57, ResetAt: minute}},
			wait:   "259200",
			body:   `{"error":"Rate limit exceeded. Try again in 259200 seconds.","errorCode":429,"rateLimits":{"minuteRemaining":57,"minuteResetAt":1785240012000,"monthlyRemaining":0,"monthlyResetAt":1785499200000}}`,
		},
		"unknown reset time": {
			quotas: []recourse.Quota{{Policy: "minute"}}, after: 7 * time.Second, wait: "7",
			body: `{"error":"Rate limit exceeded. Try again in 7 seconds.","errorCode":429,"rateLimits":{"minuteRemaining":0,"minuteResetAt":1785240007000}}`,
		},
		"unknown quotas": {
			after: 7 * time.Second, wait: "7",
			body: `{"error":"Rate limit exceeded. Try again in 7 seconds.","errorCode":429}`,
		},
		"both": {
			quotas: []recourse.Quota{{Policy: "month", ResetAt: month}, {Policy: "minute", ResetAt: minute}},
			wait:   "259200",
			body:   `{"error":"Rate limit exceeded. Try again in 259200 seconds.","errorCode":429,"rateLimits":{"minuteRemaining":0,"minuteResetAt":1785240012000,"monthlyRemaining":0,"monthlyResetAt":1785499200000}}`,
		},
	}
	c := contract.MustBuiltin("fieldmcp")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := recourse.RateLimited(tt.after).WithOrigin(recourse.OriginGateway)
			e.Quotas = tt.quotas
			call := contracttest.ToolCall()
			call.HTTP = true
			a := c.Write(e, &call)
			if a.Surface != contract.SurfaceHTTP || a.Status != http.StatusTooManyRequests {
				t.Fatalf("surface %d, status %d", a.Surface, a.Status)
			}
			want := http.Header{}
			want.Set("Content-Type", "application/json")
			want.Set("Retry-After", tt.wait)
			want.Set("X-Ratelimit-Remaining", "0")
			if diff := cmp.Diff(want, a.Header); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.body, string(a.Body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			back := contracttest.ReadBack(t, c, a)
			if !c.Retryable(back, &call) {
				t.Error("the failure read back cannot be retried")
			}
			again := c.Write(back, &call)
			if diff := cmp.Diff(contracttest.Wire(a), contracttest.Wire(again)); diff != "" {
				t.Errorf("read and written again (-first +again):\n%s", diff)
			}
			call.HTTP = false
			if got := toolError(t, c.Write(e, &call)); got.Code != "RATE_LIMIT_ORG" || !*got.Retryable {
				t.Errorf("without HTTP: %+v", got)
			}
		})
	}
}

// A code of an older document is understood, but not written.
func TestFieldMCPOlderWord(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("fieldmcp")
	text := `{"error":true,"code":"RATE_LIMIT_USER","message":"slow down","retryable":true,"retryAfter":3}`
	r := contract.Reader{Contracts: []*contract.Contract{c}}
	reading, ok := r.Result(textResult(t, text, true))
	if !ok {
		t.Fatal("not read")
	}
	e := reading.Error()
	if e.Kind != recourse.KindRateLimited || e.RetryAfter != 3*time.Second {
		t.Errorf("read as %s, wait %s", e.Kind, e.RetryAfter)
	}
	call := contracttest.ToolCall()
	if got := toolError(t, c.Write(e, &call)); got.Code != "RATE_LIMIT_ORG" {
		t.Errorf("written as %s", got.Code)
	}
	call.HTTP = true
	want := `{"error":"Rate limit exceeded. Try again in 3 seconds.","errorCode":429}`
	if a := c.Write(e, &call); a.Status != http.StatusTooManyRequests || string(a.Body) != want || a.Header.Get("Retry-After") != "3" {
		t.Errorf("over HTTP: status %d, %v, %s", a.Status, a.Header, a.Body)
	}
}

// A hint that names a tool which the server lacks is left out.
func TestFieldMCPHintsNameKnownTools(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("fieldmcp")
	call := contracttest.ToolCall()
	call.HasTool = func(name string) bool { return name == "deere_search_operations" }
	for _, tt := range []struct {
		from *recourse.Error
		want string
	}{
		{recourse.NotFound("field", "x"), "Find a valid field ID first."},
		{recourse.NoData(""), "Try a different time period. Use deere_search_operations to discover what data is available."},
		{recourse.Unavailable("").WithEffect(recourse.EffectUnknown).WithVerify(recourse.Verify{Tool: "order_get"}), "It is not known whether the call took effect. Find out before calling again."},
	} {
		if got := toolError(t, c.Write(tt.from, &call)).SuggestedAction; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.from.Kind, got, tt.want)
		}
	}
}

// A call with an unknown effect is never marked as retryable.
func TestFieldMCPUnknownEffect(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("fieldmcp")
	call := contracttest.ToolCall()
	for _, kind := range recourse.Kinds() {
		a := c.Write(recourse.New(kind, "").WithEffect(recourse.EffectUnknown), &call)
		if a.Surface == contract.SurfaceResult && *toolError(t, a).Retryable {
			t.Errorf("%s is retryable", kind)
		}
	}
}

func TestFieldMCPRetryRule(t *testing.T) {
	t.Parallel()
	want := contract.RetryRule{Retries: 3, Start: 2 * time.Second, Factor: 2, JitterMax: time.Second, JitterFrom: 2}
	if diff := cmp.Diff(want, contract.MustBuiltin("fieldmcp").Retry); diff != "" {
		t.Errorf("retry rule (-want +got):\n%s", diff)
	}
	var names []string
	for _, m := range contractform.Of(contract.MustBuiltin("fieldmcp")).Members {
		names = append(names, m.Name)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(names)))) != 17 {
		t.Errorf("%d members: %q", len(names), names)
	}
}

// textResult returns a result with a single text.
func textResult(tb testing.TB, text string, isError bool) []byte {
	tb.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		tb.Fatal(err)
	}
	result := `{"content":[{"type":"text","text":` + string(quoted) + `}]`
	if isError {
		result += `,"isError":true`
	}
	return []byte(result + "}")
}

// An item may carry its id under a name of its own, such as fieldId.
func TestFieldMCPItemsWithIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	const object = `{"error":true,"code":"PARTIAL_SUCCESS","message":"m","retryable":false,` +
		`"succeeded":["a",{"fieldId":"b","x":1}],"failed":[{"fieldId":"c","code":"PROVIDER_TIMEOUT"},{"fieldId":"d","orgId":"e"}]}`
	r := contract.Reader{Contracts: []*contract.Contract{contract.MustBuiltin("fieldmcp")}}
	reading, ok := r.Result(textResult(t, object, true))
	if !ok {
		t.Fatal("not read as a failure")
	}
	var ids []string
	e := reading.Error()
	for _, s := range e.Succeeded {
		ids = append(ids, s.ID)
	}
	for _, f := range e.Failed {
		ids = append(ids, f.ID)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", ""}, ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}
