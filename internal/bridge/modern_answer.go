package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
)

const (
	// modernWindow is how much of an answer is held to find out whether it is a question.
	modernWindow = 256 << 10
	// modernDrain is how long a server may take to end its stream after its answer, so
	// that the connection can be kept.
	modernDrain = time.Second
)

// run makes the call, again as often as the server wants to have an answer first.
func (c *modernCall) run() {
	resp, err := c.post()
	for err == nil && resp != nil {
		resp, err = c.take(resp)
	}
	if why, ok := errors.AsType[*recourse.Error](context.Cause(c.ctx)); ok && err != nil {
		err = why
	}
	if e, ok := errors.AsType[*recourse.Error](err); ok && c.rounds > 0 { // the rounds before may have had one
		err = e.WithEffect(recourse.EffectUnknown)
	}
	switch {
	case err == nil:
		c.close(nil)
	case c.answer != nil:
		c.close(err)
	default:
		c.begun <- beginning{err: err}
	}
}

// close ends the answer: as one that is broken off, where there is an error.
func (c *modernCall) close(err error) {
	if c.answer != nil {
		_ = c.answer.CloseWithError(err) // never fails
	}
}

// post sends the request. One in which the server misses headers, since it mirrors
// other arguments into headers than the bridge knew of, is sent once more.
func (c *modernCall) post() (*http.Response, error) {
	resp, err := c.postOnce()
	if err != nil || c.tool == "" || resp.StatusCode != http.StatusBadRequest {
		return resp, err
	}
	text, _ := keep(resp) // whoever reads the body finds what is wrong with it
	if string(json.Lookup(text, "/error/code")) != "-32020" || !c.n.relearn(c.ctx, c.header, c.s.introduce(), c.tool) {
		return resp, nil
	}
	_ = resp.Body.Close() // it has been read
	return c.postOnce()
}

func (c *modernCall) postOnce() (*http.Response, error) {
	h := c.header.Clone()
	wire.SetParamHeaders(h, c.arguments, c.n.mirrors.of(c.tool))
	return c.n.b.next.Send(c.ctx, http.MethodPost, h, c.text)
}

// take deals with an answer of the server. It returns the next one, where this one
// was a question.
func (c *modernCall) take(resp *http.Response) (next *http.Response, err error) {
	defer resp.Body.Close()
	c.scan.Reset()
	c.pruner.Reset(c.id, c.clientID, cacheable(c.method))
	var asked *inputRequired
	switch {
	case resp.StatusCode != http.StatusOK:
		return nil, c.refusal(resp)
	case isEvents(resp):
		asked, err = c.relay(resp)
	default:
		asked, err = c.single(resp)
	}
	if err != nil || asked == nil {
		return nil, err
	}
	_ = resp.Body.Close() // it has been read
	return c.ask(asked)
}

// cacheable reports whether results of the method say for how long they may be kept (MCP
// 2026-07-28, "Caching").
func cacheable(method string) bool {
	switch method {
	case wire.MethodToolsList, wire.MethodResourcesRead, "prompts/list", "resources/list", "resources/templates/list":
		return true
	default:
		return false
	}
}

// broken is the failure of an answer that cannot be read.
func (c *modernCall) broken(err error) error { return c.n.b.next.Broken(c.ctx, err) }

// badResponse is the failure of an answer that breaks the protocol.
func badResponse(name string, err error) *recourse.Error {
	return recourse.BadResponse(name).WithOrigin(recourse.OriginServer).CausedBy(err)
}

var errLargeQuestion = errors.New("what the server asks is larger than 256 KiB")

// single deals with an answer that is one JSON text: as a whole where it is small,
// else as it passes.
func (c *modernCall) single(resp *http.Response) (*inputRequired, error) {
	window, whole, err := readWindow(resp)
	if err != nil {
		return nil, c.broken(err)
	}
	_, bad := c.scan.Write(window)
	if bad == nil && whole {
		bad = c.scan.Close()
	}
	signs := c.scan.Signs()
	switch {
	case bad == nil && whole && c.isQuestion(signs):
		return readInputRequired(signs.Result.Of(window), c.n.b.Name())
	case !whole && c.isQuestion(signs):
		return nil, badResponse(c.n.b.Name(), errLargeQuestion)
	case bad == nil && whole && c.method == wire.MethodToolsList:
		c.n.mirrors.notice(window, signs)
	}
	if whole {
		text := c.pruner.Close(c.pruner.Append(make([]byte, 0, len(window)), window))
		c.whole(resp, text)
		return nil, nil //nolint:nilnil // no question, and no error
	}
	c.begin(resp, c.isEvents)
	return nil, c.flow(resp, window)
}

