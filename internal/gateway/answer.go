package gateway

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/access"
	"github.com/recoursehq/recourse/internal/gateway/failures"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/redact"
	"github.com/recoursehq/recourse/internal/wire"
)

// inbound holds the server's answer while it is being read.
type inbound struct {
	resp     *http.Response
	stream   bool // it is an event stream
	messages *wire.MessageReader
	scan     *wire.Scanner // shared by other texts
	signs    *wire.Signs   // of the current message
	text     []byte        // the beginning of a JSON answer
	id       wire.ID       // the request's id at the server; nil: the client's own
	cut      string        // the limit at which the input was cut; "": it is complete

	wrong     error          // why a message was dropped
	resumable bool           // the client may resume the stream: events have ids, or the server has said when
	rewrite   *wire.Rewriter // of a large answer; nil: it is passed on as it is

	asks    bool   // the server has asked the client a question
	goesOn  bool   // the stream continues after the answer
	release func() // releases the room held for a large failure
}

// next returns the next message, or piece of one, from the server.
func (in *inbound) next() (*wire.Part, error) {
	part, err := in.messages.Next()
	if part != nil {
		in.signs = part.Signs
	}
	return part, err
}

// noteResumption notes whether the client may resume the stream.
func (in *inbound) noteResumption(part *wire.Part) {
	in.resumable = in.resumable || len(part.ID) > 0 || part.Retry >= 0
}

// rescan scans a text that did not come from next.
func (in *inbound) rescan(text []byte) error {
	in.scan.Reset()
	_, err := in.scan.Write(text)
	in.signs = in.scan.Signs()
	return cmp.Or(err, in.scan.Close())
}

func (enforcing) answer(c *call) error {
	switch {
	case !c.req.asks():
		return c.handedOver()
	case c.in.resp.StatusCode != http.StatusOK:
		return c.refusal()
	case wire.IsEvents(c.in.resp) && c.req.msg.Method == wire.MethodListen: // a stream without an end of its own
		c.passStream()
		if refusal := access.Lapsed(c.ctx); refusal != nil {
			return c.refuseLapsed(refusal)
		}
		return nil
	}
	return c.pass()
}

// open prepares to read the server's answer.
func (c *call) open() {
	in := &c.in
	in.stream = wire.IsEvents(in.resp)
	in.messages.Reset(in.resp.Body, in.stream, in.resp.ContentLength, int(c.table.config.DecideWithin))
	in.text, in.wrong, in.resumable, in.rewrite = nil, nil, false, nil
}

// pass passes on the server's answer: a JSON text or an event stream. Progress, logs and questions for the
// client are forwarded as they arrive. The final message is read up to the decision window: if it ends there,
// it is either passed on or found to be a failure. A larger one is streamed and checked as it passes.
func (c *call) pass() error {
	for c.open(); ; {
		part, err := c.in.next()
		if err != nil {
			return c.ended(err)
		}
		if !c.in.stream {
			c.in.text = part.Data
		}
		c.in.noteResumption(part)
		if done, err := c.take(part); done || err != nil {
			return err
		}
	}
}

// take handles a message, or the first piece of one, and reports whether it ends the answer.
func (c *call) take(part *wire.Part) (done bool, err error) {
	switch {
	case part.Other:
		c.forward(c.spoken(&part.Event, part.Raw))
		return false, nil
	case part.Err != nil:
		return true, c.bad(part.Err)
	case !part.Complete:
		return c.takeLarge(part)
	}
	return c.takeWhole(&part.Event)
}

// takeWhole handles a message that arrived complete.
func (c *call) takeWhole(event *wire.Event) (done bool, err error) {
	switch signs := c.in.signs; {
	case c.in.stream && signs.Message() != wire.Response:
		c.notice(signs)
		c.forward(c.spoken(event, event.Raw))
		return false, nil
	case c.in.stream && !signs.ID.Equal(c.sentID()):
		c.in.wrong = errWrongID // nor the client's: it is dropped
		return false, nil
	case !isWhole(signs):
		return true, c.bad(errNoMessage)
	case !signs.ID.Equal(c.sentID()):
		return true, c.bad(errWrongID)
	case c.tooMuch(int64(len(event.Data))):
		return true, c.tooLarge()
	}
	if c.in.stream {
		c.in.goesOn = true
	}
	if f := c.judge(event.Data); f != nil {
		return true, c.aboutAccount(f)
	}
	text := c.passed(event.Data)
	if !c.in.stream {
		c.openSession()
		c.reply.copyHeader(c.in.resp.Header)
		c.reply.send(http.StatusOK, text)
		return true, nil
	}
	raw := wire.WithoutComments(event.Raw)
	if !bytes.Equal(text, event.Data) {
		raw = event.With(text)
	}
	c.forward(raw)
	return true, nil
}

