package contract

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// The texts that the common SDKs write themselves, where the protocol or their
// own structure has no better place. Each is anchored at its start: a tool's own
// prose is never guessed at.

// maxDetect bounds how much of a text is looked at.
const maxDetect = 16 << 10

var (
	// TypeScript SDK 1.x: a JSON-RPC error inside a tool result.
	reMCPError = regexp.MustCompile(`^MCP error (-?\d+): `)
	// Python SDK, and runtimes after it.
	reExecuting = regexp.MustCompile(`^Error (?:executing|calling) tool '?([^':\s]+)'?: `)
	// A tool that is not there: TypeScript, Go, mcp-go, Python.
	reUnknownTool = regexp.MustCompile(`^(?:Tool (\S+) (?:not found|disabled)|unknown tool:? "?([^"\s]+)"?|Unknown tool: '?([^'\s]+)'?|tool '([^']+)' not found.*)$`)
	// Arguments that do not fit: TypeScript SDK.
	reInvalidTS = regexp.MustCompile(`^(?:Input validation error: )?Invalid arguments for tool (\S+?):?\s+(?s:(.*))$`)
	// Arguments that do not fit: Go SDK, with the JSON Schema keyword.
	reInvalidGo = regexp.MustCompile(`^validating "arguments": (?s:(.*))$`)
	reGoPath    = regexp.MustCompile(`validating (/properties/[^:\s]+|root)`)
	reGoMissing = regexp.MustCompile(`(?:required|dependentRequired\["[^"]*"\]): missing properties:? \[([^\]]*)\]`)
	reGoUnknown = regexp.MustCompile(`unexpected additional properties \[([^\]]*)\]`)
	reGoRule    = regexp.MustCompile(`: ([a-zA-Z]+): [^:]*$`)
	reGoType    = regexp.MustCompile(`type: .* has type "[^"]*", want (?:one of )?"?([^"]*)"?`)
	// Arguments that do not fit: pydantic, behind the Python SDK.
	rePydantic      = regexp.MustCompile(`^\d+ validation errors? for \S+\n`)
	rePydanticField = regexp.MustCompile(`(?m)^(\S[^\n]*)\n  ([^\n]*?) \[type=([a-z_]+)`)
	reQuoted        = regexp.MustCompile(`"([^"]*)"`)
)

// detect reads a text that an SDK wrote.
func detect(text string) (e *recourse.Error, sign string, ok bool) {
	text = strings.TrimSpace(text[:min(len(text), maxDetect)])
	if m := reMCPError.FindStringSubmatch(text); m != nil {
		inner := rpcKind(m[1], text[len(m[0]):])
		inner.Upstream.Code = m[1]
		return inner, "text of the TypeScript SDK", true
	}
	if m := reExecuting.FindString(text); m != "" {
		if inner, sign, ok := detect(text[len(m):]); ok {
			return inner, sign, true
		}
		return recourse.New(recourse.KindUnknown, text[len(m):]), "text of the Python SDK", true
	}
	if rest, ok := strings.CutPrefix(text, "**Error:** "); ok {
		if inner, sign, ok := detect(rest); ok {
			return inner, sign, true
		}
		return recourse.New(recourse.KindUnknown, rest), "**Error:** prefix", true
	}
	if m := reUnknownTool.FindStringSubmatch(text); m != nil {
		return refused(recourse.UnknownTool(m[1] + m[2] + m[3] + strings.TrimSuffix(m[4], "'"))), "text of an SDK: unknown tool", true
	}
	if issues, ok := zodIssues(text); ok {
		return invalid(issues, text), "issues of the TypeScript SDK", true
	}
	if m := reInvalidTS.FindStringSubmatch(text); m != nil {
		issues, _ := zodIssues(m[2])
		return invalid(issues, text), "text of the TypeScript SDK: arguments", true
	}
	if m := reInvalidGo.FindStringSubmatch(text); m != nil {
		return invalid(goViolations(m[1]), text), "text of the Go SDK: arguments", true
	}
	if rePydantic.MatchString(text) {
		return invalid(pydanticViolations(text), text), "text of the Python SDK: arguments", true
	}
	return nil, "", false
}

// refused marks a failure of the caller's that was found before anything was
// done.
func refused(e *recourse.Error) *recourse.Error {
	return e.WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
}

// invalid is the failure of arguments that a server found not to fit. Its kind is
// that of the first violation.
func invalid(violations []recourse.Violation, text string) *recourse.Error {
	kind := recourse.KindInvalidValue
	if len(violations) > 0 {
		kind = ruleKind(violations[0].Rule)
	}
	return refused(recourse.New(kind, cut(text)).WithViolations(violations...))
}

