package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// pythonVariable is the environment variable with the folder into which `make frameworks` installs servers in Python. Without it
// what they say is only quoted: see [quotes].
const pythonVariable = "E2E_PYTHON_SERVERS"

// pythonServers are servers from PyPI: four reference servers, and three of the most used that were written with FastMCP.
func pythonServers() []talkative {
	if os.Getenv(pythonVariable) == "" {
		return nil
	}
	return []talkative{
		{"python-git", inPython("servers", "mcp-server-git", "--repository", "DIR"), gitFailures},
		{"python-time", inPython("servers", "mcp-server-time"), timeFailures},
		{"python-fetch", inPython("servers", "mcp-server-fetch"), fetchFailures},
		{"python-sqlite", inPython("sqlite", "mcp-server-sqlite", "--db-path", "DIR/fields.db"), sqliteFailures},
		{"python-aws", inPython("servers", "awslabs.aws-documentation-mcp-server"), awsFailures},
		{"python-excel", inPython("servers", "excel-mcp-server", "stdio"), excelFailures},
		{"python-word", inPython("servers", "word_mcp_server"), wordFailures},
	}
}

// inPython asks a server in Python, directly, or through recourse wrap and through a gateway, which say the same.
func inPython(environment, program string, args ...string) func(context.Context, *testing.T, string, bool, []step) []testkit.Message {
	return func(ctx context.Context, t *testing.T, dir string, through bool, calls []step) []testkit.Message {
		t.Helper()
		command := []string{filepath.Join(os.Getenv(pythonVariable), environment, "bin", program)}
		for _, arg := range args {
			command = append(command, strings.ReplaceAll(arg, "DIR", dir))
		}
		if !through {
			prepare(ctx, t, dir)
			return messagesOnStdio(ctx, t, quietly(command), nil, calls)
		}
		list, err := json.Marshal(command)
		if err != nil {
			t.Fatal(err)
		}
		entry := []string{"command: " + string(list), "timeout: 60s"}
		wrap, environ := wrapped(t, entry...)
		wrapping := messagesOnStdio(ctx, t, wrap, environ, calls)
		serving := messagesOverHTTP(ctx, t, start(t, "", entry...).url, calls)
		for i := range calls {
			if one, other := placed(modelSees(t, wrapping[i]), dir), placed(modelSees(t, serving[i]), dir); one != other {
				t.Errorf("%s: wrap says %q, serve %q", calls[i].name(), one, other)
			}
		}
		return wrapping
	}
}

// quietly returns a command without the lines that are no messages: some servers greet people on their standard output.
func quietly(command []string) []string {
	return append([]string{"sh", "-c", `"$@" | grep --line-buffered '^{'`, "sh"}, command...)
}

// prepare makes the things that the servers fail at: a repository with one commit, and a file in the place of a workbook.
func prepare(ctx context.Context, t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "a.xlsx"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"}, {"-c", "user.name=e2e", "-c", "user.email=e2e@farm.example", "commit", "--quiet", "--allow-empty", "--message=x"},
	} {
		if out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
}

func gitFailures(dir string) []toldCall {
	in := `{"repo_path":` + quoted(dir)
	return []toldCall{
		{name: "outside the repository", tool: "git_status", arguments: `{"repo_path":"/etc"}`, reads: true},
		{name: "no repository", tool: "git_status", arguments: `{}`, reads: true, facts: []string{"repo_path"}},
		{name: "an unknown revision", tool: "git_show", arguments: in + `,"revision":"nowhere"}`, reads: true},
		{name: "nothing to commit", tool: "git_commit", arguments: in + `,"message":"x"}`},
		{name: "a missing file", tool: "git_add", arguments: in + `,"files":["none.txt"]}`},
		{name: "a text instead of a list", tool: "git_add", arguments: in + `,"files":"none.txt"}`, facts: []string{"files", "array"}},
		{name: "a branch that exists", tool: "git_create_branch", arguments: in + `,"branch_name":"main"}`},
		{name: "an unknown branch", tool: "git_checkout", arguments: in + `,"branch_name":"nowhere"}`},
		{name: "an unknown tool", tool: "git_statu", arguments: in + `}`, facts: []string{"git_statu"}},
	}
}

