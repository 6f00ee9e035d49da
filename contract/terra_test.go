package contract_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// The answers before a tool runs, byte for byte, and how they are read.
func TestTerraHTTP(t *testing.T) {
	t.Parallel()
	const url = "https://api.example.com/api/v2/mcp/u-1?a=1&b=<2>"
	problem := func(title, detail string) string {
		return `{"type":"about:blank","title":"` + title + `","instance":"` + url + `","detail":"` + detail + `"}`
	}
	down := recourse.Unreachable("Terra").WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone)
	tests := map[string]struct {
		at        contract.At
		e         *recourse.Error
		status    int
		body      string
		kind      recourse.Kind
		retryable bool
	}{
		"credentials missing": {
			contract.AtCredentialsMissing, recourse.Unauthenticated(), 401,
			problem("unauthorized", "dev-id or x-api-key headers are missing"), recourse.KindUnauthenticated, false,
		},
		"credentials invalid": {
			contract.AtCredentialsInvalid, recourse.Unauthenticated(), 401, problem("unauthorized", "unauthorized"), recourse.KindUnauthenticated, false,
		},
		"user missing": {
			contract.AtUserMissing, recourse.Missing("user_id"), 404, problem("not found", "missing user_id parameter"), recourse.KindMissingParam, false,
		},
		"user invalid": {
			contract.AtUserInvalid, recourse.NotFound("user", "u-1"), 404, problem("not found", "invalid user id"), recourse.KindNotFound, false,
		},
		"server side": {
			contract.AtSession, recourse.Internal(), 500, problem("internal server error", "something went wrong"), recourse.KindInternal, false,
		},
		"500 of the server behind": {
			contract.AtUpstream, recourse.FromStatus("Terra", 500), 500, problem("internal server error", "something went wrong"), recourse.KindInternal, false,
		},
		"misconfigured":            {contract.AtUpstreamMisconfigured, recourse.Internal(), 500, "", recourse.KindInternal, false},
		"unreachable":              {contract.AtUpstream, down, 502, "", recourse.KindUnavailable, true},
		"502 of the server behind": {contract.AtUpstream, recourse.FromStatus("Terra", 502), 502, "", recourse.KindUnavailable, true},
		"503 of the server behind": {contract.AtUpstream, recourse.FromStatus("Terra", 503), 502, "", recourse.KindUnavailable, true},
		"overloaded":               {contract.AtSession, recourse.Unavailable("Terra"), 502, "", recourse.KindUnavailable, true},
	}
	c := contract.MustBuiltin("terra")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := contract.Call{Method: "tools/call", Tool: "get_sleep_data", URL: url, At: tt.at, HTTP: true, Now: contracttest.Present}
			a := c.Write(tt.e, &call)
			header := http.Header{"Content-Type": {"application/problem+json"}}
			if tt.body == "" {
				header = http.Header{"Content-Length": {"0"}}
			}
			want := contract.Answer{Surface: contract.SurfaceHTTP, Status: tt.status, Header: header, Body: []byte(tt.body)}
			if tt.body == "" {
				want.Body = nil
			}
			a.Record = nil
			if diff := cmp.Diff(want, a); diff != "" {
				t.Fatalf("answer (-want +got):\n%s", diff)
			}
			if tt.body == "" && tt.status == http.StatusInternalServerError {
				return // indistinguishable from the next code with an empty 500
			}
			e := contracttest.ReadBack(t, c, a)
			if retryable := e.RetryAdvice() == recourse.RetrySameCall; e.Kind != tt.kind || retryable != tt.retryable {
				t.Errorf("read as %s, retryable %t", e.Kind, retryable)
			}
		})
	}
}

