package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/recoursehq/recourse/internal/testkit"
)

// A told failure is what a model is told of a call, by the server itself and through us.
type toldCall struct {
	name            string
	tool, arguments string
	reads           bool // the tool changes nothing, as it says itself

	// facts are what the client has to learn where the gateway answers in the server's place; where the server answers, that is
	// all that it says.
	facts []string
}

// A talkative server is a real one, or one that says what a real one says, and its failures.
type talkative struct {
	name  string
	ask   func(ctx context.Context, t *testing.T, dir string, through bool, calls []step) []testkit.Message
	calls func(dir string) []toldCall
}

// mayHave is all that is added to the failure of a tool that writes and did answer.
const mayHave = "The call may have taken effect. Check before calling again."

// alarms are words that are true of no call of a tool that only reads.
var alarms = []string{"effect", "Check before", "not known", "Do not repeat", "settle"}

// A model is told at least what it would be told without us, and nothing more that alarms it and is not true.
func TestBare(t *testing.T) {
	t.Parallel()
	for _, server := range append(realServers(), quotedServers()...) {
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
			compareGolden(t, filepath.Join("testdata", "bare", server.name+".txtar"), txtar.Format(golden))
		})
	}
}

// compare holds what is told through us against what the server itself tells.
func (c toldCall) compare(t *testing.T, was, is string) {
	t.Helper()
	is = strings.ReplaceAll(is, "\n  ", "\n") // lines after the first are moved in, so that none passes for advice of ours
	facts := c.facts
	if facts == nil {
		_, said, _ := strings.Cut(was, ": ")
		facts = []string{strings.TrimSpace(said)}
	}
	for _, fact := range facts {
		if !strings.Contains(is, fact) {
			t.Errorf("%s: %q is not told:\n%s", c.name, fact, is)
		}
	}
	if c.reads {
		for _, alarm := range alarms {
			if strings.Contains(is, alarm) && !strings.Contains(was, alarm) {
				t.Errorf("%s: the tool reads, and a model is told %q:\n%s", c.name, alarm, is)
			}
		}
	}
	if added, found := strings.CutPrefix(is, "error: [unknown] "+strings.Join(facts, "")); found && c.facts == nil {
		want := ""
		if !c.reads {
			want = "\n" + mayHave
		}
		if added != want {
			t.Errorf("%s: a model is told %q as well, want %q", c.name, added, want)
		}
	}
}

// modelSees returns what a host shows its model of an answer: the texts, and whether they are of a failure.
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

// placed writes the test's folder as DIR.
func placed(text, dir string) string { return strings.ReplaceAll(text, dir, "DIR") }

// compareGolden compares with the golden file, or rewrites it.
func compareGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	if os.Getenv("RECOURSE_GOLDEN") == "off" { // make mutants: what make golden rewrites proves nothing
		return
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got); -update rewrites it:\n%s", file, diff)
	}
}

// realServers are the reference servers of npm.
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

// onStdio asks a program, or the program wrapped.
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
		{name: "read a file that is missing", tool: "read_text_file", arguments: `{"path":` + in("none.txt") + `}`, reads: true},
		{name: "read outside", tool: "read_text_file", arguments: `{"path":"/etc/passwd"}`, reads: true},
		{name: "read a folder", tool: "read_text_file", arguments: `{"path":` + in(".") + `}`, reads: true},
		{name: "head and tail", tool: "read_text_file", arguments: `{"path":` + in("notes.txt") + `,"head":1,"tail":1}`, reads: true},
		{name: "one of two files is missing", tool: "read_multiple_files", arguments: `{"paths":[` + in("notes.txt") + `,` + in("none.txt") + `]}`, reads: true},
		{name: "list what is no folder", tool: "list_directory", arguments: `{"path":` + in("notes.txt") + `}`, reads: true},
		{name: "search outside", tool: "search_files", arguments: `{"path":"/etc","pattern":"*"}`, reads: true},
		{name: "write outside", tool: "write_file", arguments: `{"path":"/etc/passwd","content":"x"}`},
		{name: "write into a folder that is missing", tool: "write_file", arguments: `{"path":` + in("none/x.txt") + `,"content":"x"}`},
		{name: "edit what is not there", tool: "edit_file", arguments: `{"path":` + in("notes.txt") + `,"edits":[{"oldText":"nowhere","newText":"x"}]}`},
		{name: "move to where something is", tool: "move_file", arguments: `{"source":` + in("notes.txt") + `,"destination":` + in("held.txt") + `}`},
		{name: "no path", tool: "read_text_file", arguments: `{}`, reads: true, facts: []string{"path"}},
		{name: "path is a number", tool: "write_file", arguments: `{"path":5}`, facts: []string{"path", "string", "content"}},
		{name: "a tool that is not there", tool: "read_fil", arguments: `{}`, facts: []string{"read_fil"}},
	}
}

func memoryFailures(string) []toldCall {
	return []toldCall{
		{name: "observe nobody", tool: "add_observations", arguments: `{"observations":[{"entityName":"Bob","contents":["x"]}]}`},
		{name: "a wrong type", tool: "create_entities", arguments: `{"entities":[{"name":7}]}`, facts: []string{"entities", "name", "string", "entityType", "observations"}},
		{name: "no query", tool: "search_nodes", arguments: `{}`, reads: true, facts: []string{"query"}},
		{name: "a tool that is not there", tool: "create_entity", arguments: `{}`, facts: []string{"create_entity"}},
	}
}

func thinkingFailures(string) []toldCall {
	return []toldCall{
		{name: "a number too small", tool: "sequentialthinking", arguments: `{"thought":"x","thoughtNumber":0,"totalThoughts":1,"nextThoughtNeeded":true}`, reads: true, facts: []string{"thoughtNumber", "1"}},
		{name: "what the schema does not say", tool: "sequentialthinking", arguments: `{"thought":"x","thoughtNumber":1,"totalThoughts":1,"nextThoughtNeeded":"maybe"}`, reads: true, facts: []string{"nextThoughtNeeded", `"true"/"false"`, "maybe"}},
		{name: "no thought", tool: "sequentialthinking", arguments: `{"thoughtNumber":1,"totalThoughts":1,"nextThoughtNeeded":true}`, reads: true, facts: []string{"thought"}},
	}
}

func everythingFailures(string) []toldCall {
	return []toldCall{
		{name: "an id that is not there", tool: "get-resource-reference", arguments: `{"resourceType":"Text","resourceId":-1}`, reads: true},
		{name: "not one of the enum", tool: "get-annotated-message", arguments: `{"messageType":"loud"}`, reads: true, facts: []string{"messageType", "error", "success", "debug"}},
		{name: "no number", tool: "get-sum", arguments: `{"a":"x"}`, reads: true, facts: []string{"a", "number", "b"}},
		{name: "a protocol that is not supported", tool: "gzip-file-as-resource", arguments: `{"name":"x","data":"ftp://example.com/x"}`},
		{name: "a tool that is not there", tool: "ecko", arguments: `{}`, facts: []string{"ecko"}},
	}
}
