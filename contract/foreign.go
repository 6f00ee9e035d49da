package contract

import (
	"strconv"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/rpccode"
)

// foreign are the members by which error objects of many makers say the same
// things.
type foreign struct {
	Code         json.Value `json:"code"`
	ErrorCode    json.Value `json:"errorCode"`
	Message      json.Value `json:"message"`
	Detail       json.Value `json:"detail"` // RFC 9457
	Title        json.Value `json:"title"`
	Error        json.Value `json:"error"`
	Retryable    *bool      `json:"retryable"`
	RetryAfterMs *float64   `json:"retryAfterMs"`
	RetryAfter   *float64   `json:"retryAfter"`
	RetryAfterS  *float64   `json:"retry_after"`
	Status       int        `json:"status"`
	StatusCode   int        `json:"statusCode"`
	HTTPStatus   int        `json:"httpStatus"`
	RequestID    string     `json:"requestId"`
	Details      json.Value `json:"details"`
}

// readForeign reads an error object that is in no contract's form. It has to have
// a message.
func readForeign(raw json.Value) (*recourse.Error, bool) {
	f, ok := parseForeign(raw)
	if !ok {
		return nil, false
	}
	message := f.message()
	return f.apply(recourse.New(recourse.KindUnknown, message)), message != ""
}

// message returns the sentence of an error object, bounded; "" where it has none.
func (f *foreign) message() string {
	for _, raw := range []json.Value{f.Message, f.Detail, f.Error, f.Title} {
		if text, ok := textValue(raw); ok && text != "" {
			return cut(text)
		}
	}
	return ""
}

// parseForeign reads an error object, or the one inside {"error":{...}}.
func parseForeign(raw json.Value) (foreign, bool) {
	f, ok := parseObject(raw)
	if ok && f.Error.Kind() == '{' && f.Message == nil {
		status := f.Status
		f, ok = parseObject(f.Error)
		f.Status = first(f.Status, status)
	}
	return f, ok
}

func parseObject(raw json.Value) (foreign, bool) {
	var f foreign
	if raw.Kind() != '{' {
		return f, false
	}
	// Each member is read alone: one of an unexpected type must not hide the others.
	for _, m := range json.MembersOf(raw) {
		one := append(append(json.AppendQuote([]byte{'{'}, m.Name), ':'), m.Value...)
		if f2 := f; json.UnmarshalLenient(append(one, '}'), &f2) == nil {
			f = f2
		}
	}
	var inner foreign
	if f.Details.Kind() == '{' && json.UnmarshalLenient(f.Details, &inner) == nil {
		f.Status = first(f.Status, inner.Status, inner.StatusCode)
	}
	f.Status = first(f.Status, f.StatusCode, f.HTTPStatus)
	return f, true
}

// apply adds to e what f says. A status gives the kind where e has none.
func (f *foreign) apply(e *recourse.Error) *recourse.Error {
	return e.With(func(c *recourse.Error) {
		if f.Status >= 400 && f.Status <= 599 {
			status := recourse.FromStatus(c.Provider, f.Status)
			if c.Kind == recourse.KindUnknown || c.Kind == recourse.KindInternal {
				c.Kind, c.Effect = status.Kind, status.Effect
			}
			c.Upstream.Status = f.Status
		}
		for _, raw := range []json.Value{f.ErrorCode, f.Code} {
			if c.Upstream.Code == "" && len(raw) > 0 && len(raw) <= 128 {
				c.Upstream.Code = plainText(raw)
			}
		}
		if f.Retryable != nil {
			sayRetryable(c, *f.Retryable)
		}
		switch { // a wait is a minimum
		case f.RetryAfterMs != nil:
			c.RetryAfter = max(c.RetryAfter, wait(*f.RetryAfterMs/1000))
		case f.RetryAfter != nil:
			c.RetryAfter = max(c.RetryAfter, wait(*f.RetryAfter))
		case f.RetryAfterS != nil:
			c.RetryAfter = max(c.RetryAfter, wait(*f.RetryAfterS))
		}
		if c.RequestID == "" {
			c.RequestID = f.RequestID
		}
	})
}

// sayRetryable states what the wire's boolean says. That there is no way says less
// than a kind that names one.
func sayRetryable(e *recourse.Error, retryable bool) {
	switch {
	case retryable:
		e.Retry = recourse.RetrySameCall
	case e.Kind.Retry() == recourse.RetrySameCall:
		e.Retry = recourse.RetryNever
	}
}

// fromRPC turns a JSON-RPC error into a record; plain says that only its code tells
// the kind. Data of the server's own is kept in the details.
func fromRPC(code, message string, data json.Value) (e *recourse.Error, plain bool) {
	e, plain = rpcKind(code, message)
	if f, ok := parseForeign(data); ok {
		e = f.apply(e)
	}
	if e.Upstream.Code == "" {
		e.Upstream.Code = code
	}
	if clean, ok := cleanRaw(data); ok && clean.Kind() != 'n' {
		e = e.WithDetail("data", clean)
	}
	return e, plain
}

// rpcKind gives a JSON-RPC error its kind: from the SDKs' texts where the code is
// one that they use for everything, else from the code.
func rpcKind(code, message string) (e *recourse.Error, plain bool) {
	number, err := strconv.Atoi(code)
	kind, ok := rpccode.Kinds[number]
	if err != nil {
		kind, ok = "", false
	}
	if !ok || rpccode.Vague(number) {
		if known, _, detected := detect(message); detected {
			return known, false
		}
	}
	e = recourse.New(recourse.KindUnknown, cut(message))
	if !ok {
		return e, true
	}
	e.Kind = kind
	if kind.Class() == recourse.ClassProtocol || kind.Class() == recourse.ClassInput {
		e.Effect = recourse.EffectNone // the server says that it did not carry it out
	}
	return e, true
}

// textValue returns the text of a JSON string.
func textValue(raw json.Value) (text string, ok bool) {
	if raw.Kind() != '"' {
		return "", false
	}
	err := json.UnmarshalLenient(raw, &text)
	return text, err == nil
}

// plainText returns a string's text, and anything else as it is spelled.
func plainText(raw json.Value) string {
	if text, ok := textValue(raw); ok {
		return text
	}
	return string(raw)
}

func first(numbers ...int) int {
	for _, n := range numbers {
		if n != 0 {
			return n
		}
	}
	return 0
}
