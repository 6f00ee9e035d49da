package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/strictyaml"
	"github.com/recoursehq/recourse/internal/wire"
)

// answer deals with an answer that is one JSON text. It is read up to the decision
// window; if it ends there, it is passed on or translated. A larger one flows
// through and is checked as it passes. It returns the failure of the transport.
func (x *exchange) answer(resp *http.Response) *recourse.Error {
	x.scan.Reset()
	x.window = x.window[:0]
	whole, err := x.fill(resp, x.table.config.DecideWithin)
	if err == nil && !whole && !x.s.observes() && x.beginsFailed(x.window) {
		return x.large(resp)
	}
	switch {
	case err != nil && x.s.observes():
		x.begin(resp)
		_ = x.put(x.window) // the client has gone: then nobody sees the rest either
		x.abort(x.s.up.Broken(x.ctx, err))
	case err != nil && x.scanBroken(err):
		return x.bad(resp, err)
	case err != nil:
		return x.s.up.Broken(x.ctx, err)
	case whole:
		return x.decide(resp)
	case x.s.observes():
	case x.tooMuch(max(int64(len(x.window)), resp.ContentLength)):
		return x.tooLarge(resp)
	default:
		if signs := x.scan.Signs(); !signs.IDAt.IsZero() && !signs.ID.Equal(x.msg.ID) {
			return x.bad(resp, errWrongID)
		}
	}
	x.flow(resp)
	return nil
}

// fill reads the answer into the window, up to its end or until there are most bytes. It
// reports whether that was the whole answer.
func (x *exchange) fill(resp *http.Response, most strictyaml.Size) (whole bool, err error) {
	window := int(most)
	if n := resp.ContentLength; n > 0 && n <= int64(window) && int(n) >= cap(x.window) {
		x.window = append(make([]byte, 0, n+1), x.window...) // one more, to see the end
	}
	for {
		if len(x.window) == cap(x.window) {
			x.window = slices.Grow(x.window, min(max(len(x.window), 4<<10), window))
		}
		n, err := resp.Body.Read(x.window[len(x.window):min(cap(x.window), window)])
		read := x.window[len(x.window) : len(x.window)+n]
		x.window = x.window[:len(x.window)+n]
		if _, err := x.scan.Write(read); err != nil && !x.s.observes() {
			return false, err
		}
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return false, err
		case len(x.window) >= window:
			return false, nil
		}
	}
}

var (
	errWrongID   = errors.New("the answer has another id than the request")
	errNoMessage = errors.New("the answer is no JSON-RPC response")
	errTooLarge  = errors.New("the answer is larger than max_result allows")
)

// scanBroken reports whether err is about what the server wrote, and not about the
// connection.
func (x *exchange) scanBroken(err error) bool {
	_, syntax := errors.AsType[*wire.SyntaxError](err)
	return syntax
}

// bad is the failure of an answer that breaks the protocol.
func (x *exchange) bad(resp *http.Response, err error) *recourse.Error {
	text := beginning(string(x.window))
	return recourse.BadResponse(x.s.Title).WithOrigin(recourse.OriginServer).
		WithUpstream(recourse.Upstream{RequestID: resp.Header.Get(wire.HeaderRequestID)}).
		CausedBy(fmt.Errorf("%w: %s: %q", err, resp.Header.Get("Content-Type"), text))
}

// decide deals with an answer that is in the window as a whole.
func (x *exchange) decide(resp *http.Response) *recourse.Error {
	err := x.scan.Close()
	signs := x.scan.Signs()
	switch {
	case x.s.observes():
		x.observeAnswer(x.window, err)
		x.passSuccess(resp, x.window)
		return nil
	case err != nil:
		return x.bad(resp, err)
	case !isWhole(signs):
		return x.bad(resp, errNoMessage)
	case !signs.ID.Equal(x.msg.ID):
		return x.bad(resp, errWrongID)
	case x.tooMuch(int64(len(x.window))):
		return x.tooLarge(resp)
	case x.translate(x.window):
		return nil
	}
	x.passSuccess(resp, x.passed(x.window))
	return nil
}

// isWhole reports whether a message is a response that no client can take for
// anything else.
func isWhole(signs *wire.Signs) bool {
	return signs.Message() == wire.Response && signs.JSONRPC && strings.Count(signs.Duplicate, "/") != 1
}

// tooMuch reports whether an answer of size bytes is larger than is allowed.
func (x *exchange) tooMuch(size int64) bool {
	limit := int64(x.table.config.MaxResult)
	return limit > 0 && size > limit
}

func (x *exchange) tooLarge(resp *http.Response) *recourse.Error {
	return x.bad(resp, errTooLarge).
		WithMessage("%s gave an answer of more than the %s that are allowed.", x.s.Title, x.table.config.MaxResult)
}

