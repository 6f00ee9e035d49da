package wire

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"

	"github.com/recoursehq/recourse"
)

// An Answer is a server's answer to a message: a status and header fields as in HTTP, whatever it came over,
// and a body.
type Answer struct {
	Status int
	Header http.Header   // may be nil
	Stream bool          // it is an event stream, and not one JSON text
	Length int64         // of the body; 0 or less if it is not known or there is none
	Body   io.ReadCloser // never nil

	// Failure is why the call that another part of this program has made for it has failed; nil: it is the server's
	// own, or no failure.
	Failure *recourse.Error
}

// OverHTTP returns an answer that came over HTTP, with its body.
func OverHTTP(resp *http.Response) *Answer {
	return &Answer{
		Status: resp.StatusCode, Header: resp.Header, Stream: IsEvents(resp), Length: resp.ContentLength, Body: resp.Body,
	}
}

// IsEvents reports whether an answer over HTTP is an event stream.
func IsEvents(resp *http.Response) bool {
	return resp.StatusCode == http.StatusOK && IsMediaType(resp.Header.Get("Content-Type"), TypeEventStream)
}

// Close closes the body.
func (r *Answer) Close() error { return r.Body.Close() }

// Peek returns the beginning of an answer, up to limit bytes, which can still be read from its body.
func (r *Answer) Peek(limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r.Body, limit))
	rest := r.Body
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), failing{err}, rest), rest}
	return text, err
}

// failing is a reader that returns an error, or ends if there is none.
type failing struct{ error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, cmp.Or(f.error, io.EOF) }

// Respond returns an answer in place of a server's, with a JSON text or without a body.
func Respond(status int, text []byte) *Answer {
	resp := &Answer{Status: status, Header: http.Header{}, Length: int64(len(text)), Body: http.NoBody}
	if len(text) > 0 {
		resp.Header["Content-Type"] = []string{TypeJSON}
		resp.Body = io.NopCloser(bytes.NewReader(text))
	}
	return resp
}

// RespondText returns an answer that is a JSON text of unknown length.
func RespondText(body io.ReadCloser) *Answer {
	return &Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {TypeJSON}}, Length: -1, Body: body}
}

// RespondEvents returns an answer that is an event stream.
func RespondEvents(body io.ReadCloser) *Answer {
	header := http.Header{"Content-Type": {TypeEventStream}, "Cache-Control": {"no-cache"}}
	return &Answer{Status: http.StatusOK, Header: header, Stream: true, Length: -1, Body: body}
}

// RespondResult returns the answer to a request with a result, which is JSON.
func RespondResult(id ID, result []byte) *Answer {
	return Respond(http.StatusOK, AppendResult(nil, id, result))
}

// RespondError returns the answer to a request with a JSON-RPC error.
func RespondError(id ID, code int, message string) *Answer {
	return Respond(http.StatusOK, AppendError(nil, id, code, message, nil))
}

// RespondMalformed returns the answer to a text that [Parse] refused.
func RespondMalformed(id ID, err error) *Answer {
	refusal, ok := errors.AsType[*Error](err)
	if !ok {
		refusal = &Error{Code: CodeParseError, Message: "the message cannot be read"}
	}
	return Respond(http.StatusBadRequest, AppendError(nil, id, refusal.Code, refusal.Message, nil))
}

// RespondRefusal returns an answer that says, in words, why a message is refused, and which HTTP
// methods are allowed.
func RespondRefusal(status int, why string, allowed ...string) *Answer {
	resp := Respond(status, []byte(why))
	resp.Header["Content-Type"] = []string{"text/plain; charset=utf-8"}
	if len(allowed) > 0 {
		resp.Header["Allow"] = allowed
	}
	return resp
}

// RespondLost returns the answer to a message of an unknown session (MCP 2025-11-25, basic/transports,
// "Session Management").
func RespondLost() *Answer { return RespondRefusal(http.StatusNotFound, "session not found") }
