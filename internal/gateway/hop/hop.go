// Package hop carries a server's answer to the request at an endpoint with several servers, message by message.
//
//	the server's call  --  Hop, a front.Writer  --  wire.Answer  -->  the endpoint's call
package hop

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/front"
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

	header http.Header
	status int
	stream bool
	handed bool       // the answer has been passed on
	out    *wire.Pipe // nil: as a whole, or it has not
	text   bool       // it is a text in pieces
	fail   *recourse.Error
}

var _ front.Writer = (*Hop)(nil)

// New returns the hop of a call that cancel ends. failed returns the failure of the call when it
// starts to answer; nil: there is none.
func New(cancel context.CancelFunc, failed func() *recourse.Error) *Hop {
	return &Hop{
		cancel: cancel, failed: failed, begun: make(chan *wire.Answer, 1), ended: make(chan struct{}), header: http.Header{},
	}
}

var errBrokenOff = errors.New("the answer was broken off")

// Serve runs the call until life ends, at the latest: one whose client has gone may go on for a while. The call reports whether
// its answer broke off.
func (h *Hop) Serve(life context.Context, call func() (broken bool)) {
	defer close(h.ended)
	defer h.cancel()
	defer context.AfterFunc(life, h.cancel)()
	h.end(call())
}

// Answer waits for the answer to begin. It reports false if the call ends without one, because nobody
// waits for it.
func (h *Hop) Answer() (resp *wire.Answer, ok bool) {
	select {
	case resp = <-h.begun:
	case <-h.ended:
		select {
		case resp = <-h.begun: // as a whole, just before
		default:
		}
	}
	return resp, resp != nil
}

// end ends the answer.
func (h *Hop) end(broken bool) {
	switch {
	case h.out != nil && broken:
		h.out.End(errBrokenOff)
	case h.out != nil:
		if h.text {
			_ = h.out.Send(&wire.Part{Event: wire.Event{Complete: true, Retry: -1}}) // nobody may read it any more
		}
		h.out.End(nil)
	case h.status != 0 && !h.handed && !broken:
		h.hand(wire.Respond(h.status, nil))
	}
}

// Header implements [front.Writer].
func (h *Hop) Header() http.Header { return h.header }

// Begin implements [front.Writer].
func (h *Hop) Begin(status int, stream bool) { h.status, h.stream, h.fail = status, stream, h.failed() }

// Event implements [front.Writer]. It returns an error if nobody is reading any more.
func (h *Hop) Event(e *wire.Event, is front.Said) (int, error) {
	if is == front.Unknown { // whoever reads it finds out what is wrong with it
		bare := *e
		e, bare.Signs = &bare, nil
	}
	if !h.handed && !h.stream && e.First && e.Complete {
		var signs *wire.Signs
		if e.Signs != nil {
			own := e.Signs.Edited()
			signs = &own
		}
		resp := wire.RespondMessage(bytes.Clone(e.Data), signs)
		resp.Status = h.status
		h.hand(resp)
		return len(e.Data), nil
	}
	return h.send(&wire.Part{Event: *e, Other: is == front.Between})
}

// Write implements [front.Writer].
func (h *Hop) Write(p []byte) (int, error) {
	first := !h.handed
	if length := h.header["Content-Length"]; first && len(length) == 1 && length[0] == strconv.Itoa(len(p)) {
		h.hand(wire.Respond(h.status, bytes.Clone(p)))
		return len(p), nil
	}
	h.text = true
	return h.send(&wire.Part{Event: wire.Event{Data: p, First: first, HasData: true, Retry: -1}})
}

func (h *Hop) send(part *wire.Part) (int, error) {
	h.Flush()
	if h.out == nil {
		return 0, http.ErrContentLength
	}
	if err := h.out.Send(part); err != nil {
		return 0, err
	}
	return len(part.Data), nil
}

// Flush implements [front.Writer]: it shows the reader that the answer has begun.
func (h *Hop) Flush() {
	if h.handed || h.status == 0 {
		return
	}
	h.out = wire.NewPipe()
	resp := wire.RespondParts(h.out, h.out)
	resp.Status, resp.Stream = h.status, h.stream
	h.hand(resp)
}

func (h *Hop) hand(resp *wire.Answer) {
	h.handed = true
	resp.Header, resp.Failure = h.header, h.fail
	h.header = http.Header{} // it no longer counts
	h.begun <- resp.Until(h)
}

// Close implements [io.Closer] for the reader: it waits until the call has ended. It cancels the call unless the answer was
// passed on as a whole: such a call has only to tell its observers, and would tell them that the client has gone.
func (h *Hop) Close() error {
	if h.out != nil {
		h.cancel()
		_ = h.out.Close() // never fails
	}
	<-h.ended
	return nil
}
