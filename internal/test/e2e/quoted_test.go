package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A quote is a failure in the words of a server that cannot run here; the names in it are made up.
type quote struct {
	name, tool string
	reads      bool
	success    bool // the server's result is a success
	text       string
	facts      []string // as in [toldCall]
}

// raised is a failure of a tool in Python, as the SDK writes it: the name of the tool, and what was raised.
func raised(name, tool string, reads bool, reason string) quote {
	return quote{name: name, tool: tool, reads: reads, text: "Error executing tool " + tool + ": " + reason, facts: []string{reason}}
}

// quotes are failures of widely used servers.
func quotes() map[string][]quote {
	return map[string][]quote{
		"git": { // mcp-server-git: the text of the exception
			{name: "an unknown branch", tool: "git_checkout", text: "Cmd('git') failed due to: exit code(1)\n  cmdline: git checkout nowhere\n  stderr: 'error: pathspec 'nowhere' did not match any file(s) known to git'"},
			{name: "outside any repository", tool: "git_status", reads: true, text: "/srv/fields/maps"},
			{name: "outside the repository", tool: "git_log", reads: true, text: "Repository path '/srv/other' is outside the allowed repository '/srv/fields'"},
			{name: "an unknown revision", tool: "git_diff", reads: true, text: "Ref 'nowhere' did not resolve to an object"},
			{name: "nothing to commit", tool: "git_commit", text: "Cmd('git') failed due to: exit code(1)\n  cmdline: git commit -m x\n  stdout: 'On branch main\nnothing to commit, working tree clean'"},
		},
		"git-2026": { // mcp-server-git 2026.10
			raised("outside the repository", "git_status", true, "Repository path '/srv/other' is outside the allowed repository '/srv/fields'"),
			raised("an unknown revision", "git_show", true, "Ref 'nowhere' did not resolve to an object"),
			raised("nothing to commit", "git_commit", false, "No changes staged for commit. Use git_add to stage changes first; git_status shows what is currently staged."),
			raised("a missing file", "git_add", false, "Cmd('git') failed due to: exit code(128)\n  cmdline: git add -- none.txt\n  stderr: 'fatal: pathspec 'none.txt' did not match any files'"),
			raised("a branch that exists", "git_create_branch", false, "Cannot create branch 'main': refs/heads/main already exists"),
			raised("an unknown base", "git_create_branch", false, "No item found with id nowhere"),
			raised("an option as a revision", "git_diff", true, "Invalid target: '--output=/tmp/x' - cannot start with '-'"),
		},
		"time": { // mcp-server-time 2026.10
			raised("an unknown zone", "get_current_time", true, "Invalid timezone: 'No time zone found with key Mars/Base'"),
			raised("an impossible time", "convert_time", true, "Invalid time format. Expected HH:MM [24-hour format]"),
			raised("an empty zone", "get_current_time", true, "Missing required argument: timezone"),
			raised("a zone that is a path", "get_current_time", true, "Invalid timezone: ZoneInfo keys must refer to subdirectories of TZPATH, got: ../../etc/passwd"),
		},
		"aws-documentation": { // awslabs.aws-documentation-mcp-server 1.2
			raised("another site", "read_documentation", true, "URL must be from list of supported domains"),
			raised("no network", "read_documentation", true, "Failed to fetch https://docs.farm.example/none.html: [Errno -2] Name or service not known"),
			{name: "no network, said as a result", tool: "recommend", reads: true, success: true, text: `{"url":"","title":"Error getting recommendations: [Errno -2] Name or service not known","context":null}`},
		},
		"word": { // office-word-mcp-server 1.1 reports most failures as successes
			{name: "a missing document", tool: "get_document_info", reads: true, success: true, text: "Document /srv/none.docx does not exist"},
			{name: "a missing folder", tool: "create_document", success: true, text: "Cannot create document: Directory /srv/none does not exist"},
			{name: "a level that is too high", tool: "add_heading", success: true, text: "Invalid heading level: 99. Level must be between 1 and 9."},
		},
		"excel": { // excel-mcp-server 2.2
			raised("a missing workbook", "read_range", true, "Workbook /srv/none.xlsx does not exist."),
			raised("a workbook that exists", "create_workbook", false, "/srv/a.xlsx already exists. Pass overwrite=true to replace it."),
			raised("a missing sheet", "rename_sheet", false, "Sheet 'Nope' not found. Available sheets: 'Sheet1'."),
			raised("half a range", "merge_cells", false, "Range 'x:y' must have explicit rows and columns, such as 'A1:C10'."),
			raised("another name for a field", "merge_cells", false, "Invalid arguments for merge_cells: filepath: unknown field; did you mean 'path'?"),
			raised("two other names", "write_range", false, "Invalid arguments for write_range:\n- start: unknown field; valid fields: 'path', 'sheet', 'at', 'rows', 'links'\n- data: unknown field; did you mean 'at'?"),
			raised("what nobody expected", "create_workbook", false, "Unexpected error in create_workbook; see server log"),
			{name: "a reason that is withheld", tool: "create_workbook", text: "Error executing tool create_workbook"},
		},
		"fetch": { // mcp-server-fetch
			raised("robots.txt with 401", "fetch", true, "When fetching robots.txt (https://farm.example/robots.txt), received status 401 so assuming that autonomous fetching is not allowed, the user can try manually fetching by using the fetch prompt"),
			raised("a private address", "fetch", true, "Refused to fetch http://farm.example/robots.txt: farm.example resolves to 10.0.0.7, which is not a public address. Start the server with --allow-private-ips to allow private, loopback and link-local addresses."),
			{name: "status 404", tool: "fetch", reads: true, text: "Failed to fetch https://farm.example/none - status code 404"},
			{name: "status 503", tool: "fetch", reads: true, text: "Failed to fetch https://farm.example/ - status code 503"},
			{name: "robots.txt forbids", tool: "fetch", reads: true, text: "The sites robots.txt (https://farm.example/robots.txt), specifies that autonomous fetching of this page is not allowed, <useragent>ModelContextProtocol/1.0 (Autonomous)</useragent>\n<url>https://farm.example/private</url><robots>\nUser-agent: *\nDisallow: /private\n</robots>\nThe assistant must let the user know that it failed to view the page."},
			{name: "robots.txt out of reach", tool: "fetch", reads: true, text: "Failed to fetch robots.txt https://farm.example/robots.txt due to a connection issue"},
		},
		"sqlite": { // mcp-server-sqlite reports failures as successes
			{name: "no table", tool: "read_query", reads: true, success: true, text: "Database error: no such table: fields"},
			{name: "not a SELECT", tool: "read_query", reads: true, success: true, text: "Error: Only SELECT queries are allowed for read_query"},
			{name: "a constraint", tool: "write_query", success: true, text: "Database error: UNIQUE constraint failed: fields.id"},
		},
		"github": { // github-mcp-server
			{name: "an unknown issue", tool: "get_issue", reads: true, text: "failed to get issue: GET https://api.github.com/repos/farm/fields/issues/9: 404 Not Found []"},
			{name: "a missing parameter", tool: "list_commits", reads: true, text: "missing required parameter: owner"},
			{name: "a validation error", tool: "create_issue", text: "failed to create issue: POST https://api.github.com/repos/farm/fields/issues: 422 Validation Failed [{Resource:Issue Field:title Code:missing_field Message:}]"},
			{name: "the rate limit", tool: "search_code", reads: true, text: "failed to search code: GET https://api.github.com/search/code?q=x: 403 API rate limit of 30 still exceeded until 2026-11-22 12:00:40 +0000 UTC, not making remote request. [rate reset in 40s]"},
			{name: "no permission to write", tool: "create_branch", text: "failed to create branch: POST https://api.github.com/repos/farm/fields/git/refs: 403 Resource not accessible by personal access token []"},
		},
		"playwright": { // @playwright/mcp
			{name: "no such host", tool: "browser_navigate", text: "### Error\nError: page.goto: net::ERR_NAME_NOT_RESOLVED at https://farm.example.invalid/\nCall log:\n  - navigating to \"https://farm.example.invalid/\", waiting until \"domcontentloaded\"\n"},
			{name: "a click that times out", tool: "browser_click", text: "### Error\nTimeoutError: locator.click: Timeout 5000ms exceeded.\nCall log:\n  - waiting for locator('aria-ref=e12')\n    - locator resolved to <button disabled>Sow</button>\n  - attempting click action\n    - waiting for element to be visible, enabled and stable\n"},
			{name: "a reference from an old snapshot", tool: "browser_click", text: "### Error\nError: Ref e99 not found in the current page snapshot. Try capturing new snapshot.\n"},
			{name: "no browser", tool: "browser_snapshot", reads: true, text: "### Error\nError: Browser specified in your config is not installed. Either install it (likely) or change the config.\n"},
		},
	}
}

