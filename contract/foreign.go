package contract

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// foreign are the members by which error objects of many makers say the same
// things.
type foreign struct {
	Code         json.Value      `json:"code"`
	ErrorCode    json.Value      `json:"errorCode"`
	Message      json.Value      `json:"message"`
	Error        json.Value      `json:"error"`
	Retryable    *bool           `json:"retryable"`
	RetryAfterMs *float64        `json:"retryAfterMs"`
	RetryAfter   *float64        `json:"retryAfter"`
	RetryAfterS  *float64        `json:"retry_after"`
	Status       int             `json:"status"`
	StatusCode   int             `json:"statusCode"`
	HTTPStatus   int             `json:"httpStatus"`
	RequestID    string          `json:"requestId"`
	Details      json.Value      `json:"details"`
	Supported    json.Value      `json:"supported"`
	record       *recourse.Error // when the object is the record itself
}

// readForeign reads an error object that is in no contract's form. It has to have
// a message.
func readForeign(raw json.Value) (*recourse.Error, bool) {
	f, ok := parseForeign(raw)
	if !ok {
		return nil, false
	}
	message, ok := textValue(f.Message)
	if !ok {
		if message, ok = textValue(f.Error); !ok {
			return nil, false
		}
	}
	return f.apply(recourse.New(recourse.KindUnknown, cut(message))), true
}

func parseForeign(raw json.Value) (foreign, bool) {
	var f foreign
	if len(raw) == 0 || raw[0] != '{' {
		return f, false
	}
	// One member of an unexpected type must not hide the others.
	for name, value := range members(raw) {
		one := append(append(json.AppendQuote([]byte{'{'}, name), ':'), value...)
		_ = json.UnmarshalLenient(append(one, '}'), &f) //nolint:errcheck // see above
	}
	var inner foreign
	if len(f.Details) > 0 && f.Details[0] == '{' && json.UnmarshalLenient(f.Details, &inner) == nil {
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
		if f.Retryable != nil && *f.Retryable != (c.RetryAdvice() == recourse.RetrySameCall) {
			c.Retry = recourse.RetryNever
			if *f.Retryable {
				c.Retry = recourse.RetrySameCall
			}
		}
		for _, w := range []struct {
			value *float64
			unit  float64
		}{{f.RetryAfterMs, 1000}, {f.RetryAfter, 1}, {f.RetryAfterS, 1}} {
			if w.value != nil && c.After == 0 {
				c.After = wait(*w.value / w.unit)
			}
		}
		if c.RequestID == "" {
			c.RequestID = f.RequestID
		}
	})
}

// fromRPC turns a JSON-RPC error into a record. Data of the server's own is kept
// in the details.
func fromRPC(code, message string, data json.Value) *recourse.Error {
	e := rpcKind(code, message)
	if f, ok := parseForeign(data); ok {
		e = f.apply(e)
	}
	if e.Upstream.Code == "" {
		e.Upstream.Code = code
	}
	if len(data) > 0 && !bytes.Equal(data, []byte("null")) {
		e = e.WithDetail("data", data)
	}
	return e
}

// rpcKind gives a JSON-RPC error its kind: from the SDKs' texts where the code is
// one that they use for everything, else from the code.
func rpcKind(code, message string) *recourse.Error {
	e := recourse.New(recourse.KindUnknown, cut(message))
	number, err := strconv.Atoi(code)
	if err != nil {
		return e
	}
	if number == -32602 || number == -32603 || number == 0 {
		if known, _, ok := detect(message); ok {
			return known
		}
	}
	kinds := map[int]recourse.Kind{
		-32700: recourse.KindMalformed, -32600: recourse.KindInvalidRequest, -32601: recourse.KindUnknownMethod,
		-32602: recourse.KindInvalidValue, -32603: recourse.KindInternal,
		-32002: recourse.KindNotFound, // of a resource, before 2026-07-28
		-32020: recourse.KindHeaderMismatch, -32021: recourse.KindMissingCapability, -32022: recourse.KindUnsupportedVersion,
	}
	kind, ok := kinds[number]
	if !ok {
		if known, _, detected := detect(message); detected {
			return known
		}
		return e
	}
	e.Kind = kind
	if kind.Class() == recourse.ClassProtocol || kind.Class() == recourse.ClassInput {
		e.Effect = recourse.EffectNone // the server says that it did not carry it out
	}
	return e
}

func textValue(raw json.Value) (string, bool) {
	var text string
	if len(raw) == 0 || raw[0] != '"' || json.UnmarshalLenient(raw, &text) != nil {
		return "", false
	}
	return text, true
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

func appendInt(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }

func readCloser(body []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) }

func trimmed(body []byte) string { return strings.TrimSpace(string(body)) }
