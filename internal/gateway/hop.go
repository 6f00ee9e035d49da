package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync/atomic"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/many"
)

// A hop takes the answer of a nested call to the call that it is made for: what one writes, the other reads. An
// answer of known length goes over as a whole, any other in pieces, and neither side is ahead of the other.
type hop struct {
	cancel context.CancelFunc // of the nested call
	begun  chan *http.Response
	ended  chan struct{} // closed when the nested call has

	call    *call // until it has ended
	header  http.Header
	status  int
	handed  bool // the response has been
	out     *io.PipeWriter
	failure atomic.Pointer[recourse.Error] // of the call, once it has begun to answer
}

var (
	_ http.ResponseWriter = (*hop)(nil)
	_ http.Flusher        = (*hop)(nil)
)

func newHop(cancel context.CancelFunc) *hop {
	return &hop{cancel: cancel, begun: make(chan *http.Response, 1), ended: make(chan struct{}), header: http.Header{}}
}

var errBrokenOff = errors.New("the answer was broken off")

// serve has the nested call take its way.
func (h *hop) serve(c *call) {
	defer close(h.ended)
	defer h.cancel()
	h.call = c
	broken := true
	defer func() {
		if fault := recover(); fault != nil {
			c.g.log.Error("panic",
				slog.String("request_id", c.req.id), slog.Any("cause", fault), slog.String("stack", string(debug.Stack())))
		} else {
			c.release()
		}
		h.end(broken)
	}()
	_ = c.table.nested(c) // the client has been told
	broken = c.reply.broken
}

// end ends the answer.
func (h *hop) end(broken bool) {
	h.call = nil
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
func (h *hop) Header() http.Header { return h.header }

// WriteHeader implements [http.ResponseWriter].
func (h *hop) WriteHeader(status int) {
	h.status = status
	h.failure.Store(h.call.out.record)
}

// Write implements [http.ResponseWriter]. It returns an error when nobody reads any more.
func (h *hop) Write(p []byte) (int, error) {
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

// Flush implements [http.Flusher]: who waits for the answer knows that it has begun.
func (h *hop) Flush() {
	if h.handed || h.status == 0 {
		return
	}
	r, w := io.Pipe()
	h.out = w
	h.hand(r, -1)
}

func (h *hop) hand(body io.ReadCloser, length int64) {
	h.handed = true
	h.begun <- &http.Response{
		Status: strconv.Itoa(h.status) + " " + http.StatusText(h.status), StatusCode: h.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h.header.Clone(), ContentLength: length,
		Body: &hopBody{ReadCloser: body, h: h},
	}
}

// hopBody is the body of an answer that comes over a hop.
type hopBody struct {
	io.ReadCloser

	h *hop
}

var _ many.Failing = (*hopBody)(nil)

// Failure returns what has failed; nil: nothing, as far as is known when the answer begins.
func (b *hopBody) Failure() *recourse.Error { return b.h.failure.Load() }

// Close ends the nested call, and waits for the end.
func (b *hopBody) Close() error {
	b.h.cancel()
	err := b.ReadCloser.Close()
	<-b.h.ended
	return err
}
