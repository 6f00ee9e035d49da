package contract_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// Every built-in family is valid, and reads its own examples as they say.
func TestFamilies(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("internal", "wild", "families", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := contract.LoadFamily(file, src); err != nil {
				t.Error(err)
			}
		})
	}
}

// All mistakes in a family file are reported together, each with its position.
func TestFamilyLint(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "lint", "families", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = contract.LoadFamily(filepath.Base(file), src)
		if err == nil {
			t.Errorf("%s: no mistakes", file)
			continue
		}
		contracttest.Golden(t, strings.TrimSuffix(file, ".yaml")+".txt", err.Error()+"\n")
	}
}

const silo = `form: 1
family: silo
title: The silo
sources: ["https://silo.example.com"]
texts:
- {kind: conflict, text: "Rate exceeded"}
- {kind: rate_limited, weak: true, text: "the silo is busy, come back in {after}"}
objects:
- {object: {fault: upstream.code, text?: message}, weak: true}
codes:
- {kind: not_found, codes: [S-404]}
examples:
- {text: "Rate exceeded", kind: conflict}
`

// A custom family takes precedence over the built-in ones. Its weak forms also count in successes that consist of
// nothing else.
func TestFamilyOfOnesOwn(t *testing.T) {
	t.Parallel()
	own, err := contract.Builtin().LoadFamily("silo.yaml", []byte(silo))
	if err != nil {
		t.Fatal(err)
	}
	known := contract.Reader{Families: []*contract.Family{own}}
	for name, tt := range map[string]struct {
		reader  contract.Reader
		text    string
		isError bool
		want    recourse.Kind // empty: a success
		after   time.Duration
	}{
		"a custom phrase":           {known, "ThrottlingException: Rate exceeded", true, recourse.KindConflict, 0},
		"without the custom family": {contract.Reader{}, "ThrottlingException: Rate exceeded", true, recourse.KindRateLimited, 0},
		"without any family":        {contract.Reader{ContractsOnly: true}, "ThrottlingException: Rate exceeded", true, recourse.KindUnknown, 0},
		"weak text":                 {known, "the silo is busy, come back in 2 minutes", false, recourse.KindRateLimited, 2 * time.Minute},
		"weak text, not known":      {contract.Reader{}, "the silo is busy, come back in 2 minutes", false, "", 0},
		"weak text, and more":       {known, "the silo is busy, come back in 2 minutes, he said", false, "", 0},
		"weak text, quoted":         {known, "He said: the silo is busy, come back in 2 minutes", false, "", 0},
		"strong text":               {known, "Rate exceeded", false, "", 0},
		"weak object":               {known, `{"fault":"S-404","text":"no"}`, false, recourse.KindNotFound, 0},
		"weak object, and more":     {known, `{"fault":"S-404","text":"no","at":7}`, false, "", 0},
		"weak object of a success":  {known, `{"fault":null}`, false, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reading, failed := tt.reader.Result(textResult(t, tt.text, tt.isError))
			if failed != (tt.want != "") {
				t.Fatalf("a failure: %t, by %s", failed, reading.Sign)
			}
			if e := reading.Error(); failed && (e.Kind != tt.want || e.RetryAfter != tt.after) {
				t.Errorf("read as %s after %s, by %s", e.Kind, e.RetryAfter, reading.Sign)
			}
		})
	}
}

