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
// and what the server says. A [MessageReader] reads that message by message, and Read as it goes to HTTP clients.
type Answer struct {
	Status int
	Header http.Header // may be nil
	Stream bool        // other messages may come before the one that answers, or in place of it
	Length int64       // of the body, in bytes; 0 or less if it is not known or there is none

	// Failure is why the call that another part of this program has made for it has failed; nil: it is the server's
	// own, or no failure.
	Failure *recourse.Error
	// Unknown says that the server does not know the session of its own that the request named, and so did nothing.
	Unknown bool

	http  bool      // it came over HTTP
	end   io.Closer // nil: there is nothing to end
	body  io.Reader // a text or an event stream; nil: there are parts
	parts Parts
	text  []byte // what Read has not returned yet of them
	room  []byte // the memory of text
}

// Parts are what a server says, if it does not come as a text or an event stream.
type Parts interface {
	// Next returns the next message, or piece of one; it is valid until the next call. Those that have been scanned
	// have Signs. The error is as that of [MessageReader.Next].
	Next() (*Part, error)
}

// OverHTTP returns an answer that came over HTTP, with its body.
func OverHTTP(resp *http.Response) *Answer {
	return &Answer{
		Status: resp.StatusCode, Header: resp.Header, Stream: IsEvents(resp), Length: resp.ContentLength,
		http: true, end: resp.Body, body: resp.Body,
	}
}

// IsEvents reports whether an answer over HTTP is an event stream.
func IsEvents(resp *http.Response) bool {
	return resp.StatusCode == http.StatusOK && IsMediaType(resp.Header.Get("Content-Type"), TypeEventStream)
}

// Until returns the answer, whose Close calls that of end.
func (r *Answer) Until(end io.Closer) *Answer {
	r.end = end
	return r
}

// Close ends the answer, even while it is being read.
func (r *Answer) Close() error {
	if r.end == nil {
		return nil
	}
	return r.end.Close()
}

// ContentType returns the type that the server states, or, of what did not come over HTTP, that of its form.
func (r *Answer) ContentType() string {
	switch {
	case r.http || r.Header["Content-Type"] != nil || r.Status != http.StatusOK:
		return r.Header.Get("Content-Type")
	case r.Stream:
		return TypeEventStream
	default:
		return TypeJSON
	}
}

// Read implements [io.Reader]: it returns the answer in the form that it has over HTTP.
func (r *Answer) Read(p []byte) (int, error) {
	if r.body != nil {
		return r.body.Read(p)
	}
	for len(r.text) == 0 {
		part, err := r.parts.Next()
		switch {
		case err != nil:
			return 0, err
		case r.Stream:
			r.room = part.AppendTo(r.room[:0])
			r.text = r.room
		default:
			r.text = part.Data
		}
	}
	n := copy(p, r.text)
	r.text = r.text[n:]
	return n, nil
}

// Peek returns the beginning of an answer, up to limit bytes, which can still be read from it.
func (r *Answer) Peek(limit int64) ([]byte, error) {
	if r.parts != nil {
		part, err := r.parts.Next()
		r.parts = &peeked{Parts: r.parts, part: part, err: err}
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, err
		case part.Complete || r.Stream:
			return part.Data[:min(int64(len(part.Data)), limit)], nil
		}
	}
	from := *r
	text, err := io.ReadAll(io.LimitReader(&from, limit))
	r.parts, r.body = nil, io.MultiReader(bytes.NewReader(text), failing{err}, &from)
	return text, err
}

// failing is a reader that returns an error, or ends if there is none.
type failing struct{ error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, cmp.Or(f.error, io.EOF) }

// peeked are parts of which the first one has been read already.
type peeked struct {
	Parts

	part *Part
	err  error
}

// Next implements [Parts].
func (p *peeked) Next() (part *Part, err error) {
	if part, err = p.part, p.err; part == nil && err == nil {
		return p.Parts.Next()
	}
	p.part, p.err = nil, nil
	return part, err
}

// answered is an answer of one message.
type answered struct {
	Answer

	part Part
	read bool
}

// Next implements [Parts].
func (m *answered) Next() (*Part, error) {
	if m.read {
		return nil, io.EOF
	}
	m.read = true
	return &m.part, nil
}

// RespondMessage returns an answer with status 200 that is one message, as scanned: with signs, which belong to it
// from then on, or nil if nothing has scanned it.
func RespondMessage(text []byte, signs *Signs) *Answer {
	m := &answered{Answer: Answer{Status: http.StatusOK, Length: int64(len(text))}, part: Whole(text)}
	m.part.Signs, m.parts = signs, m
	return &m.Answer
}

// RespondParts returns an answer with status 200 that is made up of parts. end may be called while Next waits.
func RespondParts(parts Parts, end io.Closer) *Answer {
	return &Answer{Status: http.StatusOK, Stream: true, Length: -1, end: end, parts: parts}
}

// Respond returns an answer in place of a server's, with a JSON text or without a body.
func Respond(status int, text []byte) *Answer {
	switch {
	case len(text) == 0:
		return &Answer{Status: status, body: http.NoBody}
	case status == http.StatusOK:
		return RespondMessage(text, nil)
	default:
		return respond(status, text, TypeJSON)
	}
}

func respond(status int, text []byte, contentType string) *Answer {
	return &Answer{
		Status: status, Header: http.Header{"Content-Type": {contentType}}, Length: int64(len(text)),
		body: bytes.NewReader(text),
	}
}

// RespondText returns an answer that is a JSON text of unknown length.
func RespondText(body io.ReadCloser) *Answer {
	return &Answer{Status: http.StatusOK, Length: -1, end: body, body: body}
}

// RespondResult returns the answer to a request with a result, which is JSON.
func RespondResult(id ID, result []byte) *Answer {
	return RespondMessage(AppendResult(nil, id, result), nil)
}

// RespondError returns the answer to a request with a JSON-RPC error.
func RespondError(id ID, code int, message string) *Answer {
	return RespondMessage(AppendError(nil, id, code, message, nil), nil)
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
	resp := respond(status, []byte(why), "text/plain; charset=utf-8")
	if len(allowed) > 0 {
		resp.Header["Allow"] = allowed
	}
	return resp
}

// RespondLost returns the answer to a message of an unknown session (MCP 2025-11-25, basic/transports,
// "Session Management").
func RespondLost() *Answer { return RespondRefusal(http.StatusNotFound, "session not found") }
