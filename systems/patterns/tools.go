package patterns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
)

// The tools.
const (
	searchPatterns    = "search_patterns"
	getPattern        = "get_pattern"
	listAnalysisRules = "list_analysis_rules"
	analyzeCode       = "analyze_code"
	reviewCode        = "review_code"
)

const (
	// tooMany is how many hits are more than a person wants to choose from.
	tooMany = 20
	// maxSuggestions bounds what is suggested in place of an id that does not exist.
	maxSuggestions = 5
)

type searchArgs struct {
	Query      string `json:"q,omitempty"          jsonschema:"words to look for, such as undo"`
	Category   string `json:"category,omitempty"   jsonschema:"creational, structural, behavioral, concurrency or architectural"`
	Difficulty string `json:"difficulty,omitempty" jsonschema:"beginner, intermediate or advanced"`
	Limit      int    `json:"limit,omitempty"      jsonschema:"most hits to return, from 1 to 100; 20 unless said otherwise"`
	Format     string `json:"format,omitempty"     jsonschema:"markdown (the default), json or both"`
}

type getArgs struct {
	ID     string `json:"id,omitempty"     jsonschema:"the pattern's id, such as observer"`
	Format string `json:"format,omitempty" jsonschema:"markdown (the default), json or both"`
}

type rulesArgs struct {
	Category string `json:"category,omitempty" jsonschema:"size, coupling or state"`
}

type codeArgs struct {
	Code     string `json:"code"               jsonschema:"the source text"`
	Language string `json:"language,omitempty" jsonschema:"such as go"`
}

func (s *System) addTools() {
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(s.server, &mcp.Tool{Name: searchPatterns, Description: "Searches design patterns.", Annotations: reads}, s.search)
	mcp.AddTool(s.server, &mcp.Tool{Name: getPattern, Description: "Returns a design pattern.", Annotations: reads}, s.get)
	mcp.AddTool(s.server, &mcp.Tool{Name: listAnalysisRules, Description: "Lists what code is analyzed for.", Annotations: reads}, s.rules)
	mcp.AddTool(s.server, &mcp.Tool{Name: analyzeCode, Description: "Finds problems of design in code.", Annotations: reads}, s.analyze)
	mcp.AddTool(s.server, &mcp.Tool{Name: reviewCode, Description: "Recommends patterns for code.", Annotations: reads}, s.review)
}

func (s *System) search(ctx context.Context, _ *mcp.CallToolRequest, in searchArgs) (*mcp.CallToolResult, any, error) {
	if strings.TrimSpace(in.Query) == "" {
		return nil, nil, &recourse.NeedsInput{
			Message: "What should the pattern do? Give words to look for.", Reason: "empty_query", Fields: []string{"q"},
			Suggestions: map[string][]string{"q": {"undo", "plugin", "notification"}},
		}
	}
	if in.Limit < 0 || in.Limit > maxLimit {
		return nil, nil, recourse.InvalidValue("limit", "a number from 1 to 100", in.Limit).
			WithMessage("limit must be between 1 and %d.", maxLimit)
	}
	found, err := s.api.search(ctx, in.Query, in.Category, in.Difficulty)
	if err != nil {
		return nil, nil, err
	}
	if len(found) > tooMany && in.Category == "" && in.Difficulty == "" {
		return nil, nil, narrow(found)
	}
	most := in.Limit
	if most == 0 {
		most = tooMany
	}
	shown := found[:min(most, len(found))]
	var text strings.Builder
	_, _ = fmt.Fprintf(&text, "%d of %d patterns for “%s”\n", len(shown), len(found), in.Query) // a Builder takes all
	for _, p := range shown {
		_, _ = fmt.Fprintf(&text, "\n- **%s** (`%s`, %s, %s): %s", p.Name, p.ID, p.Category, p.Difficulty, p.Summary)
	}
	return formatted(in.Format, text.String(), map[string]any{"kind": "patterns:v1", "total": len(found), "patterns": shown})
}

// narrow asks which part of many hits is meant.
func narrow(found []pattern) *recourse.NeedsInput {
	count := map[string]int{}
	for _, p := range found {
		count[p.Category]++
	}
	q := &recourse.NeedsInput{
		Message: fmt.Sprintf("%d patterns match. Which category or difficulty is meant?", len(found)),
		Reason:  "too_many_results", Fields: []string{"category", "difficulty"},
		Suggestions: map[string][]string{"difficulty": difficulties},
	}
	for _, category := range categories {
		if n := count[category]; n > 0 {
			q.Suggestions["category"] = append(q.Suggestions["category"], category)
			q.Options = append(q.Options, recourse.Option{
				Label: fmt.Sprintf("%s (%d)", category, n), Value: category, Field: "category",
			})
		}
	}
	return q
}

