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
	listSkills        = "list_skills"
	getSkill          = "get_skill"
)

// memberKind is the member that names the type of a value.
const memberKind = "kind"

// The formats with a block of JSON.
const (
	formatJSON = "json"
	formatBoth = "both"
)

const (
	// tooMany is how many hits are too many for a person to choose from.
	tooMany = 20
	// maxSuggestions limits the suggestions for an id that does not exist.
	maxSuggestions = 5
)

type searchArgs struct {
	Query      string `json:"q"`
	Category   string `json:"category"`
	Difficulty string `json:"difficulty"`
	Limit      *int   `json:"limit"`
	Format     any    `json:"format"`
}

type getArgs struct {
	ID     string `json:"id"`
	Format any    `json:"format"`
}

type rulesArgs struct {
	Category string `json:"category"`
}

type skillsArgs struct {
	Query    string `json:"q"`
	Category string `json:"category"`
}

type skillArgs struct {
	Slug string `json:"slug"`
}

type codeArgs struct {
	Code     string `json:"code"`
	Language string `json:"language,omitempty"`
}

func (s *System) addTools() {
	add(s, searchPatterns, "Searches design patterns.", searchSchema, s.search)
	add(s, getPattern, "Returns a design pattern.", getSchema, s.get)
	add(s, listAnalysisRules, "Lists what code is analyzed for.", rulesSchema, s.rules)
	add(s, analyzeCode, "Finds problems of design in code.", codeSchema, s.analyze)
	add(s, reviewCode, "Recommends patterns for code.", codeSchema, s.review)
	add(s, listSkills, "Lists guides to working with patterns.", skillsSchema, s.skills)
	add(s, getSkill, "Returns a guide.", skillSchema, s.skill)
}