// The 11 sentences: what each is written for, byte for byte, and how it is read after any prefix of a runtime.
func TestTerraSentences(t *testing.T) {
	t.Parallel()
	named := func(kind recourse.Kind, code string) *recourse.Error {
		return recourse.New(kind, "").WithCode("terra", code)
	}
	timestamp := func(value string) *recourse.Error {
		return recourse.InvalidValue("where.value", "an ISO 8601 timestamp", value).With(func(e *recourse.Error) { e.Violations[0].Rule = "timestamp" })
	}
	tests := []struct {
		e        *recourse.Error
		sentence string
		kind     recourse.Kind
		code     string
	}{
		{recourse.Missing("fields", "select"), "fields or select are required", recourse.KindMissingParam, "fields-or-select"},
		{recourse.Conflicting("fields", "select"), "fields and select cannot both be set", recourse.KindConflictingParams, "fields-and-select"},
		{named(recourse.KindInternal, "no-context"), "request context is unavailable", recourse.KindInternal, "no-context"},
		{named(recourse.KindInternal, "no-user-header"), "Provider-User-Id header is required", recourse.KindInternal, "no-user-header"},
		{named(recourse.KindInvalidValue, "list-without-in"), "Only the IN operator accepts a list of timestamps", recourse.KindInvalidValue, "list-without-in"},
		{named(recourse.KindInvalidValue, "empty-in"), "IN timestamp filters require at least one timestamp", recourse.KindInvalidValue, "empty-in"},
		{timestamp("soon"), "Invalid ISO 8601 timestamp 'soon'. Use formats like 2025-11-12T00:00:00Z.", recourse.KindInvalidValue, "bad-timestamp"},
		{timestamp("it's\n2025"), "Invalid ISO 8601 timestamp 'it's\n2025'. Use formats like 2025-11-12T00:00:00Z.", recourse.KindInvalidValue, "bad-timestamp"},
		{named(recourse.KindInvalidValue, "list-not-timestamp"), "Only timestamp fields support list values via IN", recourse.KindInvalidValue, "list-not-timestamp"},
		{named(recourse.KindInvalidValue, "empty-and"), "And condition provided but empty after conversion", recourse.KindInvalidValue, "empty-and"},
		{named(recourse.KindInvalidValue, "empty-or"), "Or condition provided but empty after conversion", recourse.KindInvalidValue, "empty-or"},
		{named(recourse.KindInvalidValue, "empty-not"), "Not condition was None after conversion", recourse.KindInvalidValue, "empty-not"},
	}
	c := contract.MustBuiltin("terra")
	for _, tt := range tests {
		t.Run(tt.code, func(t *testing.T) {
			t.Parallel()
			call := contracttest.ToolCall()
			call.At = contract.AtTool
			a := c.Write(tt.e, &call)
			quoted, _ := json.Marshal(tt.sentence)
			if diff := cmp.Diff(`{"content":[{"type":"text","text":`+string(quoted)+`}],"isError":true}`, string(contracttest.WithoutMeta(t, a).Result)); diff != "" {
				t.Fatalf("result (-want +got):\n%s", diff)
			}
			for _, text := range []string{
				tt.sentence, "Error executing tool get_sleep_data: " + tt.sentence, "MCP error -32603: " + tt.sentence + " (request 7)",
				"Tool failed.\n" + tt.sentence + "\n",
			} {
				r := contract.Reader{Contracts: contract.Builtin().All()}
				reading, ok := r.Result(textResult(t, text, true))
				e := reading.Error()
				if !ok || e == nil || e.Kind != tt.kind || e.Code != tt.code || e.Message != tt.sentence {
					t.Fatalf("%q is read as %+v", text, e)
				}
				if e.RetryAdvice() == recourse.RetrySameCall {
					t.Errorf("%s is retryable", tt.code)
				}
				if origin := map[bool]recourse.Origin{true: recourse.OriginServer}[e.Kind == recourse.KindInternal]; origin != "" && e.Origin != origin {
					t.Errorf("origin %s", e.Origin)
				}
				// A sentence inside a longer text only counts if the answer is a failure.
				if _, ok := r.Result(textResult(t, text, false)); ok {
					t.Errorf("%q in a success is read as a failure", text)
				}
			}
		})
	}
}

