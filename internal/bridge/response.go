package bridge

import (
	"bytes"
	"io"
	"net/http"
	"strconv"

	"github.com/recoursehq/recourse/internal/wire"
)

// respond returns an answer that the bridge gives in the server's place.
func respond(status int, text []byte) *http.Response {
	resp := head(status)
	resp.ContentLength = int64(len(text))
	if len(text) > 0 {
		resp.Header["Content-Type"] = []string{wire.TypeJSON}
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return resp
}

// respondEvents returns an answer that is the event stream body.
func respondEvents(body io.ReadCloser) *http.Response {
	resp := head(http.StatusOK)
	resp.ContentLength = -1
	resp.Header["Content-Type"] = []string{wire.TypeEventStream}
	resp.Header["Cache-Control"] = []string{"no-cache"}
	resp.Body = body
	return resp
}

func head(status int) *http.Response {
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
	}
}

// accepted is the answer to a message that has none of its own.
func accepted() *http.Response { return respond(http.StatusAccepted, nil) }

// isEvents reports whether an answer is an event stream.
func isEvents(resp *http.Response) bool {
	return resp.StatusCode == http.StatusOK && wire.IsMediaType(resp.Header.Get("Content-Type"), wire.TypeEventStream)
}
