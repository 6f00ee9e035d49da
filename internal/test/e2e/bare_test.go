package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A toldCall is a failing call. The test compares what a model reads about it from the server itself and through the
// gateway.
type toldCall struct {
	name            string
	tool, arguments string
	reads           bool // as the server declares

	// facts are what the client has to learn if the gateway answers instead of the server; nil means the server's own
	// text.
	facts []string
}

// A talkative server is a real server, or one that repeats the texts of a real server, with its failures.
type talkative struct {
	name  string
	ask   func(ctx context.Context, t *testing.T, dir string, through bool, calls []step) []testkit.Message
	calls func(dir string) []toldCall
}

// mayHave is the only addition to a failure that a writing tool answers with.
const mayHave = "The call may have taken effect. Check before calling again."

// alarms are phrases that never apply to a tool that only reads.
var alarms = []string{"effect", "Check before", "not known", "before you have found out", "settle"}

// A model reads at least what the server itself says, and no alarm that is not true.
func TestBare(t *testing.T) {
	t.Parallel()
	for _, server := range slices.Concat(realServers(), quotedServers(), pythonServers()) {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			dir := folder(t)
			calls := server.calls(dir)
			steps := make([]step, len(calls))
			for i, c := range calls {
				steps[i] = step{tool: c.tool, arguments: c.arguments}
			}
			bare, through := server.ask(ctx, t, dir, false, steps), server.ask(ctx, t, dir, true, steps)
			golden := new(txtar.Archive)
			for i, c := range calls {
				was, is := modelSees(t, bare[i]), modelSees(t, through[i])
				c.compare(t, was, is)
				golden.Files = append(golden.Files,
					txtar.File{Name: c.name + "/call", Data: []byte(c.tool + " " + placed(c.arguments, dir) + "\n")},
					txtar.File{Name: c.name + "/bare", Data: []byte(placed(was, dir) + "\n")},
					txtar.File{Name: c.name + "/through", Data: []byte(placed(is, dir) + "\n")})
			}
			contracttest.Golden(t, filepath.Join("testdata", "bare", server.name+".txtar"), string(txtar.Format(golden)))
		})
	}
}

// compare compares the text from the server itself, was, with the text through the gateway, is.
func (c toldCall) compare(t *testing.T, was, is string) {
	t.Helper()
	is = strings.ReplaceAll(is, "\n  ", "\n") // the gateway indents further lines, so that they do not look like its own advice
	facts := c.facts
	if facts == nil {
		_, said, _ := strings.Cut(was, ": ")
		facts = []string{strings.TrimPrefix(strings.TrimSpace(said), "Error executing tool "+c.tool+": ")}
	}
	for _, fact := range facts {
		if !strings.Contains(is, fact) {
			t.Errorf("%s: no %q in:\n%s", c.name, fact, is)
		}
	}
	if c.reads {
		for _, alarm := range alarms {
			if strings.Contains(is, alarm) && !strings.Contains(was, alarm) {
				t.Errorf("%s: the tool only reads, but the text has %q:\n%s", c.name, alarm, is)
			}
		}
	}
	if added, found := strings.CutPrefix(is, "error: [unknown] "+strings.Join(facts, "")); found && c.facts == nil {
		want := "\nNothing was changed."
		if !c.reads {
			want = "\n" + mayHave
		}
		if added != want {
			t.Errorf("%s: added %q, want %q", c.name, added, want)
		}
	}
}

// modelSees returns what a host shows its model of an answer: the texts, and whether they report a failure.
func modelSees(t *testing.T, m testkit.Message) string {
	t.Helper()
	if m.Error != nil {
		return fmt.Sprintf("JSON-RPC error %d: %s", m.Error.Code, m.Error.Message)
	}
	var result testkit.ToolResult
	if err := json.Unmarshal(m.Result, &result); err != nil {
		t.Fatalf("%v: %s", err, m.Result)
	}
	var texts []string
	for _, block := range result.Content {
		texts = append(texts, block.Text)
	}
	if !result.IsError {
		return "success: " + strings.Join(texts, "\n")
	}
	return "error: " + strings.Join(texts, "\n")
}

// placed replaces the test's folder with DIR, and the id of a request with REQUEST.
func placed(text, dir string) string {
	return requestID.ReplaceAllString(strings.ReplaceAll(text, dir, "DIR"), "REQUEST")
}

// realServers are the reference servers from npm.
func realServers() []talkative {
	return []talkative{
		{"filesystem", onStdio(filesystem), filesystemFailures},
		{"memory", onStdio(memory), memoryFailures},
		{"sequential-thinking", onStdio(sequentialThinking), thinkingFailures},
		{"everything", onStdio(func(tb testing.TB, dir string) local {
			tb.Helper()
			server := everythingOnStdio(tb, dir)
			server.keys = nil
			return server
		}), everythingFailures},
	}
}

