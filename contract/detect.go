package contract

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/rpccode"
)

// Texts that the common SDKs write themselves instead of using the place or structure that the protocol
// provides. Each is anchored at its start: the prose of a tool is never guessed at.

const (
	// maxDetect limits how much of a text is searched, in bytes. The sentence itself is kept whole.
	maxDetect = 16 << 10
	// maxWraps limits how many layers of runtime prefixes are removed.
	maxWraps = 4
)

// A tool that does not exist, according to the TypeScript SDK, the Go SDK, mcp-go and the Python SDK.
var reUnknownTool = regexp.MustCompile(`^(?:Tool (\S+) (?:not found|disabled)` +
	`|unknown tool:? "?([^"\s]+)"?` +
	`|Unknown tool: '?([^'\s]+)'?` +
	`|tool '([^']+)' not found(?:: tool not found)?)$`)

// headOf returns the part of a text that is searched.
func headOf(text string) string { return text[:min(len(text), maxDetect)] }

// detect reads a text in which an SDK rejects a call.
func detect(text string) (e *recourse.Error, sign string, ok bool) {
	text = strings.TrimSpace(text)
	if m := reUnknownTool.FindStringSubmatch(headOf(text)); m != nil && len(text) <= maxDetect {
		return refused(recourse.UnknownTool(m[1] + m[2] + m[3] + m[4])), "text of an SDK: unknown tool", true
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
	return refused(recourse.New(kindOfViolations(violations), clean.Message(text)).WithViolations(violations...))
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

// detectHTTP reads the texts in which SDKs reject an unknown session, method or protocol version.
func detectHTTP(status int, body []byte) (e *recourse.Error, sign string, ok bool) {
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

// foreign holds the members that the error objects of many systems share.
type foreign struct {
	message, detail, title, failure *json.Node // where the sentence may be; detail and title are from RFC 9457
	code, errorCode                 *json.Node
	retryable                       *bool
	retryAfter                      time.Duration
	status                          int
	requestID                       string
}

// readForeign reads an error object that is not in any contract's form. Without a message, ok is false.
func readForeign(n *json.Node) (*recourse.Error, bool) {
	f, ok := parseForeign(n)
	if !ok {
		return nil, false
	}
	message := f.sentence()
	e := recourse.New(recourse.KindUnknown, message)
	f.apply(e)
	return e, message != ""
}

// sentence returns the sentence of an error object, shortened if need be; "" if there is none.
func (f *foreign) sentence() string {
	for _, member := range []*json.Node{f.message, f.detail, f.failure, f.title} {
		if member == nil {
			continue
		}
		if text, ok := member.Text(); ok && text != "" {
			return clean.Message(text)
		}
	}
	return ""
}

// parseForeign reads an error object, or the one inside {"error":{...}}.
func parseForeign(n *json.Node) (foreign, bool) {
	f, ok := parseObject(n)
	if ok && f.failure != nil && f.failure.Raw.Kind() == '{' && f.message == nil {
		status := f.status
		f, ok = parseObject(f.failure)
		f.status = cmp.Or(f.status, status)
	}
	return f, ok
}

// parseObject reads an object. A member of an unexpected type does not hide the others.
func parseObject(n *json.Node) (foreign, bool) {
	if n.Raw.Kind() != '{' {
		return foreign{}, false
	}
	f := foreign{
		message: n.Member("message"), detail: n.Member("detail"), title: n.Member("title"), failure: n.Member("error"),
		code: n.Member("code"), errorCode: n.Member("errorCode"),
		status: numberIn(n, "status"),
	}
	if raw := n.RawMember("retryable"); raw.Kind() == 't' || raw.Kind() == 'f' {
		retryable := raw.Kind() == 't'
		f.retryable = &retryable
	}
	f.retryAfter = statedWait(n)
	if id := n.Member("requestId"); id != nil {
		f.requestID, _ = id.Text()
	}
	f.status = cmp.Or(f.status, statusInDetails(n.Member("details")), numberIn(n, "statusCode"), numberIn(n, "httpStatus"))
	return f, true
}

// statusInDetails returns the status in the details of an error object, unless they hold something of an
// unexpected type.
func statusInDetails(n *json.Node) int {
	if n == nil || n.Member("status") == nil && n.Member("statusCode") == nil {
		return 0
	}
	var details struct {
		Retryable    *bool    `json:"retryable"`
		RetryAfterMs *float64 `json:"retryAfterMs"`
		RetryAfter   *float64 `json:"retryAfter"`
		RetryAfterS  *float64 `json:"retry_after"`
		Status       int      `json:"status"`
		StatusCode   int      `json:"statusCode"`
		HTTPStatus   int      `json:"httpStatus"`
		RequestID    string   `json:"requestId"`
	}
	if json.UnmarshalLenient(n.Raw, &details) != nil {
		return 0
	}
	return cmp.Or(details.Status, details.StatusCode)
}

// numberIn returns a member that is a whole number, or 0.
func numberIn(n *json.Node, name string) int {
	var number int
	if raw := n.RawMember(name); raw.Kind() != '0' || json.UnmarshalLenient(raw, &number) != nil {
		return 0
	}
	return number
}

// statedWait returns the wait that one of the members of an error object states.
func statedWait(n *json.Node) time.Duration {
	for _, member := range []struct {
		name string
		unit float64 // in seconds
	}{{"retryAfterMs", 1000}, {"retryAfter", 1}, {"retry_after", 1}} {
		var number float64
		if raw := n.RawMember(member.name); raw.Kind() == '0' && json.UnmarshalLenient(raw, &number) == nil {
			return clean.Wait(number / member.unit)
		}
	}
	return 0
}

// apply adds to e what f says. If e has no kind, the status decides it.
func (f *foreign) apply(e *recourse.Error) {
	if isFailure(f.status) {
		status := recourse.FromStatus(e.Provider, f.status)
		if e.Kind == recourse.KindUnknown || e.Kind == recourse.KindInternal {
			e.Kind, e.Effect = status.Kind, status.Effect
		}
		e.Upstream.Status = f.status
	}
	for _, code := range []*json.Node{f.errorCode, f.code} {
		if e.Upstream.Code == "" && code != nil && len(code.Raw) <= clean.MaxCode {
			e.Upstream.Code = code.Plain()
		}
	}
	if f.retryable != nil {
		language.SayRetryable(e, *f.retryable)
	}
	e.RetryAfter = max(e.RetryAfter, f.retryAfter) // a wait is a minimum
	if e.RequestID == "" {
		e.RequestID = f.requestID
	}
}

// fromRPC turns a JSON-RPC error into a record; plain says that only its code tells us the kind. The server's
// own data is kept in the details.
func (r *Reader) fromRPC(code, message string, data *json.Node) (e *recourse.Error, plain bool) {
	e, plain = r.rpcKind(code, message, data)
	if f, ok := parseForeign(data); ok {
		f.apply(e)
	}
	if e.Upstream.Code == "" {
		e.Upstream.Code = code
	}
	if raw, ok := clean.Raw(data.Raw); ok && raw.Kind() != 'n' {
		e = e.WithDetail("data", raw)
	}
	return e, plain
}

// rpcKind returns the kind of a JSON-RPC error: from its content if the code is one that SDKs use for
// everything, otherwise from the code.
func (r *Reader) rpcKind(code, message string, data *json.Node) (e *recourse.Error, plain bool) {
	number, err := strconv.Atoi(code)
	kind, ok := rpccode.Kinds[number]
	if err != nil {
		kind, ok = "", false
	}
	if !ok || rpccode.Vague(number) {
		said := answer{text: message}
		if kind := data.Raw.Kind(); kind == '{' || kind == '[' {
			said.objects = []*json.Node{data}
		}
		known, _, recognized := r.recognized(last(r.peeled(said)))
		if recognized && (kind.Class() != recourse.ClassInput || known.Kind == recourse.KindUnknownTool || len(known.Violations) > 0) {
			known.Message = cmp.Or(known.Message, clean.Message(message))
			return known, false
		}
	}
	e = recourse.New(recourse.KindUnknown, clean.Message(message))
	if !ok {
		return e, true
	}
	e.Kind = kind
	if kind.Class() == recourse.ClassProtocol || kind.Class() == recourse.ClassInput {
		e.Effect = recourse.EffectNone // the server says that it did not run the call
	}
	return e, true
}
