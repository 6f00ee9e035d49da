package mcptool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/mcptool"
)

type searchArgs struct {
	Query  string `json:"q"`
	Format string `json:"format,omitempty"`
}

func patterns() *mcp.Server {
	server := newServer()
	search := func(_ context.Context, _ *mcp.CallToolRequest, in searchArgs) (*mcp.CallToolResult, any, error) {
		if in.Query == "" {
			return nil, nil, fmt.Errorf("search: %w", &recourse.NeedsInput{Message: "What do you look for?", Reason: "empty_query", Fields: []string{"q"}})
		}
		return nil, nil, recourse.Timeout("The pattern API", 0)
	}
	mcp.AddTool(server, &mcp.Tool{Name: "search_patterns"}, search)
	mcp.AddTool(server, &mcp.Tool{Name: "analyze_code", InputSchema: json.RawMessage(`{"type":"object"}`)}, search) // without an argument format
	return server
}

// The argument format chooses the blocks of failures, wrong arguments and questions, if the tool has it.
func TestFormatAndQuestions(t *testing.T) {
	t.Parallel()

	const markdown, form, both = "markdown", "json", "markdown json"
	tests := []struct {
		tool, arguments, blocks, kind string
	}{
		{"search_patterns", `{"q":"x"}`, markdown, "toolError:v1"},
		{"search_patterns", `{"q":"x","format":"json"}`, form, "toolError:v1"},
		{"search_patterns", `{"q":"x","format":"both"}`, both, "toolError:v1"},
		{"search_patterns", `{"q":"x","format":"xml"}`, markdown, "toolError:v1"},
		{"search_patterns", `{"format":"both"}`, both, "toolError:v1"},
		{"search_patterns", `{"q":"","format":"json"}`, form, "needsInput:v1"},
		{"search_patterns", `{"q":""}`, markdown, "needsInput:v1"},
		{"analyze_code", `{"q":"x","format":"json"}`, markdown, "toolError:v1"},
		{"no_such_tool", `{"format":"json"}`, markdown, "toolError:v1"},
	}
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			server := patterns()
			mcptool.Use(server, builtin(t, "patterns"), quiet)
			client := w.dial(t, server)
			for _, test := range tests {
				r := client.call(t, test.tool, test.arguments)
				var result struct {
					Content []struct {
						Text     string `json:"text"`
						MimeType string `json:"mimeType"`
					} `json:"content"`
					Structured struct {
						Kind string `json:"kind"`
					} `json:"structuredContent"`
					IsError    bool   `json:"isError"`
					ResultType string `json:"resultType"`
				}
				if err := json.Unmarshal(r.Result, &result); err != nil {
					t.Fatalf("%v: %+v", err, r)
				}
				var blocks []string
				for _, b := range result.Content {
					_, name, _ := strings.Cut(b.MimeType, "/")
					blocks = append(blocks, name)
				}
				if diff := cmp.Diff(test.blocks, strings.Join(blocks, " ")); diff != "" {
					t.Errorf("%s %s (-want +got):\n%s%s", test.tool, test.arguments, diff, r.Result)
				}
				isQuestion := test.kind == "needsInput:v1"
				if result.Structured.Kind != test.kind || result.IsError == isQuestion || (result.ResultType == "complete") != w.modern {
					t.Errorf("%s %s: %s", test.tool, test.arguments, r.Result)
				}
			}
		})
	}
}

// A contract without questions writes them as missing parameters.
func TestQuestionAsFailure(t *testing.T) {
	t.Parallel()

	server := patterns()
	mcptool.Use(server, builtin(t, "fieldmcp"), quiet)
	e := dialStdio(t, server).call(t, "search_patterns", `{"q":""}`).record(t)
	if e.Kind != recourse.KindMissingParam || e.Message != "What do you look for?" || e.Origin != recourse.OriginCaller || e.RequestID == "" {
		t.Errorf("%v, origin %s", e, e.Origin)
	}
}