// onStdio asks a server on stdio, directly or through recourse wrap.
func onStdio(open func(testing.TB, string) local) func(context.Context, *testing.T, string, bool, []step) []testkit.Message {
	return func(ctx context.Context, t *testing.T, dir string, through bool, calls []step) []testkit.Message {
		t.Helper()
		server := open(t, dir)
		command, environ := server.Command, server.Environ
		if through {
			command, environ = wrapped(t, server.entry(t)...)
		}
		return messagesOnStdio(ctx, t, command, environ, calls)
	}
}

func filesystemFailures(dir string) []toldCall {
	in := func(name string) string { return quoted(filepath.Join(dir, name)) }
	return []toldCall{
		{name: "read a missing file", tool: "read_text_file", arguments: `{"path":` + in("none.txt") + `}`, reads: true},
		{name: "read outside", tool: "read_text_file", arguments: `{"path":"/etc/passwd"}`, reads: true},
		{name: "read a folder", tool: "read_text_file", arguments: `{"path":` + in(".") + `}`, reads: true},
		{name: "head and tail", tool: "read_text_file", arguments: `{"path":` + in("notes.txt") + `,"head":1,"tail":1}`, reads: true},
		{name: "one of two files is missing", tool: "read_multiple_files", arguments: `{"paths":[` + in("notes.txt") + `,` + in("none.txt") + `]}`, reads: true},
		{name: "list a file", tool: "list_directory", arguments: `{"path":` + in("notes.txt") + `}`, reads: true},
		{name: "search outside", tool: "search_files", arguments: `{"path":"/etc","pattern":"*"}`, reads: true},
		{name: "write outside", tool: "write_file", arguments: `{"path":"/etc/passwd","content":"x"}`},
		{name: "write into a missing folder", tool: "write_file", arguments: `{"path":` + in("none/x.txt") + `,"content":"x"}`},
		{name: "edit with a missing oldText", tool: "edit_file", arguments: `{"path":` + in("notes.txt") + `,"edits":[{"oldText":"nowhere","newText":"x"}]}`},
		{name: "move onto an existing file", tool: "move_file", arguments: `{"source":` + in("notes.txt") + `,"destination":` + in("held.txt") + `}`},
		{name: "no path", tool: "read_text_file", arguments: `{}`, reads: true, facts: []string{"path"}},
		{name: "path is a number", tool: "write_file", arguments: `{"path":5}`, facts: []string{"path", "string", "content"}},
		{name: "an unknown tool", tool: "read_fil", arguments: `{}`, facts: []string{"read_fil"}},
	}
}

func memoryFailures(string) []toldCall {
	return []toldCall{
		{name: "observe an unknown entity", tool: "add_observations", arguments: `{"observations":[{"entityName":"Bob","contents":["x"]}]}`},
		{name: "a wrong type", tool: "create_entities", arguments: `{"entities":[{"name":7}]}`, facts: []string{"entities", "name", "string", "entityType", "observations"}},
		{name: "no query", tool: "search_nodes", arguments: `{}`, reads: true, facts: []string{"query"}},
		{name: "an unknown tool", tool: "create_entity", arguments: `{}`, facts: []string{"create_entity"}},
	}
}

func thinkingFailures(string) []toldCall {
	return []toldCall{
		{name: "a number too small", tool: "sequentialthinking", arguments: `{"thought":"x","thoughtNumber":0,"totalThoughts":1,"nextThoughtNeeded":true}`, reads: true, facts: []string{"thoughtNumber", "1"}},
		{name: "beyond the schema", tool: "sequentialthinking", arguments: `{"thought":"x","thoughtNumber":1,"totalThoughts":1,"nextThoughtNeeded":"maybe"}`, reads: true, facts: []string{"nextThoughtNeeded", `"true"/"false"`, "maybe"}},
		{name: "no thought", tool: "sequentialthinking", arguments: `{"thoughtNumber":1,"totalThoughts":1,"nextThoughtNeeded":true}`, reads: true, facts: []string{"thought"}},
	}
}

func everythingFailures(string) []toldCall {
	return []toldCall{
		{name: "an unknown id", tool: "get-resource-reference", arguments: `{"resourceType":"Text","resourceId":-1}`, reads: true},
		{name: "outside the enum", tool: "get-annotated-message", arguments: `{"messageType":"loud"}`, reads: true, facts: []string{"messageType", "error", "success", "debug"}},
		{name: "text instead of a number", tool: "get-sum", arguments: `{"a":"x"}`, reads: true, facts: []string{"a", "number", "b"}},
		{name: "an unsupported protocol", tool: "gzip-file-as-resource", arguments: `{"name":"x","data":"ftp://example.com/x"}`},
		{name: "an unknown tool", tool: "ecko", arguments: `{}`, facts: []string{"ecko"}},
	}
}