// notice looks at a message from the server that is not an answer.
func (c *call) notice(signs *wire.Signs) {
	switch what := signs.Message(); {
	case what == wire.Request: // from here on the server waits for its client
		c.asked(signs.ID)
	case what == wire.Notification && string(signs.Method) == wire.MethodProgress:
		c.deadline.Alive()
	case what == wire.Notification && string(signs.Method) == wire.MethodToolsChanged:
		c.to.Lists.Changed(asking{c}.Key())
	}
}

// asked records that the server asks its client something. Without a session, nothing tells which answer is
// the client's.
func (c *call) asked(id wire.ID) {
	if c.session == nil {
		c.deadline.Suspend()
		return
	}
	c.in.asks = true
	c.session.Questions.Ask(id, c.deadline)
}

// takeLarge handles a message that does not fit into the window, or an event that the stream breaks off. Once
// it is being streamed, faults can no longer be reported: if the message turns out not to be an answer, or to
// be someone else's, it is aborted so that no client accepts it, and a failure is only logged.
func (c *call) takeLarge(first *wire.Part) (done bool, err error) {
	if c.in.stream && c.tooLongToMask() {
		return c.dropRest()
	}
	if c.beginsFailed(first.Data) || c.filters() && c.in.signs.MethodAt.IsZero() {
		return true, c.collect(first)
	}
	isAnswer, size, second := true, max(int64(len(first.Data)), c.in.resp.ContentLength), (*wire.Part)(nil)
	if c.in.stream { // it may end here: then nothing of it is sent
		isAnswer, size = c.in.signs.MethodAt.IsZero(), int64(len(first.Data))
		kept := *first
		kept.Raw, kept.Data = bytes.Clone(first.Raw), bytes.Clone(first.Data)
		first = &kept
		if second, err = c.in.next(); err != nil {
			c.in.resumable = false
			return true, c.ended(err)
		}
	}
	switch signs := c.in.signs; {
	case !isAnswer:
	case c.tooMuch(size):
		return true, c.tooLarge()
	case !signs.IDAt.IsZero() && !signs.ID.Equal(c.sentID()):
		return true, c.bad(errWrongID)
	case c.in.id != nil || c.forged():
		c.in.rewrite = new(wire.Rewriter)
		c.in.rewrite.Renumber(c.in.id, c.req.msg.ID, c.forged())
	}
	c.put(&first.Event)
	return isAnswer, c.flow(second, int64(len(first.Data)), isAnswer)
}

// flow forwards a large message from its second piece on; total is the number of bytes before that.
func (c *call) flow(piece *wire.Part, total int64, isAnswer bool) error {
	for ; ; piece = nil {
		if piece == nil {
			var err error
			if piece, err = c.in.next(); err != nil {
				return c.breakOff(c.to.broken(c.ctx, err))
			}
		}
		total += int64(len(piece.Data))
		err := c.flaw(piece)
		if c.tooMuch(total) {
			err = errTooLarge
		}
		if err != nil && isAnswer {
			return c.breakOff(err)
		}
		c.deadline.Alive()
		switch c.put(&piece.Event); {
		case c.reply.gone:
			return nil
		case !piece.Complete:
			continue
		case !isAnswer:
			return nil
		}
		if c.in.stream {
			c.in.goesOn = true
		}
		c.late()
		return nil
	}
}

func (c *call) put(piece *wire.Event) {
	switch {
	case c.in.stream && c.in.rewrite != nil:
		c.forward(c.in.rewrite.AppendEvent(nil, piece))
	case c.in.stream:
		c.forward(piece.Raw)
	case c.in.rewrite != nil: // it changes the length
		if !c.reply.started {
			c.head()
		}
		_ = c.reply.put(c.in.rewrite.Append(make([]byte, 0, len(piece.Data)), piece.Data)) // the reply knows
	default:
		if !c.reply.started {
			c.begin()
		}
		_ = c.reply.put(piece.Data) // the reply knows
	}
}

