package front

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/spool"
)

var _ Writer = (*lineAnswer)(nil)

// A lineAnswer is the answer to one message of a host: its messages become lines, as soon as they are complete.
type lineAnswer struct {
	out *lineWriter
	id  wire.ID // of the request; empty if no answer is expected

	header http.Header
	status int
	stream bool

	text lineText      // of the current message, or the text that the answer consists of
	scan *wire.Scanner // of a text that need not be a message; nil: there is none

	loud   bool         // errors that answer nothing are written, too
	quiet  *atomic.Bool // nothing is written; nil: it is
	keep   bool         // whether the answer is kept
	answer json.Value   // unless it is large

	answered  bool            // the answer has arrived
	aborted   bool            // the answer has broken off
	effect    recourse.Effect // of the call whose answer that is; "": not known
	lastEvent string          // the id of the last event
	retry     time.Duration
	onAnswer  func()
}

func (h *host) newAnswer(id wire.ID) *lineAnswer {
	return &lineAnswer{
		out: h.out, text: lineText{Text: spool.NewText(&h.room)}, id: id, retry: -1, onAnswer: func() {},
	}
}

// send gets an answer to a message. Answers to notifications are dropped: the handler has logged them.
func (h *host) send(ctx context.Context, a *lineAnswer, r *Request) {
	r.Context, r.From = ctx, h.from
	a.header, a.status, a.stream = http.Header{}, 0, false
	whole, effect := h.Handler.Answer(a, r)
	a.aborted, a.effect = !whole, effect
	a.end(ctx)
}

func (a *lineAnswer) Header() http.Header { return a.header }

// Begin implements [Writer].
func (a *lineAnswer) Begin(status int, stream bool) { a.status, a.stream = status, stream }

// Flush does nothing: a message is written when it is complete.
func (a *lineAnswer) Flush() {}

// Write takes a piece of the text that the answer consists of.
func (a *lineAnswer) Write(p []byte) (int, error) {
	if a.scan == nil {
		a.scan = new(wire.Scanner)
	}
	_, _ = a.scan.Write(p) // Close says what is wrong
	a.text.add(p)
	return len(p), nil
}

// Event implements [Writer].
func (a *lineAnswer) Event(e *wire.Event, is Said) (int, error) {
	if e.HasID {
		a.lastEvent = string(e.ID)
	}
	if e.Retry >= 0 {
		a.retry = e.Retry
	}
	switch {
	case is == Between:
	case is == Unknown && !a.stream:
		return a.Write(e.Data)
	case is != Unknown && e.First && e.Complete:
		a.message(e.Data, is)
	default:
		a.text.add(e.Data)
		if e.Complete {
			if is != Unknown {
				a.message(nil, is)
			}
			a.drop()
		}
	}
	return len(e.Data), nil
}

// message writes a message as a line: text, or what has been collected.
func (a *lineAnswer) message(text []byte, is Said) {
	if a.text.err != nil {
		return
	}
	if is == Answer {
		a.answered = true
		if a.keep {
			a.answer = a.kept(text)
		}
		defer a.onAnswer()
	}
	switch {
	case a.isQuiet():
	case text != nil:
		a.out.line(text)
	default:
		a.out.write(a.text.writeLine)
	}
}

func (a *lineAnswer) isQuiet() bool { return a.quiet != nil && a.quiet.Load() }

// kept returns a copy of a message: text, or what has been collected unless that is large.
func (a *lineAnswer) kept(text []byte) []byte {
	if text == nil {
		text = a.text.inMemory(maxKept)
	}
	return bytes.Clone(text)
}

// textIsMessage writes the text as a line if it is a message, and reports whether it is.
func (a *lineAnswer) textIsMessage() bool {
	if a.text.err != nil || a.scan == nil || a.scan.Close() != nil {
		return false
	}
	is := Notice
	switch signs := a.scan.Signs(); signs.Message() {
	case wire.Request, wire.Notification:
	case wire.Response:
		if len(a.id) > 0 && signs.ID.Equal(a.id) {
			is = Answer
		}
	case wire.Invalid: // an error that answers what had no id that can be read
		if !a.loud || signs.Error.IsZero() {
			return false
		}
	}
	a.message(nil, is)
	return true
}

// maxKept limits an answer that is kept, and maxRefusal the body of a refusal that is read.
const (
	maxKept    = 1 << 20
	maxRefusal = 64 << 10
)

func (a *lineAnswer) drop() {
	a.text.drop()
	a.scan = nil
}

// end handles the end of the answer. If one is expected but this is none, settle deals with it.
func (a *lineAnswer) end(ctx context.Context) {
	expected := len(a.id) > 0 && !a.answered || a.loud
	if a.stream || a.aborted || ctx.Err() != nil || !expected || a.textIsMessage() {
		a.drop()
	}
}

// wait returns how long to wait before the stream is reopened.
func (a *lineAnswer) wait() time.Duration {
	if a.retry < 0 {
		return resumeWait
	}
	return min(a.retry, resumeMost)
}

// settle makes sure that a request gets its answer: it repeats what the HTTP answer said if that was not a
// message. A cancelled call gets none.
func (a *lineAnswer) settle(ctx context.Context) {
	defer a.drop()
	if a.answered || ctx.Err() != nil || a.isQuiet() {
		return
	}
	if a.aborted || a.status == 0 || a.stream || a.text.err != nil {
		a.out.failure(a.id, a.brokenOff())
		return
	}
	code, message, data := a.refusal(a.text.inMemory(maxRefusal))
	a.out.rpcError(a.id, code, message, data)
}

// brokenOff returns the failure of a call whose answer was broken off.
func (a *lineAnswer) brokenOff() *recourse.Error {
	e := recourse.New(recourse.KindBadResponse, "").WithOrigin(recourse.OriginGateway)
	if a.effect == recourse.EffectNone {
		return e.WithEffect(recourse.EffectNone).WithMessage("The answer was broken off before its end. The call changed nothing.")
	}
	return e.WithEffect(recourse.EffectUnknown).
		WithMessage("The answer was broken off before its end. It is not known whether the call took effect.")
}

// refusal returns the JSON-RPC error for an HTTP answer: an error without an id, a problem document (RFC
// 9457), or anything else by its status.
func (a *lineAnswer) refusal(body []byte) (code int, message string, data []byte) {
	code = wire.CodeInternalError
	if a.status >= http.StatusBadRequest && a.status < http.StatusInternalServerError {
		code = wire.CodeInvalidRequest
	}
	var said struct {
		Title  string `json:"title"`
		Detail string `json:"detail"`
		Error  struct {
			Code    int        `json:"code"`
			Message string     `json:"message"`
			Data    json.Value `json:"data"`
		} `json:"error"`
	}
	isObject := json.Valid(body) && json.Value(body).Kind() == '{'
	if isObject {
		_ = json.UnmarshalLenient(body, &said) // what does not fit is left out
		data = bytes.Clone(body)
	}
	switch {
	case said.Error.Message != "" && said.Error.Code != 0:
		return said.Error.Code, said.Error.Message, said.Error.Data
	case said.Detail != "":
		return code, said.Detail, data
	case said.Title != "":
		return code, said.Title, data
	case a.status == http.StatusOK:
		return wire.CodeInternalError, "The answer is not a JSON-RPC message.", nil
	default:
		return code, fmt.Sprintf("The server answered with HTTP status %d %s.", a.status, http.StatusText(a.status)), data
	}
}