// add adds a tool, which only reads.
func add[In any](s *System, name, description string, inputSchema json.RawMessage, h mcp.ToolHandlerFor[In, any]) {
	mcp.AddTool(s.server, &mcp.Tool{
		Name: name, Description: description, InputSchema: inputSchema, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, h)
}

func (s *System) search(ctx context.Context, _ *mcp.CallToolRequest, in searchArgs) (*mcp.CallToolResult, any, error) {
	if strings.TrimSpace(in.Query) == "" {
		return nil, nil, &recourse.NeedsInput{
			Message: "What should the pattern do? Give words to look for.", Reason: "empty_query", Fields: []string{"q"},
			Suggestions: map[string][]string{"q": {"undo", "plugin", "notification"}},
		}
	}
	limit := tooMany
	if in.Limit != nil {
		limit = *in.Limit
	}
	found, err := s.api.search(ctx, in.Query, in.Category, in.Difficulty, limit)
	if err != nil {
		return nil, nil, err
	}
	if found.Total > tooMany && in.Category == "" && in.Difficulty == "" {
		return nil, nil, narrow(found)
	}
	var text strings.Builder
	_, _ = fmt.Fprintf(&text, "%d of %d patterns for “%s”\n", len(found.Patterns), found.Total, in.Query) // a Builder never fails
	for _, p := range found.Patterns {
		_, _ = fmt.Fprintf(&text, "\n- **%s** (`%s`, %s, %s): %s", p.Name, p.ID, p.Category, p.Difficulty, p.Summary)
	}
	return formatted(in.Format, text.String(), map[string]any{memberKind: "patterns:v1", "total": found.Total, "patterns": found.Patterns})
}

// narrow asks which part of many hits is meant.
func narrow(found hits) *recourse.NeedsInput {
	q := &recourse.NeedsInput{
		Message: fmt.Sprintf("%d patterns match. Which category or difficulty is meant?", found.Total),
		Reason:  "too_many_results", Fields: []string{paramCategory, paramDifficulty},
		Suggestions: map[string][]string{paramDifficulty: difficulties},
	}
	for _, category := range categories {
		if n := found.Categories[category]; n > 0 {
			q.Suggestions[paramCategory] = append(q.Suggestions[paramCategory], category)
			q.Options = append(q.Options, recourse.Option{
				Label: fmt.Sprintf("%s (%d)", category, n), Value: category, Field: paramCategory,
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
	return formatted(in.Format, text, map[string]any{memberKind: "pattern:v1", "pattern": p})
}

// suggest asks which pattern an unknown id means, and names the results of a search for it. If the search
// fails, the question comes without suggestions.
func (s *System) suggest(ctx context.Context, id string) *recourse.NeedsInput {
	q := &recourse.NeedsInput{
		Message: fmt.Sprintf("There is no pattern %q. Which one is meant?", id), Reason: "not_found", Fields: []string{"id"},
	}
	found, err := s.api.search(ctx, strings.ReplaceAll(id, "-", " "), "", "", maxSuggestions)
	if err != nil {
		return q
	}
	for _, p := range found.Patterns {
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
		_, _ = fmt.Fprintf(&text, "\n- `%s` (%s): %s", r.ID, r.Category, r.Summary) // a Builder never fails
	}
	return formatted(nil, text.String(), map[string]any{memberKind: "rules:v1", "rules": rules})
}

func (s *System) analyze(ctx context.Context, _ *mcp.CallToolRequest, in codeArgs) (*mcp.CallToolResult, any, error) {
	findings, err := s.api.analyze(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	if len(findings) == 0 {
		return formatted(nil, "Nothing was found.", findingsOf(findings))
	}
	var text strings.Builder
	text.WriteString("Found:\n")
	for _, f := range findings {
		_, _ = fmt.Fprintf(&text, "\n- line %d, `%s`: %s", f.Line, f.Rule, f.Summary) // a Builder never fails
	}
	return formatted(nil, text.String(), findingsOf(findings))
}

func (s *System) review(ctx context.Context, _ *mcp.CallToolRequest, in codeArgs) (*mcp.CallToolResult, any, error) {
	findings, err := s.api.analyze(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	if len(findings) == 0 {
		return formatted(nil, "The design is sound as far as the rules go.", findingsOf(findings))
	}
	var text strings.Builder
	text.WriteString("Recommended:\n")
	for _, f := range findings {
		_, _ = fmt.Fprintf(&text, "\n- line %d: consider `%s`, since %s", f.Line, f.Pattern, f.Summary) // a Builder never fails
	}
	return formatted(nil, text.String(), findingsOf(findings))
}

func findingsOf(findings []finding) map[string]any {
	return map[string]any{memberKind: "findings:v1", "findings": findings}
}

func (s *System) skills(ctx context.Context, _ *mcp.CallToolRequest, in skillsArgs) (*mcp.CallToolResult, any, error) {
	found, err := s.api.skills(ctx, in.Query, in.Category)
	if err != nil {
		return nil, nil, err
	}
	var text strings.Builder
	_, _ = fmt.Fprintf(&text, "%d skills\n", len(found)) // a Builder never fails
	for _, k := range found {
		_, _ = fmt.Fprintf(&text, "\n- **%s** (`%s`, %s)", k.Title, k.Slug, k.Category)
	}
	return formatted(nil, text.String(), map[string]any{memberKind: "skills:v1", "skills": found})
}

func (s *System) skill(ctx context.Context, _ *mcp.CallToolRequest, in skillArgs) (*mcp.CallToolResult, any, error) {
	k, err := s.api.skill(ctx, in.Slug)
	if err != nil {
		return nil, nil, err
	}
	return formatted(nil, fmt.Sprintf("# %s\n\n%s", k.Title, k.Guide), map[string]any{memberKind: "skill:v1", "skill": k})
}

// formatted returns a success in the requested format: the text, the value as a block of JSON, or both. An
// unknown format means the text. Programs get the value in any case.
func formatted(format any, text string, value any) (*mcp.CallToolResult, any, error) {
	block, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, nil, err
	}
	result := &mcp.CallToolResult{StructuredContent: json.RawMessage(block)}
	if format != formatJSON {
		result.Content = append(result.Content, &mcp.TextContent{Text: text})
	}
	if format == formatJSON || format == formatBoth {
		result.Content = append(result.Content, &mcp.TextContent{Text: string(block)})
	}
	return result, nil, nil
}