// quotedServers returns servers that answer with the quotes.
func quotedServers() []talkative {
	var servers []talkative
	for name, said := range quotes() {
		servers = append(servers, talkative{name: name, ask: overTheirWords(said), calls: func(string) []toldCall {
			var calls []toldCall
			for i, q := range said {
				calls = append(calls, toldCall{name: q.name, tool: q.tool, arguments: fmt.Sprintf(`{"case":%d}`, i), reads: q.reads, facts: q.facts})
			}
			return calls
		}})
	}
	return servers
}

// overTheirWords asks a server whose tools answer with the quotes.
func overTheirWords(said []quote) func(context.Context, *testing.T, string, bool, []step) []testkit.Message {
	return func(ctx context.Context, t *testing.T, _ string, through bool, calls []step) []testkit.Message {
		t.Helper()
		var tools []testkit.Tool
		seen := map[string]bool{}
		for _, q := range said {
			if seen[q.tool] {
				continue
			}
			seen[q.tool] = true
			tools = append(tools, testkit.Tool{
				Name:       q.tool,
				Definition: `{"name":` + quoted(q.tool) + `,"inputSchema":{"type":"object"},"annotations":{"readOnlyHint":` + map[bool]string{true: "true", false: "false"}[q.reads] + `}}`,
				Result: func(arguments json.RawMessage) string {
					var which struct {
						Case int `json:"case"`
					}
					if err := json.Unmarshal(arguments, &which); err != nil {
						return err.Error()
					}
					text, _ := json.Marshal(said[which.Case].text)
					failed := map[bool]string{true: "false", false: "true"}[said[which.Case].success]
					return `{"content":[{"type":"text","text":` + string(text) + `}],"isError":` + failed + `}`
				},
			})
		}
		url := testkit.NewServer(t, testkit.WithTools(tools...)).URL()
		if through { // like the real servers, it runs as a program with trusted annotations
			url = start(t, url, "trust_annotations: true", "redact: secrets").url
		}
		return messagesOverHTTP(ctx, t, url, calls)
	}
}

// messagesOverHTTP returns the answers to the steps of the server at url.
func messagesOverHTTP(ctx context.Context, t *testing.T, url string, calls []step) []testkit.Message {
	t.Helper()
	c := testkit.NewClient(t, url, testkit.Legacy)
	if _, err := c.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	var messages []testkit.Message
	for _, call := range calls {
		method, params := call.request()
		answer, err := c.Request(ctx, method, params)
		if err != nil || answer.Message == nil {
			t.Fatalf("%s: %v %+v", call.name(), err, answer)
		}
		messages = append(messages, *answer.Message)
	}
	return messages
}