// readWindow reads an answer up to its end or that of the window.
func readWindow(resp *http.Response) (window []byte, whole bool, err error) {
	size := int64(4 << 10)
	if resp.ContentLength > 0 {
		size = min(resp.ContentLength, modernWindow)
	}
	window = make([]byte, 0, size+1)
	for len(window) < modernWindow {
		if len(window) == cap(window) {
			window = append(window, 0)[:len(window)]
		}
		n, err := resp.Body.Read(window[len(window):min(cap(window), modernWindow)])
		window = window[:len(window)+n]
		switch {
		case errors.Is(err, io.EOF):
			return window, true, nil
		case err != nil:
			return nil, false, err
		}
	}
	return window, false, nil
}

// isQuestion reports whether the answer to the request, as far as it is known, says
// that it needs input.
func (c *modernCall) isQuestion(signs *wire.Signs) bool {
	return string(signs.ResultType) == "input_required" && (signs.IDAt.IsZero() || signs.ID.Equal(c.id))
}

// whole gives the client an answer that is complete.
func (c *modernCall) whole(resp *http.Response, text []byte) {
	if c.answer != nil {
		c.write(wire.AppendEvent(nil, "", "message", text))
		return
	}
	r := respond(http.StatusOK, text)
	r.Header = answerHeader(resp.Header)
	c.begun <- beginning{resp: r}
}

// answerHeader returns the headers of a server's answer that go on with what became
// of it.
func answerHeader(from http.Header) http.Header {
	h := from.Clone()
	delete(h, "Content-Length")
	delete(h, wire.HeaderSession)
	return h
}

// begin begins an answer that comes in pieces, as events or as one JSON text.
func (c *modernCall) begin(resp *http.Response, events bool) {
	if c.answer != nil {
		return
	}
	body, answer := io.Pipe()
	c.answer, c.isEvents = answer, events
	stop := context.AfterFunc(c.asker, func() { _ = answer.CloseWithError(context.Cause(c.asker)) }) // never fails
	context.AfterFunc(c.ctx, func() { stop() })
	r := respondEvents(body)
	r.Header = answerHeader(resp.Header)
	if events {
		r.Header["Content-Type"] = []string{wire.TypeEventStream}
		r.Header["Cache-Control"] = []string{"no-cache"}
	}
	c.begun <- beginning{resp: r}
}

// write gives the client a piece of the answer. Without a client the call still goes
// on, unless it was its caller who has had enough.
func (c *modernCall) write(p []byte) {
	if _, err := c.answer.Write(p); err != nil && c.asker.Err() == nil {
		c.end(context.Canceled)
	}
}

// flow passes on an answer of which the first piece has been read and scanned.
func (c *modernCall) flow(resp *http.Response, first []byte) error {
	if c.isEvents {
		c.write([]byte("event: message\ndata: "))
	}
	c.passPiece(first)
	buffer := first[:cap(first)]
	for {
		n, err := resp.Body.Read(buffer)
		_, _ = c.scan.Write(buffer[:n]) // what is broken passes: whoever reads it finds out
		c.passPiece(buffer[:n])
		switch {
		case errors.Is(err, io.EOF):
			return c.flowed()
		case err != nil:
			return err
		}
	}
}

// passPiece passes on a piece of a JSON text.
func (c *modernCall) passPiece(p []byte) {
	c.out = c.pruner.Append(c.out[:0], p)
	c.writeText()
}

// writeText writes what is in out: in an event without line ends, which JSON has
// between tokens only.
func (c *modernCall) writeText() {
	if c.isEvents {
		for i, b := range c.out {
			if b == '\n' || b == '\r' {
				c.out[i] = ' '
			}
		}
	}
	if len(c.out) > 0 {
		c.write(c.out)
	}
}

// flowed ends a text that has been passed on.
func (c *modernCall) flowed() error {
	if c.isQuestion(c.scan.Signs()) {
		return badResponse(c.n.b.Name(), errLargeQuestion)
	}
	c.out = c.pruner.Close(c.out[:0])
	c.writeText()
	if c.isEvents {
		c.write([]byte("\n\n"))
	}
	return nil
}

// relay deals with an answer that is an event stream: what comes before the answer
// passes, without what would make the client come back for the rest of the stream.
func (c *modernCall) relay(resp *http.Response) (*inputRequired, error) {
	c.begin(resp, true)
	reader := wire.NewEventReader(resp.Body, modernWindow)
	for {
		event, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil //nolint:nilnil // the stream has no answer: whoever reads it finds out
		case err != nil:
			return nil, err
		case !event.HasData || len(event.Type) > 0 && string(event.Type) != "message":
			continue
		}
		c.scan.Reset()
		_, bad := c.scan.Write(event.Data)
		if !event.Complete {
			done, err := c.relayLarge(reader, event)
			if done || err != nil {
				return nil, err
			}
			continue
		}
		if bad == nil {
			bad = c.scan.Close()
		}
		switch signs := c.scan.Signs(); {
		case bad != nil:
			c.write(wire.AppendEvent(nil, "", "message", event.Data))
		case signs.Message() == wire.Response && c.isQuestion(signs):
			return readInputRequired(signs.Result.Of(event.Data), c.n.b.Name())
		case signs.Message() == wire.Response:
			c.pruner.Reset(c.id, c.clientID, cacheable(c.method))
			c.write(wire.AppendEvent(nil, "", "message", c.pruner.Close(c.pruner.Append(nil, event.Data))))
			if signs.ID.Equal(c.id) {
				c.drain(resp, reader)
				return nil, nil //nolint:nilnil // no question, and no error
			}
		case signs.Message() == wire.Notification:
			c.write(wire.AppendEvent(nil, "", "message", event.Data))
		default: // a request: no server of the modern era has any
		}
	}
}

