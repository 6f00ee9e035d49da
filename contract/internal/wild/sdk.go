package wild

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Texts that the common SDKs write themselves instead of using the place or structure that the protocol
// provides. Each is anchored at its start: the prose of a tool is never guessed at.

// maxDetect limits how much of a text is searched, in bytes. The sentence itself is kept whole.
const maxDetect = 16 << 10

// A tool that does not exist, according to SDKs, and to servers that look their tools up themselves.
var reUnknownTool = regexp.MustCompile(`(?i)^(?:error: )?(?:` +
	`(?:unknown|unsupported|unrecognized|invalid|no such|unregistered) tool(?: name| requested| called)?:? ` + toolName +
	`|tool:? ` + toolName + ` (?:was |is |does )?` +
	`(?:not found|unknown|disabled|not exist|not available|not registered|not recognized)(?:: tool not found)?` +
	`|tool not found: ` + toolName + `|(?:there is )?no tool (?:named|called|with (?:the )?name) ` + toolName + `)[.!]?$`)

// toolName captures a name, quoted or not.
const toolName = `["'\x60]?([\w./:-]+?)["'\x60]?`

// headOf returns the part of a text that is searched.
func headOf(text string) string { return text[:min(len(text), maxDetect)] }

// What a tool has returned does not match its outputSchema, according to the SDKs and frameworks for TypeScript, Python, Go and Java,
// for servers and for clients. They reject arguments in the same words, but here the tool has run.
var reReturned = regexp.MustCompile(`^(?:Output validation error: |\d+ validation errors? for \S+Output\n|validating tool output: |` +
	`(?:Tool \S+ )?(?:structured )?output (?:schema )?validation failed: |Tool \S+ returned invalid structured content: |` +
	`Could not serialize the return value of tool \S+ for its output schema: |` +
	`Response missing structured content which is expected when calling tool with non-empty outputSchema|` +
	`Tool call result validation failed: |` +
	`Structured content does not match the tool's output schema|Failed to validate structured content|` +
	`Invalid structured content returned by tool)`)

// Detect reads a text in which an SDK rejects a call, or what a tool has returned.
func Detect(text string) (e *recourse.Error, sign string, ok bool) {
	text = strings.TrimSpace(text)
	if m := reUnknownTool.FindStringSubmatch(headOf(text)); m != nil && len(text) <= maxDetect {
		return refused(recourse.UnknownTool(strings.Join(m[1:], ""))), "text of an SDK: unknown tool", true
	}
	if reReturned.MatchString(headOf(text)) {
		return recourse.New(recourse.KindBadResponse, clean.Message(text)), "text of an SDK: result", true
	}
	if violations, sign, ok := argumentText(text); ok {
		return invalid(violations, text), sign, true
	}
	return nil, "", false
}

// refused marks a failure that is the caller's fault and was found before anything was done.
func refused(e *recourse.Error) *recourse.Error {
	return e.WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
}

// invalid returns the failure for arguments that a server has rejected. Its kind is the first of
// argumentKinds among the violations.
func invalid(violations []recourse.Violation, text string) *recourse.Error {
	return refused(recourse.New(arranged(violations), clean.Message(text)).WithViolations(violations...))
}

// argumentKinds are the kinds of violations, in order of precedence.
var argumentKinds = []recourse.Kind{
	recourse.KindMissingParam, recourse.KindInvalidType, recourse.KindInvalidValue, recourse.KindUnknownParam,
}

func ruleKind(rule string) recourse.Kind {
	switch rule {
	case ruleRequired:
		return recourse.KindMissingParam
	case ruleType:
		return recourse.KindInvalidType
	case ruleUnknown:
		return recourse.KindUnknownParam
	default:
		return recourse.KindInvalidValue
	}
}

// DetectHTTP reads the texts in which SDKs reject an unknown session, method or protocol version.
func DetectHTTP(status int, body []byte) (e *recourse.Error, sign string, ok bool) {
	if status != http.StatusNotFound && status != http.StatusBadRequest || len(body) > maxDetect {
		return nil, "", false
	}
	text := string(body)
	var message struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.UnmarshalLenient(body, &message) == nil && message.Error.Message != "" {
		text = message.Error.Message
	}
	text = strings.TrimSpace(text)
	for _, prefix := range []string{"Bad Request: ", "Not Found: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	if slices.Contains(sessionTexts, strings.ToLower(text)) {
		return recourse.New(recourse.KindUnknownSession, "").WithEffect(recourse.EffectNone), "text of an SDK: session", true
	}
	if status == http.StatusNotFound {
		return nil, "", false
	}
	if m := reUnknownMethod.FindStringSubmatch(text); m != nil {
		e = recourse.New(recourse.KindUnknownMethod, "").WithMessage("There is no method %s.", strconv.Quote(m[1]))
		return refused(e), "text of an SDK: unknown method", true
	}
	if m := reVersion.FindStringSubmatch(text); m != nil {
		e = recourse.New(recourse.KindUnsupportedVersion, "")
		if supported := reDate.FindAllString(m[1], maxVersions); len(supported) > 0 {
			e = e.WithDetail("supported", supported) // as the protocol's own data does
		}
		return refused(e), "text of an SDK: protocol version", true
	}
	return nil, "", false
}

// maxVersions limits the list of versions that is taken from a server.
const maxVersions = 16

var (
	// Go SDK, over HTTP.
	reUnknownMethod = regexp.MustCompile(`^JSON RPC not handled: "([\w$./-]{1,64})" unsupported$`)
	// All SDKs.
	reVersion = regexp.MustCompile(`^Unsupported protocol version\b(?:.{0,128}\(supported versions: ([^)]*)\))?`)
	reDate    = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)
)

// sessionTexts are sentences from the SDKs and their examples, in lower case.
var sessionTexts = []string{
	"session not found", "session terminated", "session has been terminated", "invalid session id",
	"no valid session id provided", "missing session id", "mcp-session-id header is required", "session not initialized",
	"server not initialized", "no active session", "no active session found for the given session id", "unknown session",
}
