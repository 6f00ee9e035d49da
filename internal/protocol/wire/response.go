package wire

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
)

// Respond returns an answer in place of a server's, with a JSON text or without a body.
func Respond(status int, text []byte) *http.Response {
	resp := respond(status)
	resp.ContentLength = int64(len(text))
	if len(text) == 0 {
		resp.Body = http.NoBody
		return resp
	}
	resp.Header["Content-Type"] = []string{TypeJSON}
	resp.Header["Content-Length"] = []string{strconv.Itoa(len(text))}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return resp
}

// RespondText returns an answer that is a JSON text of unknown length.
func RespondText(body io.ReadCloser) *http.Response {
	resp := respond(http.StatusOK)
	resp.Header["Content-Type"] = []string{TypeJSON}
	resp.Body = body
	return resp
}

// RespondEvents returns an answer that is an event stream.
func RespondEvents(body io.ReadCloser) *http.Response {
	resp := respond(http.StatusOK)
	resp.Header["Content-Type"] = []string{TypeEventStream}
	resp.Header["Cache-Control"] = []string{"no-cache"}
	resp.Body = body
	return resp
}

// RespondResult returns the answer to a request with a result, which is JSON.
func RespondResult(id ID, result []byte) *http.Response {
	return Respond(http.StatusOK, AppendResult(nil, id, result))
}

// RespondError returns the answer to a request with a JSON-RPC error.
func RespondError(id ID, code int, message string) *http.Response {
	return Respond(http.StatusOK, AppendError(nil, id, code, message, nil))
}

// RespondMalformed returns the answer to a text that [Parse] refused.
func RespondMalformed(id ID, err error) *http.Response {
	refusal, ok := errors.AsType[*Error](err)
	if !ok {
		refusal = &Error{Code: CodeParseError, Message: "the message cannot be read"}
	}
	return Respond(http.StatusBadRequest, AppendError(nil, id, refusal.Code, refusal.Message, nil))
}

// RespondRefusal returns an answer that says, in words, why a message is refused, and which HTTP
// methods are allowed.
func RespondRefusal(status int, why string, allowed ...string) *http.Response {
	resp := Respond(status, []byte(why))
	resp.Header["Content-Type"] = []string{"text/plain; charset=utf-8"}
	if len(allowed) > 0 {
		resp.Header["Allow"] = allowed
	}
	return resp
}

// RespondLost returns the answer to a message of an unknown session (MCP 2025-11-25, basic/transports,
// "Session Management").
func RespondLost() *http.Response { return RespondRefusal(http.StatusNotFound, "session not found") }

func respond(status int) *http.Response {
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, ContentLength: -1,
	}
}
