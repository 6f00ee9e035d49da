package patterns_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/patterns"
)

// codeTools are calls of the tools without a format argument.
var codeTools = map[string]string{
	"list_analysis_rules": ``, "analyze_code": `"code":"x"`, "review_code": `"code":"x"`, "list_skills": ``, "get_skill": `"slug":"add-undo"`,
}

// with returns an object with these members and a format.
func with(members, format string) string {
	return "{" + strings.Trim(members+`,"format":`+format, ",") + "}"
}

// An invalid format means the default, and a tool without that argument ignores it: neither is refused.
func TestAnyFormat(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/format-unknown", "patterns/format-other-tools", "patterns/format-tools")

	client := systemtest.HTTP(t, newSystem(t, patterns.Options{}), testkit.Modern)
	markdown := func(tool, arguments, want string) {
		result := client.Call(t, tool, arguments).Tool(t)
		if result.IsError || len(result.Content) != 1 || json.Valid([]byte(result.Text())) || !strings.Contains(result.Text(), want) {
			t.Errorf("%s %s: %+v", tool, arguments, result)
		}
	}
	for _, format := range []string{`5`, `null`, `"xml"`, `["json"]`, `{"json":true}`, `"markdown"`, `""`, `true`} {
		markdown("search_patterns", with(`"q":"undo"`, format), "memento")
		markdown("get_pattern", with(`"id":"observer"`, format), "# Observer")
		for tool, arguments := range codeTools {
			markdown(tool, with(arguments, format), "")
		}
	}
	for tool, arguments := range codeTools {
		markdown(tool, with(arguments, `"json"`), "")
		failing := strings.NewReplacer(`"x"`, `"fault-500"`, "add-undo", "fault-500").Replace(arguments)
		if arguments == `` {
			failing = map[string]string{"list_analysis_rules": `"category":"fault-500"`, "list_skills": `"q":"fault-500"`}[tool]
		}
		result := client.Call(t, tool, with(failing, `"json"`)).Tool(t)
		if !result.IsError || len(result.Content) != 1 || !strings.HasPrefix(result.Text(), "Internal server error: ") {
			t.Errorf("%s: got %+v", tool, result)
		}
	}
	if result := client.Call(t, "analyze_code", `{"code":"x","formats":"json"}`).Tool(t); !result.IsError {
		t.Error("an unknown argument was ignored")
	}
}

// Successes have structuredContent in every format.
func TestStructuredContent(t *testing.T) {
	t.Parallel()
	client := systemtest.HTTP(t, newSystem(t, patterns.Options{}), testkit.Legacy)
	for tool, call := range map[string]struct{ arguments, kind string }{
		"search_patterns": {`{"q":"undo"}`, "patterns:v1"}, "get_pattern": {`{"id":"observer"}`, "pattern:v1"},
		"list_analysis_rules": {`{}`, "rules:v1"}, "analyze_code": {`{"code":"var x int"}`, "findings:v1"},
		"review_code": {`{"code":""}`, "findings:v1"}, "list_skills": {`{}`, "skills:v1"}, "get_skill": {`{"slug":"add-undo"}`, "skill:v1"},
	} {
		var structured struct {
			Kind string `json:"kind"`
		}
		result := client.Call(t, tool, call.arguments).Tool(t)
		if err := json.Unmarshal(result.StructuredContent, &structured); err != nil || structured.Kind != call.kind || result.IsError {
			t.Errorf("%s: %v, %s", tool, err, result.StructuredContent)
		}
	}
	both := client.Call(t, "get_pattern", `{"id":"observer","format":"both"}`).Tool(t)
	var block, structured any
	if json.Unmarshal([]byte(both.Content[1].Text), &block) != nil || json.Unmarshal(both.StructuredContent, &structured) != nil {
		t.Fatalf("%+v", both)
	}
	if !slices.Equal([]byte(mustMarshal(t, block)), []byte(mustMarshal(t, structured))) {
		t.Errorf("the JSON block and structuredContent differ: %+v", both)
	}
}