// A custom family reads several violations from a text or an object, each with its place, message and expected value.
func TestFamilyOfOnesOwnListsViolations(t *testing.T) {
	t.Parallel()
	own, err := contract.Builtin().LoadFamily("hopper.yaml", []byte(`form: 1
family: hopper
title: The hopper
sources: ["https://hopper.example.com"]
texts:
- {kind: invalid_value, text: "the hopper refuses", each: ["; {param} - {message}", "refuses: {param} - {message}"]}
objects:
- object:
    refused: {each: violations, item: {at: pointer, why: message, absent?: {is: "=true", set: {rule: required}}}}
rules:
- {rule: type, from: ["takes a {want}, not a {*}"]}
- {rule: additionalProperties, from: ["has no {names}"]}
examples:
- {text: "the hopper refuses: tons - takes a number, not a word", kind: invalid_type, violations: ["tons: type"]}
`))
	if err != nil {
		t.Fatal(err)
	}
	r := contract.Reader{Families: []*contract.Family{own}}
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"text": {
			"the hopper refuses: tons - takes a number, not a word; lid - has no 'hinge' and 'lock'; bin - is full",
			[]string{"/tons type number", "/lid/hinge additionalProperties", "/lid/lock additionalProperties", "/bin"},
		},
		"object": {
			`{"refused":[{"at":"/bin/0","why":"we need it","absent":true},{"at":"/tons","why":"takes a number, not a word","absent":false}]}`,
			[]string{"/bin/0 required", "/tons type number"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reading, _ := r.Result(textResult(t, tt.text, true))
			var got []string
			for _, v := range reading.Error().Violations {
				got = append(got, strings.TrimSpace(v.Pointer+" "+v.Rule+" "+v.Want))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("violations, by %s (-want +got):\n%s", reading.Sign, diff)
			}
		})
	}
}

// What a text says itself ranks above what it quotes, and a system's own words above guesses at plain English.
func TestFamiliesAreRanked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]recourse.Kind{
		`No results found for "ThrottlingException: Rate exceeded"`:            recourse.KindNoMatch,
		"Request failed with status code 403: API rate limit exceeded":         recourse.KindRateLimited,
		"HTTP 503: the lot was not found":                                      recourse.KindUnavailable,
		"HTTP 400: the lot was not found":                                      recourse.KindNotFound,
		"not found: connect ECONNREFUSED 127.0.0.1:1":                          recourse.KindUnreachable,
		"The hopper is stuck.":                                                 recourse.KindUnknown,
		strings.Repeat("  at frame (file.js:1:1)\n", 2000) + "KeyError: 'bin'": recourse.KindInternal,
	} {
		reading, _ := (&contract.Reader{}).Result(textResult(t, text, true))
		e := reading.Error()
		if e.Kind != want {
			t.Errorf("%.80q is read as %s, by %s", text, e.Kind, reading.Sign)
		}
		if e.Kind == recourse.KindUnknown && (e.RetryAdvice() == recourse.RetryNever || e.Message != text) {
			t.Errorf("%.80q: %s, %q", text, e.RetryAdvice(), e.Message)
		}
	}
}

