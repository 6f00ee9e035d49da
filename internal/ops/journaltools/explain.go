package journaltools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/ops/explain"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/privacy/visible"
	"github.com/recoursehq/recourse/retry"
)

const (
	maxAnswer  = 256 << 10 // bytes of an answer to explain
	maxStory   = 24 << 10  // bytes of an explanation
	maxStories = 5         // calls of a request id; clients may choose it
)

// explainArgs say what to explain.
type explainArgs struct {
	RequestID string `json:"request_id"`
	Answer    string `json:"answer"`
	Tool      string `json:"tool"`
	Writes    bool   `json:"writes"`
}

// explainSchema is the inputSchema of recourse_explain.
func explainSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object", AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		Properties: map[string]*jsonschema.Schema{
			"request_id": {
				Type: isString, MinLength: new(1), MaxLength: new(128),
				Description: "Id of a call that is in the journal, such as req-7037070b8af55bc8183aa169.",
			},
			"answer": {
				Type: isString, MinLength: new(1), MaxLength: new(maxAnswer),
				Description: "Instead of an id: an answer, whole and as it came. A JSON-RPC message, a result, an event stream, " +
					"an HTTP response with its headers, or the bare text of a tool's error.",
			},
			"tool": {Type: isString, MaxLength: new(128), Description: "With answer: the tool that gave it."},
			"writes": {
				Type: "boolean", Default: []byte("false"),
				Description: "With answer: that tool is known to write. Otherwise nobody says what it does.",
			},
		},
	}
}

// An explanation is the structured answer for programs: calls of the journal, or a reading.
type explanation struct {
	Calls   []*journal.Row       `json:"calls,omitempty" jsonschema:"what the journal has of the request, the oldest first"`
	Reading *explain.Explanation `json:"reading,omitempty" jsonschema:"how the answer is read"`
}

// explain tells what happened to a call, or how an answer is read.
func (t *tools) explain(ctx context.Context, _ *mcp.CallToolRequest, in explainArgs) (*mcp.CallToolResult, any, error) {
	switch {
	case in.RequestID != "" && in.Answer != "":
		return nil, nil, recourse.Conflicting("request_id", "answer")
	case in.RequestID != "":
		return t.story(ctx, in.RequestID)
	case in.Answer != "":
		return t.reading(ctx, in)
	default:
		return nil, nil, recourse.Missing("request_id").WithHint("Pass request_id, or else answer.")
	}
}

// story tells of the calls of a request.
func (t *tools) story(ctx context.Context, id string) (*mcp.CallToolResult, any, error) {
	calls, err := t.calls(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if len(calls) == 0 {
		return nil, nil, recourse.NotFound("request", id).WithHint("The journal keeps only a share of the calls that succeed, " +
			"and each call a moment after it has ended. recourse_failures lists those that failed.")
	}
	return told(stories(calls), &explanation{Calls: calls})
}

// calls returns the latest calls of a request.
func (t *tools) calls(ctx context.Context, id string) ([]*journal.Row, error) {
	calls, err := journal.Of(ctx, t.Journal, id)
	if err != nil {
		return nil, readFailure(err)
	}
	return calls[max(0, len(calls)-maxStories):], nil
}

func stories(calls []*journal.Row) string {
	each := make([]string, len(calls))
	for i, c := range calls {
		each[i] = explain.Story(c).String()
	}
	return cut(strings.Join(each, "\n"))
}

// reading reads an answer, and tells what is known of the request that it names.
func (t *tools) reading(ctx context.Context, in explainArgs) (*mcp.CallToolResult, any, error) {
	set := t.Contracts()
	r, err := explain.Read([]byte(in.Answer), &contract.Reader{Contracts: set.All()})
	if err != nil {
		return nil, nil, recourse.InvalidValue("answer", "an answer of an MCP server", "").
			WithMessage("The answer cannot be read: %v.", err)
	}
	of := explain.ToolFacts{Name: in.Tool}
	if in.Writes {
		of.Nature = new(retry.Writes)
	}
	out := &explanation{Reading: r.Explanation(set, of)}
	said := visible.Escape(cut(r.Lines(set, of).String()))
	if r.Failure != nil && r.Failure.RequestID != "" {
		if out.Calls, err = t.calls(ctx, r.Failure.RequestID); err != nil {
			return nil, nil, err
		}
		if len(out.Calls) > 0 {
			said += "\nThe journal has the request:\n\n" + stories(out.Calls)
		}
	}
	return told(said, out)
}

// told returns a result with the text for agents, and the same for programs. Nothing in either is hidden from a person.
func told(body string, out *explanation) (*mcp.CallToolResult, any, error) {
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, nil, fmt.Errorf("write an explanation: %w", err)
	}
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		return nil, nil, fmt.Errorf("write an explanation: %w", err)
	}
	return text(body), shown(plain), nil
}

// shown returns a value of JSON whose texts show what they hide.
func shown(v any) any {
	switch v := v.(type) {
	case string:
		return visible.Escape(v)
	case []any:
		for i := range v {
			v[i] = shown(v[i])
		}
	case map[string]any:
		named := make(map[string]any, len(v))
		for name, member := range v {
			named[visible.Escape(name)] = shown(member)
		}
		return named
	}
	return v
}

// cut limits the length of an explanation.
func cut(s string) string {
	if len(s) <= maxStory {
		return s
	}
	return strings.ToValidUTF8(s[:maxStory], "") + fmt.Sprintf("\n... (%d bytes in all)\n", len(s))
}
