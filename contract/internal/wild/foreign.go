package wild

import (
	"cmp"
	"regexp"
	"strconv"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// foreign holds the members that the error objects of many systems share.
type foreign struct {
	message, failure *json.Node // the failure may be the object that holds the rest
	code, errorCode  *json.Node
	retryable        *bool
	retryAfter       time.Duration
	status           int
	requestID        string
}

// ReadObject reads an error object. Without a message or a status that says what happened, ok is false.
func ReadObject(n *json.Node) (e *recourse.Error, ok bool) {
	f, ok := parseForeign(n)
	if !ok {
		return nil, false
	}
	e = recourse.New(recourse.KindUnknown, sentence(n))
	f.apply(e)
	return e, e.Message != "" || e.Upstream.Status != 0
}

// reLeadingStatus is a status before a sentence: "404: no such thing", "[404] no such thing".
var reLeadingStatus = regexp.MustCompile(`^(?:\[([45]\d\d)\]|([45]\d\d):) `)

// ReadStatus reads a sentence that begins with a status.
func ReadStatus(text string) (e *recourse.Error, ok bool) {
	m := reLeadingStatus.FindStringSubmatch(text)
	if m == nil {
		return nil, false
	}
	e = recourse.New(recourse.KindUnknown, clean.Message(text))
	status, _ := strconv.Atoi(m[1] + m[2])
	(&foreign{status: status}).apply(e)
	return e, true
}

// AddObject adds to e what an error object says, and returns its sentence. If e has no kind, the status decides it.
func AddObject(e *recourse.Error, n *json.Node) (said string) {
	f, ok := parseForeign(n)
	if !ok {
		return ""
	}
	f.apply(e)
	return sentence(n)
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
		message: n.Member("message"), failure: n.Member(errorMember),
		code: n.Member("code"), errorCode: n.Member("errorCode"),
	}
	if raw := n.RawMember("retryable"); raw.Kind() == 't' || raw.Kind() == 'f' {
		retryable := raw.Kind() == 't'
		f.retryable = &retryable
	}
	f.retryAfter = WaitIn(n)
	if id := n.Member("requestId"); id != nil {
		f.requestID, _ = id.Text()
	}
	f.status = cmp.Or(statusIn(n, statusMembers...), statusInDetails(n.Member("details")), statusIn(n, codeMembers...))
	return f, true
}

// statusMembers hold the HTTP status of the other side, and so do codeMembers if they hold a number that is one.
var (
	statusMembers = []string{"status", "statusCode", "status_code", "httpStatus", "http_status"}
	codeMembers   = []string{"code", "errorCode", "error_code", errorMember}
)

// statusIn returns the first of the members that is the status of a failure, as a number or a text; 0 if none is.
func statusIn(n *json.Node, names ...string) int {
	for _, name := range names {
		member := n.Member(name)
		if member == nil || len(member.Raw) > len(`"404"`) {
			continue
		}
		if status, err := strconv.Atoi(member.Plain()); err == nil && isFailure(status) {
			return status
		}
	}
	return 0
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

// WaitIn returns the wait that one of the members of an error object states; 0 if none does.
func WaitIn(n *json.Node) time.Duration {
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

func isFailure(status int) bool { return status >= 400 && status <= 599 }