// relayLarge passes on an event that is larger than the window, of which this is the
// first piece. It reports whether it was the answer.
func (c *modernCall) relayLarge(reader *wire.EventReader, event *wire.Event) (done bool, err error) {
	signs := c.scan.Signs()
	isAnswer := signs.MethodAt.IsZero()
	if isAnswer && c.isQuestion(signs) {
		return false, badResponse(c.n.b.Name(), errLargeQuestion)
	}
	c.pruner.Reset(c.id, c.clientID, cacheable(c.method))
	c.write([]byte("event: message\ndata: "))
	for {
		c.passPiece(event.Data)
		if event.Complete {
			return isAnswer, c.flowed()
		}
		if event, err = reader.Next(); errors.Is(err, wire.ErrUnfinishedEvent) {
			return true, nil // the client's stream ends in the event, too
		}
		if err != nil {
			return false, err
		}
		_, _ = c.scan.Write(event.Data) // what is broken passes: whoever reads it finds out
	}
}

// drain reads what a server still sends after its answer, which the client has.
func (c *modernCall) drain(resp *http.Response, reader *wire.EventReader) {
	c.close(nil)
	timer := time.AfterFunc(modernDrain, func() { _ = resp.Body.Close() }) // nothing of it is wanted
	defer timer.Stop()
	for more := 0; more < modernWindow; {
		event, err := reader.Next()
		if err != nil {
			return
		}
		more += len(event.Raw)
	}
}

// refusal deals with an answer whose HTTP status is not 200.
func (c *modernCall) refusal(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal+1)) // one more tells its reader that there is more
	if c.ctx.Err() != nil {
		return c.broken(err)
	}
	rpc := json.Lookup(text, "/error")
	switch {
	case c.answer != nil && rpc.Kind() == '{':
		c.write(wire.AppendEvent(nil, "", "message", appendRPCError(nil, c.clientID, rpc)))
		return nil
	case c.answer != nil:
		resp.Body = io.NopCloser(bytes.NewReader(text))
		return recourse.FromHTTP(c.n.b.Name(), resp).WithOrigin(recourse.OriginServer)
	case refusesEra(resp.StatusCode) && soundsLegacy(resp.StatusCode, c.header, text) && c.otherEra(text):
		c.n.b.eras.forget()
		if c.s != nil {
			c.n.forget(c.s) // the client opens another, at the server itself
		}
		switch {
		case !maySendAgain(c.method, text):
		case c.s == nil:
			return errOtherEra
		default:
			c.begun <- beginning{resp: lost()}
			return nil
		}
	}
	if resp.StatusCode == http.StatusNotFound && rpc.Kind() != '{' { // which in the legacy era would be a session that is lost
		return recourse.ClientError(c.n.b.Name(), resp.StatusCode).WithOrigin(recourse.OriginServer).
			WithUpstream(recourse.Upstream{Status: resp.StatusCode}).CausedBy(fmt.Errorf("%.500q", text))
	}
	if c.rounds > 0 && rpc.Kind() == '{' {
		text = appendRPCError(nil, c.clientID, rpc)
	}
	c.begun <- beginning{resp: c.n.passRefusal(resp.StatusCode, resp.Header, text)}
	return nil
}

// otherEra reports whether a server that refuses a request in words of the legacy era
// does not speak the modern one any more.
func (c *modernCall) otherEra(text []byte) bool {
	if string(json.Lookup(text, "/error/code")) == "-32022" {
		return true
	}
	speaks, err := c.n.b.discover(c.ctx, c.header)
	return err == nil && speaks == no
}

// refusesEra reports whether a status is that of a request in the wrong era.
func refusesEra(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusNotFound
}

// passRefusal returns a server's refusal as one of the legacy era gives it, which says by
// a JSON-RPC error in an answer with status 200 what a server of the modern era says with
// status 400 or 404: there, the latter would be a session that is lost.
func (n *modernServer) passRefusal(status int, header http.Header, text []byte) *http.Response {
	if refusesEra(status) && json.Lookup(text, "/error").Kind() == '{' {
		status = http.StatusOK
	}
	resp := respond(status, text)
	resp.Header = answerHeader(header)
	return resp
}

// appendRPCError appends the response with the given id and error, which is JSON.
func appendRPCError(dst []byte, id wire.ID, raw []byte) []byte {
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
	return append(append(append(dst, `,"error":`...), raw...), '}')
}