// What public servers say where nothing can have happened: no doubt is added, and the advice is what helps.
func TestNothingIsDoubtedThatWasNeverDone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		kind  recourse.Kind
		retry recourse.Retry
	}{
		"LOADING Redis is loading the dataset in memory":                                                          {recourse.KindUnavailable, recourse.RetrySameCall},
		"CLUSTERDOWN The cluster is down":                                                                         {recourse.KindUnavailable, recourse.RetrySameCall},
		"Error 111 connecting to localhost:6379. Connection refused.":                                             {recourse.KindUnreachable, recourse.RetrySameCall},
		"SQLITE_BUSY: database is locked":                                                                         {recourse.KindUnavailable, recourse.RetrySameCall},
		"fatal: unable to access 'https://git.example/o/r.git/': Could not resolve host: git.example":             {recourse.KindUnreachable, recourse.RetrySameCall},
		"Cannot connect to the Docker daemon at unix:///var/run/docker.sock.":                                     {recourse.KindUnreachable, recourse.RetrySameCall},
		"Could not connect to Blender. Make sure the Blender addon is running.":                                   {recourse.KindUnreachable, recourse.RetrySameCall},
		"Error: Could not connect to the press":                                                                   {recourse.KindUnreachable, recourse.RetrySameCall},
		"Not connected":                                                                                           {recourse.KindUnreachable, recourse.RetrySameCall},
		"Connection terminated due to connection timeout":                                                         {recourse.KindTimeout, recourse.RetrySameCall},
		"git@git.example: Permission denied (publickey).\nfatal: Could not read from remote repository.":          {recourse.KindUnauthenticated, recourse.RetryAfterAuth},
		"Unauthorized. Please provide a valid access token to the MCP server":                                     {recourse.KindUnauthenticated, recourse.RetryAfterAuth},
		"Fetch failed with status 403: Forbidden. Error: Invalid token":                                           {recourse.KindUnauthenticated, recourse.RetryAfterAuth},
		"Brave API error: 422 Unprocessable Entity\n{\"detail\":\"The provided subscription token is invalid.\"}": {recourse.KindUnauthenticated, recourse.RetryAfterAuth},
		"Geocoding failed: REQUEST_DENIED":                                                                        {recourse.KindUnauthenticated, recourse.RetryAfterSetup},
		"Could not connect to MongoDB. Last error: Invalid scheme, expected connection string to start with":      {recourse.KindInvalidValue, recourse.RetryAfterFix},
		"Failed to connect to the press: invalid address \"x\"":                                                   {recourse.KindInvalidValue, recourse.RetryAfterFix},
		"Failed to connect to the press: Unauthorized":                                                            {recourse.KindUnauthenticated, recourse.RetryAfterAuth},
		"Usage limit exceeded":                                                                                    {recourse.KindQuotaExhausted, recourse.RetryNever},
		"Must join a channel before sending commands":                                                             {recourse.KindInvalidState, recourse.RetryReRead},
		"Version must be incremented on update. Current version is: 5":                                            {recourse.KindConflict, recourse.RetryReRead},
	} {
		reading, _ := (&contract.Reader{}).Result(textResult(t, text, true))
		e := reading.Error()
		if e.Kind != want.kind || e.Effect == recourse.EffectUnknown {
			t.Errorf("%q is read as %s with effect %q, by %s", text, e.Kind, e.Effect, reading.Sign)
		}
		if got := e.WithEffect(recourse.EffectNone).RetryAdvice(); got != want.retry {
			t.Errorf("%q: %s, want %s", text, got, want.retry)
		}
	}
}

// Where a call can have been sent, the doubt stays.
func TestDoubtStaysWhereACallCanHaveBeenSent(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"connection lost", "could not reach the server", "Connection closed", "fatal: the remote end hung up unexpectedly",
		"could not connect: connection reset by peer", "redis: Connection closed by server.", "socket hang up",
		"Saved the order, but failed to connect to the mail server", "The lot is cut; unable to connect to the printer",
	} {
		reading, _ := (&contract.Reader{}).Result(textResult(t, text, true))
		if e := reading.Error(); e.Kind != recourse.KindUnreachable || e.Effect == recourse.EffectNone {
			t.Errorf("%q is read as %s with effect %q, by %s", text, e.Kind, e.Effect, reading.Sign)
		}
	}
}

// Many systems use the same phrases: only a system's own code or object identifies it.
func TestCommonPhrasesNameNoProvider(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Error: 429 Too Many Requests - rate limit exceeded, retry after 30 seconds":                 "",
		"The service is currently unavailable":                                                       "",
		"Invalid access token":                                                                       "",
		"An error occurred (ThrottlingException) when calling the PutItem operation: Rate exceeded":  "AWS",
		`{"error":{"code":429,"message":"Slow down","status":"RESOURCE_EXHAUSTED"}}`:                 "", // Azure uses 429, too
		`{"error":{"code":403,"message":"Slow down","errors":[{"reason":"userRateLimitExceeded"}]}}`: "Google",
	} {
		reading, _ := (&contract.Reader{}).Result(textResult(t, text, true))
		if e := reading.Error(); e.Provider != want {
			t.Errorf("%q: got provider %q, want %q, by %s", text, e.Provider, want, reading.Sign)
		}
	}
}