func (s *System) get(ctx context.Context, _ *mcp.CallToolRequest, in getArgs) (*mcp.CallToolResult, any, error) {
	if strings.TrimSpace(in.ID) == "" {
		return nil, nil, &recourse.NeedsInput{
			Message: "Which pattern? Give its id; search_patterns finds it.", Reason: "empty_id", Fields: []string{"id"},
		}
	}
	p, err := s.api.pattern(ctx, in.ID)
	if errors.Is(err, recourse.KindNotFound) {
		return nil, nil, s.suggest(ctx, in.ID)
	}
	if err != nil {
		return nil, nil, err
	}
	text := fmt.Sprintf("# %s\n\n%s\n\n- category: %s\n- difficulty: %s", p.Name, p.Summary, p.Category, p.Difficulty)
	return formatted(in.Format, text, map[string]any{"kind": "pattern:v1", "pattern": p})
}

// suggest asks which pattern is meant by an id that does not exist, and names those
// that a search for it finds. A search that fails suggests nothing: the question
// stands without it.
func (s *System) suggest(ctx context.Context, id string) *recourse.NeedsInput {
	q := &recourse.NeedsInput{
		Message: fmt.Sprintf("There is no pattern %q. Which one is meant?", id), Reason: "not_found", Fields: []string{"id"},
	}
	found, err := s.api.search(ctx, strings.ReplaceAll(id, "-", " "), "", "")
	if err != nil {
		return q
	}
	for _, p := range found[:min(maxSuggestions, len(found))] {
		if q.Suggestions == nil {
			q.Suggestions = map[string][]string{}
		}
		q.Suggestions["id"] = append(q.Suggestions["id"], p.ID)
		q.Options = append(q.Options, recourse.Option{Label: p.Name, Value: p.ID, Description: p.Summary, Field: "id"})
	}
	return q
}

func (s *System) rules(ctx context.Context, _ *mcp.CallToolRequest, in rulesArgs) (*mcp.CallToolResult, any, error) {
	rules, err := s.api.rules(ctx, in.Category)
	if err != nil {
		return nil, nil, err
	}
	var text strings.Builder
	text.WriteString("Code is analyzed for:\n")
	for _, r := range rules {
		_, _ = fmt.Fprintf(&text, "\n- `%s` (%s): %s", r.ID, r.Category, r.Summary) // a Builder takes all
	}
	return formatted("", text.String(), nil)
}

func (s *System) analyze(ctx context.Context, _ *mcp.CallToolRequest, in codeArgs) (*mcp.CallToolResult, any, error) {
	findings, err := s.api.analyze(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	if len(findings) == 0 {
		return formatted("", "Nothing was found.", nil)
	}
	var text strings.Builder
	text.WriteString("Found:\n")
	for _, f := range findings {
		_, _ = fmt.Fprintf(&text, "\n- line %d, `%s`: %s", f.Line, f.Rule, f.Summary) // a Builder takes all
	}
	return formatted("", text.String(), nil)
}

func (s *System) review(ctx context.Context, _ *mcp.CallToolRequest, in codeArgs) (*mcp.CallToolResult, any, error) {
	findings, err := s.api.analyze(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	if len(findings) == 0 {
		return formatted("", "The design is sound as far as the rules go.", nil)
	}
	var text strings.Builder
	text.WriteString("Recommended:\n")
	for _, f := range findings {
		_, _ = fmt.Fprintf(&text, "\n- line %d: consider `%s`, since %s", f.Line, f.Pattern, f.Summary) // a Builder takes all
	}
	return formatted("", text.String(), nil)
}

// formatted returns a success in the asked format: the text, the value as a block of
// JSON, or both. An unknown format means the text.
func formatted(format, text string, value any) (*mcp.CallToolResult, any, error) {
	result := &mcp.CallToolResult{}
	if format != "json" {
		result.Content = append(result.Content, &mcp.TextContent{Text: text})
	}
	if format == "json" || format == "both" {
		block, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return nil, nil, err
		}
		result.Content = append(result.Content, &mcp.TextContent{Text: string(block)})
	}
	return result, nil, nil
}