// passed returns the message that was scanned as it is passed on: with its id as the
// client has spelled it, and without a record that is not ours.
func (x *exchange) passed(text []byte) []byte {
	signs := x.scan.Signs()
	var edits []wire.Edit
	if string(signs.ID) != string(x.msg.ID) {
		edits = append(edits, wire.Edit{At: signs.IDAt, With: x.msg.ID})
	}
	if !signs.Error.IsZero() && !x.s.Trusted { // it asks the client for something
		raw := json.Value(signs.Error.Of(text))
		if own := withoutForgery(raw); len(own) != len(raw) {
			edits = append(edits, wire.Edit{At: signs.Error, With: own})
		}
	}
	if edits != nil {
		text = wire.Splice(nil, text, edits...)
	}
	if x.forged() {
		p := recordPruner()
		text = p.Close(p.Append(make([]byte, 0, len(text)), text))
	}
	return x.question(text)
}

// passSuccess sends a whole answer to the client.
func (x *exchange) passSuccess(resp *http.Response, body []byte) {
	x.openSession(resp)
	x.copyHeader(resp.Header)
	x.send(http.StatusOK, body)
}

// send writes a whole answer.
func (x *exchange) send(status int, body []byte) {
	x.started = true
	x.w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body) // the client has gone
}

// begin sends the head of an answer that is passed on as it is.
func (x *exchange) begin(resp *http.Response) {
	if resp.ContentLength > 0 {
		x.w.Header()["Content-Length"] = []string{strconv.FormatInt(resp.ContentLength, 10)}
	}
	x.head(resp)
}

// head sends the head of an answer whose length may change on the way.
func (x *exchange) head(resp *http.Response) {
	x.openSession(resp)
	x.copyHeader(resp.Header)
	x.started = true
	x.w.WriteHeader(resp.StatusCode)
}

// put sends a piece of an answer that is passed on.
func (x *exchange) put(p []byte) error {
	_, err := x.w.Write(p)
	return err
}

// pour sends all of r, and breaks the answer off where r does.
func (x *exchange) pour(r io.Reader) {
	buffer := make([]byte, 4<<10)
	for {
		n, err := r.Read(buffer)
		switch {
		case n > 0 && x.put(buffer[:n]) != nil, errors.Is(err, io.EOF):
			return
		case err != nil:
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to break a connection off
		}
	}
}

// openSession makes a session of the answer to initialize, when the server has
// given it an id.
func (x *exchange) openSession(resp *http.Response) {
	if x.msg.Method != wire.MethodInitialize || x.session != nil {
		return
	}
	if id := resp.Header.Get(wire.HeaderSession); id != "" {
		x.session = x.s.sessions.add(x, id)
		x.w.Header()[wire.HeaderSession] = []string{x.session.id}
	}
}

// flow passes an answer on that is larger than the window, and checks it as it
// passes. What is found now can no longer be told: an answer that is none, or
// somebody else's, is aborted, so that no client takes it for its own; a failure
// is logged.
func (x *exchange) flow(resp *http.Response) {
	var strip *wire.Rewriter
	if x.forged() { // which changes the length
		strip = recordPruner()
		x.head(resp)
	} else {
		x.begin(resp)
	}
	total := int64(len(x.window))
	err := x.put(stripped(strip, x.window))
	buffer := x.window[:cap(x.window)]
	for err == nil {
		var n int
		n, err = resp.Body.Read(buffer)
		total += int64(n)
		if broken := x.pass(buffer[:n], total); broken != nil {
			x.abort(broken)
		}
		if n > 0 {
			x.deadline.alive()
			if failed := x.put(stripped(strip, buffer[:n])); failed != nil {
				return // the client has gone
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		x.abort(x.s.up.Broken(x.ctx, err))
	}
	x.finish()
}

// pass checks the next piece of an answer that is being passed on.
func (x *exchange) pass(piece []byte, total int64) error {
	_, err := x.scan.Write(piece)
	switch {
	case x.s.observes():
		return nil
	case x.tooMuch(total):
		return errTooLarge
	case err != nil:
		return err
	}
	if signs := x.scan.Signs(); len(signs.ID) > 0 && !signs.ID.Equal(x.msg.ID) {
		return errWrongID
	}
	return nil
}

// finish checks an answer that has been passed on as a whole.
func (x *exchange) finish() {
	switch err := x.flaw(); {
	case err == nil:
		x.late()
	case x.s.observes():
		x.observe(recourse.BadResponse(x.s.Title).WithOrigin(recourse.OriginServer).CausedBy(err))
	default:
		x.abort(err)
	}
}

// flaw returns why what was scanned is no answer to the request.
func (x *exchange) flaw() error {
	if err := x.scan.Close(); err != nil {
		return err
	}
	switch signs := x.scan.Signs(); {
	case !isWhole(signs):
		return errNoMessage
	case !signs.ID.Equal(x.msg.ID):
		return errWrongID
	default:
		return nil
	}
}

// abort breaks the answer off, so that the client sees that it is not whole.
func (x *exchange) abort(cause error) {
	e := recourse.From(cause)
	if e.Kind == recourse.KindInternal {
		e = recourse.BadResponse(x.s.Title).WithOrigin(recourse.OriginServer).CausedBy(cause)
	}
	x.record(e.WithEffect(x.effect(e)), "answer broken off")
	_ = http.NewResponseController(x.w).Flush() // what has come is passed on
	panic(http.ErrAbortHandler)                 //nolint:forbidigo // net/http's way to break a connection off
}
