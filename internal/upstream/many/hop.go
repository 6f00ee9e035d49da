package many

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A Hop carries one server's answer to the request at an endpoint with several servers: the server's
// call writes it, the endpoint reads it. An answer of known length is passed on as a whole, any other
// in pieces, and neither side runs ahead of the other.
type Hop struct {
	cancel context.CancelFunc // of the server's call
	failed func() *recourse.Error
	begun  chan *wire.Answer
	ended  chan struct{} // closed when that call has ended

	header  http.Header
	status  int
	handed  bool // the response has been passed on
	out     *io.PipeWriter
	failure *recourse.Error // of the call, once it has started to answer
}

var (
	_ http.ResponseWriter = (*Hop)(nil)
	_ http.Flusher        = (*Hop)(nil)
)

// NewHop returns the hop of a call that cancel ends. failed returns the failure of the call when it
// starts to answer; nil: there is none.
func NewHop(cancel context.CancelFunc, failed func() *recourse.Error) *Hop {
	return &Hop{
		cancel: cancel, failed: failed, begun: make(chan *wire.Answer, 1), ended: make(chan struct{}), header: http.Header{},
	}
}

var errBrokenOff = errors.New("the answer was broken off")

// Serve runs the call, which reports whether its answer broke off.
func (h *Hop) Serve(call func() (broken bool)) {
	defer close(h.ended)
	defer h.cancel()
	h.end(call())
}

// Response waits for the answer to begin. It reports false if the call ends without one, because nobody
// waits for it.
func (h *Hop) Response() (resp *wire.Answer, ok bool) {
	select {
	case resp = <-h.begun:
		return resp, true
	case <-h.ended:
		return nil, false
	}
}

// end ends the answer.
func (h *Hop) end(broken bool) {
	switch {
	case h.out != nil && broken:
		_ = h.out.CloseWithError(errBrokenOff) // never fails
	case h.out != nil:
		_ = h.out.Close() // never fails
	case h.status != 0 && !broken:
		h.hand(http.NoBody, 0)
	}
}

// Header implements [http.ResponseWriter].
func (h *Hop) Header() http.Header { return h.header }

// WriteHeader implements [http.ResponseWriter].
func (h *Hop) WriteHeader(status int) {
	h.status = status
	h.failure = h.failed()
}

// Write implements [http.ResponseWriter]. It returns an error if nobody is reading any more.
func (h *Hop) Write(p []byte) (int, error) {
	if !h.handed {
		if length := h.header["Content-Length"]; len(length) == 1 && length[0] == strconv.Itoa(len(p)) {
			h.hand(io.NopCloser(bytes.NewReader(bytes.Clone(p))), int64(len(p)))
			return len(p), nil
		}
		h.Flush()
	}
	if h.out == nil {
		return 0, fmt.Errorf("more than %v bytes: %w", h.header["Content-Length"], http.ErrContentLength)
	}
	return h.out.Write(p)
}

// Flush implements [http.Flusher]: it shows the reader that the answer has begun.
func (h *Hop) Flush() {
	if h.handed || h.status == 0 {
		return
	}
	r, w := io.Pipe()
	h.out = w
	h.hand(r, -1)
}

func (h *Hop) hand(body io.ReadCloser, length int64) {
	h.handed = true
	resp := wire.RespondText(&hopBody{ReadCloser: body, h: h})
	resp.Status, resp.Header, resp.Stream = h.status, h.header.Clone(), isEvents(h.status, h.header)
	resp.Length, resp.Failure = length, h.failure
	h.begun <- resp
}

func isEvents(status int, header http.Header) bool {
	return wire.IsEvents(&http.Response{StatusCode: status, Header: header})
}

// hopBody is the body of an answer that comes through a hop.
type hopBody struct {
	io.ReadCloser

	h *Hop
}

// Close waits until the call has ended. It cancels the call unless the answer was passed on as a whole: such a call has
// only to tell its observers, and would tell them that the client has gone.
func (b *hopBody) Close() error {
	if b.h.out != nil {
		b.h.cancel()
	}
	err := b.ReadCloser.Close()
	<-b.h.ended
	return err
}