// Texts that identify no sentence: a single word without its status, and sentences about the session within a longer
// text.
func TestTerraReadsNoMore(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("terra")
	r := contract.Reader{Contracts: []*contract.Contract{c}, Weak: c}
	for text, want := range map[string]recourse.Kind{
		"unauthorized":                      recourse.KindUnauthenticated, // as plain English
		"the sensor is unauthorized":        recourse.KindUnauthenticated,
		"step 2: something went wrong here": recourse.KindUnknown,
		"invalid user id":                   recourse.KindNotFound,
		"fields or select":                  recourse.KindUnknown,
	} {
		reading, ok := r.Result(textResult(t, text, true))
		if e := reading.Error(); !ok || e.Kind != want || (reading.Contract == nil) == (want == recourse.KindNotFound) {
			t.Errorf("%q is read as %+v", text, e)
		}
	}
	// The longest sentence wins, wherever it is.
	both := "fields or select are required; Only timestamp fields support list values via IN"
	if reading, _ := r.Result(textResult(t, both, true)); reading.Error().Code != "list-not-timestamp" {
		t.Errorf("read as %s", reading.Error().Code)
	}
	problem := http.Header{"Content-Type": {"application/problem+json"}}
	for status, want := range map[int]recourse.Kind{401: recourse.KindUnauthenticated, 403: recourse.KindPermissionDenied, 404: recourse.KindNotFound} {
		body := []byte(`{"type":"about:blank","title":"x","instance":"/","detail":"unauthorized"}`)
		if e := r.HTTP(status, problem, body).Error(); e.Kind != want || (e.Code == "credentials-invalid") != (status == 401) {
			t.Errorf("%d unauthorized is read as %s %s", status, e.Kind, e.Code)
		}
	}
}

// On stdio, and once a call may have run, a failure is written as its sentence.
func TestTerraFallsToText(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("terra")
	down := recourse.Unreachable("Terra").WithOrigin(recourse.OriginGateway)
	for name, tt := range map[string]struct {
		e    *recourse.Error
		at   contract.At
		http bool
		text string
	}{
		"stdio, credentials": {recourse.Unauthenticated(), contract.AtCredentialsMissing, false, "dev-id or x-api-key headers are missing"},
		"stdio, invalid":     {recourse.Unauthenticated(), contract.AtCredentialsInvalid, false, "unauthorized"},
		"stdio, user":        {recourse.Missing("user_id"), contract.AtUserMissing, false, "missing user_id parameter"},
		"stdio, user id":     {recourse.NotFound("user", ""), contract.AtUserInvalid, false, "invalid user id"},
		"stdio, internal":    {recourse.Internal(), contract.AtSession, false, "something went wrong"},
		"stdio, down":        {down, contract.AtUpstream, false, "Terra could not be reached."},
		"time-out":           {recourse.Timeout("Terra", 20*time.Second), contract.AtUpstream, true, "Terra did not answer within 20 s."},
		"may have run":       {down.WithEffect(recourse.EffectUnknown), contract.AtUpstream, true, "Terra could not be reached. It is not known whether the call took effect. Check before calling again."},
		"answer broken off":  {down.WithEffect(recourse.EffectNone), contract.AtTool, true, "Terra could not be reached."},
		"backend of a tool":  {recourse.Unavailable("Garmin").WithOrigin(recourse.OriginProvider), contract.AtTool, true, "Garmin is not available at the moment."},
		"anything else":      {recourse.NotFound("device", "d-1"), contract.AtTool, true, `There is no device "d-1".`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := contract.Call{Method: "tools/call", Tool: "get_sleep_data", At: tt.at, HTTP: tt.http, Now: contracttest.Present}
			a := c.Write(tt.e, &call)
			quoted, _ := json.Marshal(tt.text)
			if diff := cmp.Diff(`{"content":[{"type":"text","text":`+string(quoted)+`}],"isError":true}`, string(contracttest.WithoutMeta(t, a).Result)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTerraRules(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("terra")
	want := contract.SessionRule{Path: "/api/v2/mcp/{user_id}", Credentials: []string{"dev-id", "x-api-key"}, UserHeader: "Provider-User-Id"}
	if diff := cmp.Diff(want, c.Session); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(contract.RetryRule{Retries: 3, Start: time.Second, Factor: 2, JitterMax: time.Second, JitterFrom: 1}, c.Retry); diff != "" {
		t.Errorf("retry (-want +got):\n%s", diff)
	}
	if !c.Reads("get_it") {
		t.Error("its tools count as writing")
	}
}
