package modern

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream/bridge/peer"
)

// window is how much of an answer is held to tell whether it is a question.
const window = peer.MaxRefusal

// run makes the call, and again whenever the server first wants answers.
func (c *exchange) run() {
	resp, err := c.post()
	for err == nil && resp != nil {
		resp, err = c.take(resp)
	}
	if why, ok := errors.AsType[*recourse.Error](context.Cause(c.ctx)); ok && err != nil {
		err = why
	}
	if e, ok := errors.AsType[*recourse.Error](err); ok && c.rounds > 0 { // earlier rounds may have had an effect
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

// close ends the answer; with an error it is aborted.
func (c *exchange) close(err error) {
	if c.answer != nil {
		c.answer.End(err)
	}
}

// post sends the request. If the server misses headers, because it mirrors arguments that the bridge did not
// know about, the request is sent once more.
func (c *exchange) post() (*wire.Answer, error) {
	resp, err := c.postOnce()
	if err != nil || c.tool == "" || resp.Status != http.StatusBadRequest {
		return resp, err
	}
	text, _ := peer.Keep(resp) // the reader of the body finds the problem
	if peer.CodeOf(text) != "-32020" || !c.srv.relearn(c.ctx, c.of, c.header, c.s.introduce(), c.tool) {
		return resp, nil
	}
	_ = resp.Close() // it has been read
	return c.postOnce()
}

func (c *exchange) postOnce() (*wire.Answer, error) {
	h := c.header.Clone()
	if mirrored := c.srv.mirrors.of(c.tool); len(mirrored) > 0 {
		wire.SetParamHeaders(h, json.Lookup(c.text, "/params/arguments"), mirrored)
	}
	return c.srv.p.Do(c.ctx, c.of.For(h, c.text))
}

// take handles an answer from the server. After a question it returns the next answer.
func (c *exchange) take(resp *wire.Answer) (next *wire.Answer, err error) {
	defer resp.Close()
	if resp.Status != http.StatusOK {
		return nil, c.refusal(resp)
	}
	asked, err := c.relay(resp)
	if err != nil || asked == nil {
		return nil, err
	}
	_ = resp.Close() // it has been read
	return c.ask(asked)
}

func (c *exchange) broken(err error) error { return c.srv.p.Broken(c.ctx, err) }

var errLargeQuestion = errors.New("what the server asks is larger than 256 KiB")

// relay passes the answer on, with what precedes it on an event stream; it returns a question. Ids of events
// are not passed on: the client cannot resume the stream.
func (c *exchange) relay(resp *wire.Answer) (*inputRequired, error) {
	isStream := resp.Stream
	c.messages.Read(resp, window)
	if isStream {
		c.begin(resp.Header, true)
	}
	for part := range c.messages.Parts() {
		if part.Other || part.Complete && part.Kind == wire.Request { // no server of the modern era has any
			continue
		}
		isAnswer := !isStream || part.Kind == wire.Response || !part.Complete && part.Signs.MethodAt.IsZero()
		if isAnswer {
			if asked, err := c.look(part); asked != nil || err != nil {
				return asked, err
			}
		}
		whole := part.Complete
		switch err := c.pass(resp, part); {
		case errors.Is(err, wire.ErrUnfinishedEvent):
			return nil, nil
		case err != nil || !isStream:
			return nil, err
		case isAnswer && !whole:
			return nil, nil
		case isAnswer && part.Signs.ID.Equal(c.id):
			c.close(nil) // the client has it in full
			c.messages.Drain(resp)
			return nil, nil
		}
	}
	switch err := c.messages.End(); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case !isStream:
		return nil, c.broken(err)
	default:
		return nil, err
	}
}

// look returns what an answer asks, and learns from lists of tools.
func (c *exchange) look(part *wire.Part) (*inputRequired, error) {
	switch {
	case !part.Complete && c.isQuestion(part.Signs):
		return nil, c.srv.p.BadResponse(errLargeQuestion)
	case part.Err == nil && c.isQuestion(part.Signs):
		return readInputRequired(part.Signs.Result.Of(part.Data), c.srv.p)
	case part.Err == nil && part.Complete && c.method == wire.MethodToolsList:
		c.srv.mirrors.notice(part.Data, part.Signs)
	}
	return nil, nil
}

func (c *exchange) pass(resp *wire.Answer, part *wire.Part) error {
	c.rewriter.ToLegacy(c.id, c.clientID, peer.Cacheable(c.method))
	if part.Complete && c.answer == nil {
		text := c.rewriter.Close(c.rewriter.Append(make([]byte, 0, len(part.Data)), part.Data))
		c.begun <- beginning{resp: peer.Respond(http.StatusOK, resp.Header, text)}
		return nil
	}
	c.begin(resp.Header, false)
	if part.Complete && part.Kind == wire.Notification {
		c.piece(append(c.room[:0], part.Data...), true, true, part.Signs)
		return nil
	}
	for err := error(nil); ; {
		last, isLarge := err == nil && part.Complete, !part.First
		c.room = c.rewriter.Append(c.room[:0], part.Data)
		if last {
			c.room = c.rewriter.Close(c.room)
		}
		if last && isLarge && c.isQuestion(part.Signs) {
			err = c.srv.p.BadResponse(errLargeQuestion)
		}
		c.piece(c.room, part.First, err == nil && last, nil)
		if last || err != nil {
			return err
		}
		if part, err = c.messages.Next(); part == nil {
			return err
		}
	}
}

// piece gives the client a piece of a message, in the form that it has for the client; signs may be nil.
func (c *exchange) piece(text []byte, first, last bool, signs *wire.Signs) {
	if c.isEvents {
		wire.OneLine(text)
	}
	c.room = text
	part := wire.Whole(text)
	part.First, part.Complete, part.Signs = first, last, signs
	c.send(&part)
}

// isQuestion reports whether the answer, as far as it is known, says that it needs input.
func (c *exchange) isQuestion(signs *wire.Signs) bool {
	return string(signs.ResultType) == "input_required" && (signs.IDAt.IsZero() || signs.ID.Equal(c.id))
}

// begin begins an answer in pieces, as events or as one JSON text.
func (c *exchange) begin(from http.Header, events bool) {
	if c.answer != nil {
		return
	}
	answer := wire.NewPipe()
	c.answer, c.isEvents = answer, events
	stop := context.AfterFunc(c.asker, func() { answer.End(context.Cause(c.asker)) })
	context.AfterFunc(c.ctx, func() { stop() })
	r := wire.RespondParts(answer, answer)
	r.Header, r.Stream = peer.AnswerHeader(from), events
	if events {
		r.Header["Content-Type"] = []string{wire.TypeEventStream}
		r.Header["Cache-Control"] = []string{"no-cache"}
	}
	c.begun <- beginning{resp: r}
}

// say gives the client a message of the bridge's own.
func (c *exchange) say(text []byte) {
	part := wire.Whole(text)
	c.send(&part)
}

// send gives the client a part of the answer. A call whose client has gone continues, unless the answer was
// closed.
func (c *exchange) send(part *wire.Part) {
	if err := c.answer.Send(part); err != nil && c.asker.Err() == nil {
		c.end(context.Canceled)
	}
}

func (c *exchange) refusal(resp *wire.Answer) error {
	text, err := io.ReadAll(io.LimitReader(resp, peer.MaxRefusal+1)) // one more tells its reader that there is more
	if c.ctx.Err() != nil {
		return c.broken(err)
	}
	rpc := json.Lookup(text, "/error")
	switch {
	case c.answer != nil && rpc.Kind() == '{':
		c.say(wire.AppendFailure(nil, c.clientID, rpc))
		return nil
	case c.answer != nil:
		return c.srv.p.Refused(peer.Respond(resp.Status, resp.Header, text))
	case peer.RefusesEra(resp.Status) && peer.SoundsLegacy(resp.Status, c.header, text) && c.otherEra():
		c.srv.p.Eras.Forget()
		if c.s != nil {
			c.srv.forget(c.s) // the client opens another one, at the server itself
		}
		switch {
		case !peer.MaySendAgain(c.method, text):
		case c.s == nil:
			return peer.ErrOtherEra
		default:
			c.begun <- beginning{resp: wire.RespondLost()}
			return nil
		}
	}
	if resp.Status == http.StatusNotFound && rpc.Kind() != '{' { // in the legacy era it would mean a lost session
		return recourse.ClientError(c.srv.p.Name(), resp.Status).WithOrigin(recourse.OriginServer).
			WithUpstream(recourse.Upstream{Status: resp.Status}).CausedBy(fmt.Errorf("%.500q", text))
	}
	if c.rounds > 0 && rpc.Kind() == '{' {
		text = wire.AppendFailure(nil, c.clientID, rpc)
	}
	c.begun <- beginning{resp: c.srv.passRefusal(resp.Status, resp.Header, text)}
	return nil
}

// otherEra reports whether a server that refuses in legacy words no longer speaks the modern era. The words alone would
// be a reason to make a call again that it may have carried out.
func (c *exchange) otherEra() bool {
	speaks, err := c.srv.p.Discover(c.ctx, c.of.Caller, c.header)
	return err == nil && speaks == peer.No
}

// passRefusal returns a server's refusal in legacy form. There a JSON-RPC error has status 200, and 404 would
// mean a lost session.
func (srv *Bridge) passRefusal(status int, header http.Header, text []byte) *wire.Answer {
	if peer.RefusesEra(status) && json.Lookup(text, "/error").Kind() == '{' {
		status = http.StatusOK
	}
	return peer.Respond(status, header, text)
}
