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
		"fetch": { // mcp-server-fetch
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
				calls = append(calls, toldCall{name: q.name, tool: q.tool, arguments: fmt.Sprintf(`{"case":%d}`, i), reads: q.reads})
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
}