func (c *call) dropRest() (done bool, err error) {
	for {
		part, err := c.in.next()
		switch {
		case err != nil:
			return true, c.ended(err)
		case part.Complete:
			return false, nil
		}
	}
}

// ended handles an answer that ends before the final message. A legacy server may close a stream on purpose:
// its client resumes it with a GET.
func (c *call) ended(err error) error {
	clean := errors.Is(err, io.EOF)
	switch {
	case !clean && !errors.Is(err, wire.ErrUnfinishedEvent):
		return c.to.broken(c.ctx, err)
	case c.in.wrong != nil:
		return c.bad(c.in.wrong)
	case clean && c.in.resumable && c.req.era == wire.Legacy && c.in.id == nil: // otherwise the client would not know about the answer
		c.startEvents()
		return nil
	default:
		return c.bad(errNoMessage).WithMessage("%s ended its answer without a result.", c.to.Title)
	}
}

var (
	errWrongID   = errors.New("the answer has another id than the request")
	errNoMessage = errors.New("the answer is not a JSON-RPC response")
	errTooLarge  = errors.New("the answer is larger than max_result allows")
)

// bad is the failure for an answer that breaks the protocol.
func (c *call) bad(err error) *recourse.Error {
	header := c.in.resp.Header
	text := observe.Beginning(string(c.in.text))
	return c.to.reader.BadResponse(fmt.Errorf("%w: %s: %q", err, header.Get("Content-Type"), text)).
		WithUpstream(recourse.Upstream{RequestID: header.Get(wire.HeaderRequestID)})
}

// isWhole reports whether a message is a response that no client can mistake for anything else.
func isWhole(signs *wire.Signs) bool {
	return signs.Message() == wire.Response && signs.JSONRPC && strings.Count(signs.Duplicate, "/") != 1
}

// tooMuch reports whether an answer of size bytes exceeds the limit.
func (c *call) tooMuch(size int64) bool {
	limit := int64(c.table.config.MaxResult)
	return limit > 0 && size > limit
}

func (c *call) tooLarge() *recourse.Error {
	return c.bad(errTooLarge).
		WithMessage("%s sent an answer larger than the %s allowed.", c.to.Title, c.table.config.MaxResult)
}

// flaw returns why a message, as far as it has been read, does not answer the request.
func (c *call) flaw(piece *wire.Part) error {
	switch signs := c.in.signs; {
	case piece.Err != nil:
		return piece.Err
	case piece.Complete && !isWhole(signs):
		return errNoMessage
	case (piece.Complete || len(signs.ID) > 0) && !signs.ID.Equal(c.sentID()):
		return errWrongID
	default:
		return nil
	}
}

// passed returns the current message in the form that is forwarded: with its id as the client wrote it, and
// without a record that is not ours.
func (c *call) passed(text []byte) []byte {
	signs := c.in.signs
	var edits []wire.Edit
	if string(signs.ID) != string(c.req.msg.ID) {
		edits = append(edits, wire.Edit{At: signs.IDAt, With: c.req.msg.ID})
	}
	if !signs.Error.IsZero() && !c.to.Trusted { // it asks the client a question
		raw := json.Value(signs.Error.Of(text))
		if own := failures.WithoutRecord(raw); len(own) != len(raw) {
			edits = append(edits, wire.Edit{At: signs.Error, With: own})
		}
	}
	if edits != nil {
		text = wire.Splice(nil, text, edits...)
	}
	if c.forged() {
		var p wire.Rewriter
		p.WithoutRecord()
		text = p.Close(p.Append(make([]byte, 0, len(text)), text))
	}
	if c.filters() {
		text = c.granted(text)
	}
	if failures.Asks(text, c.in.signs) { // of a question, which may well be about addresses and paths, only credentials are masked
		text = c.masker().As(redact.Secrets).Message(c.bindState(text))
	}
	return text
}

// forged reports whether the current message, as far as it has arrived, has a record under our key from a
// server that is not trusted. Such a record is removed: it is the gateway's statement to its client.
func (c *call) forged() bool { return c.in.signs.Record && !c.to.Trusted }

// closeAnswer handles the rest of the server's answer after the client has received its own: the end of a
// stream, or a second answer, which is dropped.
func (c *call) closeAnswer() {
	if c.in.release != nil {
		c.in.release()
		c.in.release = nil
	}
	if c.in.goesOn {
		c.in.messages.Drain(c.in.resp)
		c.in.goesOn = false
	}
}