func mustMarshal(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Guides can be read. For an unknown guide the code is NOT_FOUND, while an unknown pattern leads to a question.
func TestSkills(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/not-found-elsewhere", "patterns/code-not-found")

	client := systemtest.HTTP(t, newSystem(t, patterns.Options{}), testkit.Modern)
	for arguments, want := range map[string]string{
		`{}`: "3 skills", `{"q":"undo"}`: "1 skills", `{"category":"architectural"}`: "`survive-outages`", `{"q":"gardening"}`: "0 skills",
	} {
		if text := client.Call(t, "list_skills", arguments).Tool(t).Text(); !strings.Contains(text, want) {
			t.Errorf("%s: %s", arguments, text)
		}
	}
	if text := client.Call(t, "get_skill", `{"slug":"add-undo"}`).Tool(t).Text(); !strings.HasPrefix(text, "# Add undo\n") {
		t.Error(text)
	}
	result := client.Call(t, "get_skill", `{"slug":"add-redo"}`).Tool(t)
	var e toolError
	if err := json.Unmarshal(result.StructuredContent, &e); err != nil || e.Code != "NOT_FOUND" || e.Details["statusCode"] != 404.0 ||
		result.Text() != "Resource not found: The pattern library has no skill of that slug." {
		t.Errorf("%+v: %s", e, result.Text())
	}
	for _, bad := range []string{`{}`, `{"slug":""}`, `{"slug":5}`} {
		if text := client.Call(t, "get_skill", bad).Tool(t).Text(); !strings.HasPrefix(text, "Invalid request: slug ") {
			t.Errorf("%s: %s", bad, text)
		}
	}
}

// Up to twenty hits are listed; twenty-one lead to a question.
func TestTooManyHits(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/question-too-many")

	client := systemtest.HTTP(t, newSystem(t, patterns.Options{}), testkit.Legacy)
	if text := client.Call(t, "search_patterns", `{"q":"it queue"}`).Tool(t).Text(); !strings.HasPrefix(text, "20 of 20 patterns ") {
		t.Errorf("20 hits: %s", text)
	}
	if q := ask(t, client, "search_patterns", `{"q":"it factory","format":"json"}`); q.NeedsInput.Reason != "too_many_results" {
		t.Errorf("21 hits: %+v", q)
	}
	if text := client.Call(t, "search_patterns", `{"q":"undo","limit":1}`).Tool(t).Text(); !strings.HasPrefix(text, "1 of 2 patterns ") {
		t.Errorf("a limit: %s", text)
	}
}

// Every tool is annotated as read-only.
func TestToolsRead(t *testing.T) {
	t.Parallel()
	var all struct {
		Tools []struct {
			Name        string `json:"name"`
			Annotations struct {
				ReadOnlyHint bool `json:"readOnlyHint"`
			} `json:"annotations"`
		} `json:"tools"`
	}
	client := systemtest.HTTP(t, newSystem(t, patterns.Options{}), testkit.Modern)
	if err := json.Unmarshal(client(t, "tools/list", `{}`).Result, &all); err != nil || len(all.Tools) != 7 {
		t.Fatalf("%v, %+v", err, all)
	}
	for _, tool := range all.Tools {
		if !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s is not annotated", tool.Name)
		}
	}
}

// The default limit is 120 calls a minute.
func TestDefaultLimit(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/gateway-429")

	client := systemtest.HTTP(t, newSystem(t, patterns.Options{}), testkit.Legacy)
	const limit = 120
	calls := 0
	for ; calls <= 2*limit; calls++ { // a minute may end meanwhile
		if client.Call(t, "search_patterns", `{}`).Tool(t).IsError {
			break
		}
	}
	if calls < limit || calls > 2*limit {
		t.Errorf("call %d was refused", calls+1)
	}
}

// The default timeout of the library is 10 s.
func TestDefaultTimeout(t *testing.T) {
	t.Parallel()
	s := newSystem(t, patterns.Options{})
	s.ReachBy(systemtest.Hangs{})
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		text := systemtest.Stdio(t, s.MCPServer()).Call(t, "get_pattern", `{"id":"observer"}`).Tool(t).Text()
		if took := time.Since(start); !strings.HasPrefix(text, "Network error: ") || took != 10*time.Second {
			t.Errorf("after %s: %s", took, text)
		}
	})
}

// A client without the key gets an HTTP status, which is for its program. If the library refuses the server's own key,
// that is AUTHENTICATION_ERROR.
func TestKeys(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/code-authentication-error", "patterns/message-authentication-error", "patterns/transport-401")

	locked := newSystem(t, patterns.Options{Key: "pk_1"})
	for _, authorization := range []string{"", "Bearer pk_2", "pk_1"} {
		client := testkit.NewClient(t, systemtest.Serve(t, locked), testkit.Modern)
		client.Header = http.Header{}
		if authorization != "" {
			client.Header.Set("Authorization", authorization)
		}
		a, err := client.Call(t.Context(), "get_pattern", `{"id":"observer"}`)
		if err != nil {
			t.Fatal(err)
		}
		if a.Status != http.StatusUnauthorized || a.Header.Get("WWW-Authenticate") == "" || a.Message == nil || a.Message.Error == nil {
			t.Errorf("%q: %d %v %s", authorization, a.Status, a.Header, a.Body)
		}
	}
	if text := systemtest.HTTP(t, locked, testkit.Legacy).Call(t, "get_pattern", `{"id":"observer"}`).Tool(t).Text(); !strings.HasPrefix(text, "# Observer") {
		t.Errorf("with the key: %s", text)
	}

	wrong := systemtest.HTTP(t, newSystem(t, patterns.Options{LibraryKey: "pk_old"}), testkit.Legacy)
	for tool, arguments := range map[string]string{"get_pattern": `{"id":"observer","format":"both"}`, "list_skills": `{}`} {
		result := wrong.Call(t, tool, arguments).Tool(t)
		var e toolError
		if err := json.Unmarshal(result.StructuredContent, &e); err != nil || e.Code != "AUTHENTICATION_ERROR" || e.Retryable ||
			e.Details["statusCode"] != 401.0 || !strings.HasPrefix(result.Text(), "Authentication required: ") {
			t.Errorf("%s: %+v: %s", tool, e, result.Text())
		}
	}
}