func ruleKind(rule string) recourse.Kind {
	switch rule {
	case "required":
		return recourse.KindMissingParam
	case "type":
		return recourse.KindInvalidType
	case "additionalProperties":
		return recourse.KindUnknownParam
	default:
		return recourse.KindInvalidValue
	}
}

// zodIssues reads the list of issues that zod writes as JSON.
func zodIssues(text string) ([]recourse.Violation, bool) {
	if text = strings.TrimSpace(text); !strings.HasPrefix(text, "[") {
		return nil, false
	}
	var issues []struct {
		Code     string       `json:"code"`
		Path     []json.Value `json:"path"`
		Message  string       `json:"message"`
		Expected string       `json:"expected"`
		Received string       `json:"received"`
		Keys     []string     `json:"keys"`
	}
	if json.UnmarshalLenient([]byte(text), &issues) != nil || len(issues) == 0 || issues[0].Code == "" {
		return nil, false
	}
	var list []recourse.Violation
	for _, issue := range issues {
		var steps []string
		for _, step := range issue.Path {
			steps = append(steps, plainText(step))
		}
		v := recourse.Violation{Rule: issue.Code, Want: issue.Expected, Message: issue.Message}
		switch issue.Code {
		case "invalid_type":
			v.Rule = "type"
			if issue.Received == "undefined" || strings.HasSuffix(issue.Message, "received undefined") || issue.Message == "Required" {
				v.Rule = "required"
			}
		case "unrecognized_keys":
			v.Rule = "additionalProperties"
			steps = append(steps, issue.Keys...)
		}
		list = append(list, at(v, steps...))
	}
	return list, true
}

// goViolations reads the error text of the Go SDK's schema validator, which stops
// at the first violation.
func goViolations(text string) []recourse.Violation {
	var steps []string
	for _, m := range reGoPath.FindAllStringSubmatch(text, -1) {
		steps = append(steps, strings.Split(strings.TrimPrefix(m[1], "/properties/"), "/properties/")...)
	}
	if len(steps) > 0 && steps[0] == "root" {
		steps = steps[1:]
	}
	for _, list := range []struct {
		re   *regexp.Regexp
		rule string
	}{{reGoMissing, "required"}, {reGoUnknown, "additionalProperties"}} {
		m := list.re.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		var violations []recourse.Violation
		for _, name := range reQuoted.FindAllStringSubmatch(m[1], -1) {
			violations = append(violations, at(recourse.Violation{Rule: list.rule}, append(steps[:len(steps):len(steps)], name[1])...))
		}
		return violations
	}
	v := recourse.Violation{}
	if m := reGoType.FindStringSubmatch(text); m != nil {
		v.Rule, v.Want = "type", m[1]
	} else if m := reGoRule.FindStringSubmatch(text); m != nil {
		v.Rule = m[1]
	}
	if len(steps) == 0 {
		return nil
	}
	return []recourse.Violation{at(v, steps...)}
}

func pydanticViolations(text string) []recourse.Violation {
	var list []recourse.Violation
	for _, m := range rePydanticField.FindAllStringSubmatch(text, 20) {
		v := recourse.Violation{Rule: m[3], Message: m[2]}
		switch {
		case m[3] == "missing":
			v.Rule = "required"
		case strings.HasSuffix(m[3], "_type") || strings.HasSuffix(m[3], "_parsing"):
			v.Rule = "type"
		case m[3] == "extra_forbidden" || m[3] == "unexpected_keyword_argument":
			v.Rule = "additionalProperties"
		}
		list = append(list, at(v, strings.Split(m[1], ".")...))
	}
	return list
}

// at places a violation at the end of a path through the arguments.
func at(v recourse.Violation, steps ...string) recourse.Violation {
	v.Param = strings.Join(steps, ".")
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, step := range steps {
		v.Pointer += "/" + escape.Replace(step)
	}
	return v
}

// detectHTTP reads the texts by which SDKs answer a session that they do not know.
func detectHTTP(status int, body []byte) (e *recourse.Error, sign string, ok bool) {
	if status != http.StatusNotFound && status != http.StatusBadRequest {
		return nil, "", false
	}
	text := trimmed(body[:min(len(body), maxDetect)])
	var message struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.UnmarshalLenient(body, &message) == nil && message.Error.Message != "" {
		text = message.Error.Message
	}
	switch strings.ToLower(strings.TrimPrefix(text, "Bad Request: ")) {
	case "session not found", "session terminated", "invalid session id", "no valid session id provided",
		"session not initialized", "server not initialized", "no active session", "unknown session":
		return recourse.New(recourse.KindUnknownSession, "").WithEffect(recourse.EffectNone), "text of an SDK: session", true
	default:
		return nil, "", false
	}
}