func timeFailures(string) []toldCall {
	return []toldCall{
		{name: "an unknown zone", tool: "get_current_time", arguments: `{"timezone":"Mars/Base"}`, reads: true},
		{name: "no zone", tool: "get_current_time", arguments: `{}`, reads: true, facts: []string{"timezone"}},
		{name: "an impossible time", tool: "convert_time", arguments: `{"source_timezone":"UTC","time":"99:99","target_timezone":"UTC"}`, reads: true},
	}
}

func fetchFailures(string) []toldCall {
	return []toldCall{
		{name: "a private address", tool: "fetch", arguments: `{"url":"http://127.0.0.1:9/none"}`, reads: true},
		{name: "no URL", tool: "fetch", arguments: `{"url":"nonsense"}`, reads: true, facts: []string{"url", "URI"}},
		{name: "below the minimum", tool: "fetch", arguments: `{"url":"http://127.0.0.1:9/none","max_length":-5}`, reads: true, facts: []string{"max_length", "1"}},
	}
}

func sqliteFailures(string) []toldCall {
	return []toldCall{
		{name: "no table", tool: "read_query", arguments: `{"query":"select * from fields"}`, reads: true},
		{name: "not a SELECT", tool: "read_query", arguments: `{"query":"delete from fields"}`, reads: true},
		{name: "not an INSERT", tool: "write_query", arguments: `{"query":"select 1"}`},
		{name: "no name", tool: "describe_table", arguments: `{}`, reads: true, facts: []string{"table_name"}},
	}
}

func awsFailures(string) []toldCall {
	return []toldCall{
		{name: "another site", tool: "read_documentation", arguments: `{"url":"https://farm.example/x.html"}`, reads: true},
		{name: "a text instead of a number", tool: "read_documentation", arguments: `{"url":"https://farm.example/x.html","max_length":"x"}`, reads: true, facts: []string{"max_length", "integer"}},
	}
}

func excelFailures(dir string) []toldCall {
	at := func(name string) string { return `{"path":` + quoted(filepath.Join(dir, name)) }
	return []toldCall{
		{name: "a missing workbook", tool: "read_range", arguments: at("none.xlsx") + `,"sheet":"A"}`, reads: true},
		{name: "a workbook that exists", tool: "create_workbook", arguments: at("a.xlsx") + `}`},
		{name: "no workbook to write to", tool: "rename_sheet", arguments: at("none.xlsx") + `,"sheet":"A","new_name":"B"}`},
		{name: "another name for a field", tool: "merge_cells", arguments: `{"filepath":"a.xlsx","sheet":"A","range":"A1:B2"}`, facts: []string{"path", "filepath"}},
		{name: "two other names", tool: "write_range", arguments: at("a.xlsx") + `,"sheet":"A","start":"A1","data":[]}`, facts: []string{"start", "data", "at", "rows", "links"}},
		{name: "a text instead of a list", tool: "write_range", arguments: at("a.xlsx") + `,"sheet":"A","at":"A1","rows":"x"}`, facts: []string{"rows", "array"}},
		{name: "what nobody expected", tool: "create_workbook", arguments: `{"path":"/proc/none/x.xlsx"}`},
	}
}

func wordFailures(dir string) []toldCall {
	at := func(name string) string { return `{"filename":` + quoted(filepath.Join(dir, name)) }
	return []toldCall{
		{name: "a missing document", tool: "get_document_info", arguments: at("none.docx") + `}`, reads: true},
		{name: "a missing folder", tool: "create_document", arguments: at("none/x.docx") + `}`},
		{name: "no name", tool: "create_document", arguments: `{}`, facts: []string{"filename"}},
		{name: "an unknown tool", tool: "create_documents", arguments: `{}`, facts: []string{"create_documents"}},
	}
}
