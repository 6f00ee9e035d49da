package front

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/spool"
)

var (
	_ http.ResponseWriter = (*responder)(nil)
	_ http.Flusher        = (*responder)(nil)
)

// A responder is the handler's answer to one message from a host: an http.ResponseWriter that writes its
// messages as lines. A JSON body is one message; in an event stream each event is one, written as soon as it
// is complete.
type responder struct {
	out *lineWriter
	id  wire.ID       // of the request; empty if no answer is expected
	msg *wire.Message // what is answered; nil: it is none, or not parsed

	header http.Header
	status int
	stream bool
	pipe   *io.PipeWriter
	read   chan struct{} // closed when the events have been read

	text lineText
	scan wire.Scanner // of a JSON body

	overLimit bool // it is one too many

	loud   bool         // errors that answer nothing are written, too
	quiet  *atomic.Bool // nothing is written
	keep   bool         // whether the result is kept
	result json.Value   // of the answer, unless it is large

	answered  bool            // the answer has arrived
	aborted   bool            // the handler aborted the answer
	effect    recourse.Effect // of a call whose answer was broken off; "": not known
	lastEvent string          // the id of the last event
	retry     time.Duration
	onAnswer  func()
}

// BreaksOff tells w, if it writes to a host over stdio, that the handler is about to abort the answer, and whether the
// call took effect: nobody else can tell the host.
func BreaksOff(w http.ResponseWriter, effect recourse.Effect) {
	if a, ok := w.(*responder); ok {
		a.effect = effect
	}
}

// IsStdio reports whether the answer that w writes goes to a host over stdio: there are no headers then, and
// everything has to be in the body (MCP 2026-07-28, basic/transports/stdio, "Request Metadata").
func IsStdio(w http.ResponseWriter) bool {
	_, ok := w.(*responder)
	return ok
}

// IsOverLimit reports whether what w answers is to be refused, since a host over stdio has [MaxStdioCalls] under way.
func IsOverLimit(w http.ResponseWriter) bool {
	a, ok := w.(*responder)
	return ok && a.overLimit
}

// Message returns the message that w answers, if it has been parsed: that is so over stdio only. It is not to be changed,
// and is the body of the request.
func Message(w http.ResponseWriter) *wire.Message {
	if a, ok := w.(*responder); ok {
		return a.msg
	}
	return nil
}

func (h *host) newAnswer(id wire.ID) *responder {
	return &responder{
		out: h.out, text: lineText{Text: spool.NewText(&h.room)}, id: id,
		header: http.Header{}, retry: -1, quiet: new(atomic.Bool), onAnswer: func() {},
	}
}

// send gets an answer to a message. Answers to notifications are dropped: the handler has logged them.
func (h *host) send(ctx context.Context, a *responder, method string, l *hostLine, header http.Header) {
	var body io.Reader = http.NoBody
	if a.msg = nil; l != nil {
		a.msg, body = l.msg, bytes.NewReader(l.Text)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+h.Path, body)
	if err != nil { // the configuration has been checked
		h.Log.LogAttrs(ctx, slog.LevelError, "no request", slog.String("cause", err.Error()))
		return
	}
	if l != nil {
		r.ContentLength = int64(l.Size)
	}
	r.Header = header
	a.header, a.status, a.stream = http.Header{}, 0, false
	defer a.end(ctx)
	defer a.recovered()
	h.Handler.ServeHTTP(a, r)
}

// recovered ends the answer of a handler that has aborted it, in net/http's way. The gateway handles any other panic
// itself.
func (a *responder) recovered() {
	switch fault := recover(); fault {
	case nil:
	case http.ErrAbortHandler:
		a.aborted = true
	default:
		panic(fault)
	}
}

func (a *responder) Header() http.Header { return a.header }

// WriteHeader records the status of the answer.
func (a *responder) WriteHeader(status int) {
	if a.status != 0 {
		return
	}
	a.status = status
	a.stream = status == http.StatusOK && wire.IsMediaType(a.header.Get("Content-Type"), wire.TypeEventStream)
	if !a.stream {
		return
	}
	from, to := io.Pipe()
	a.pipe, a.read = to, make(chan struct{})
	go func() {
		defer close(a.read)
		a.events(from)
	}()
}

// Write takes a part of the body.
func (a *responder) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.stream {
		return a.pipe.Write(p)
	}
	_, _ = a.scan.Write(p) // Close says what is wrong
	a.text.add(p)
	return len(p), nil
}

// Flush does nothing: an event is sent when it is complete, and a message cannot be sent before that.
func (a *responder) Flush() {}

// SetReadDeadline does nothing: the message has been read.
func (a *responder) SetReadDeadline(time.Time) error { return nil }

func (a *responder) events(from io.Reader) {
	var messages wire.MessageReader
	messages.Reset(from, true, 0, 0)
	for part := range messages.Parts() {
		if !part.Other {
			a.text.add(part.Data)
		}
		if part.Retry >= 0 {
			a.retry = part.Retry
		}
		if !part.Complete {
			continue
		}
		if part.HasID {
			a.lastEvent = string(part.ID)
		}
		if !part.Other && part.Err == nil {
			a.message(part.Signs)
		}
		a.drop()
	}
	a.drop() // of half an event
}

// message writes the collected text as a line if it is a message, and reports whether it is.
func (a *responder) message(signs *wire.Signs) bool {
	if a.text.err != nil {
		return false
	}
	switch signs.Message() {
	case wire.Request, wire.Notification:
	case wire.Response:
		if len(a.id) > 0 && signs.ID.Equal(a.id) {
			a.answered = true
			if text := a.text.inMemory(maxKept); a.keep && text != nil {
				a.result = bytes.Clone(signs.Result.Of(text))
			}
			defer a.onAnswer()
		}
	case wire.Invalid: // an error that answers what had no id that can be read
		if !a.loud || signs.Error.IsZero() {
			return false
		}
	}
	if !a.quiet.Load() {
		a.out.write(a.text.writeLine)
	}
	return true
}

// maxKept limits a result that is kept, and maxRefusal the body of a refusal that is read.
const (
	maxKept    = 1 << 20
	maxRefusal = 64 << 10
)

func (a *responder) drop() {
	a.text.drop()
	a.scan.Reset()
}

// end handles a complete body. If an answer is expected but this is none, settle deals with it.
func (a *responder) end(ctx context.Context) {
	if a.stream {
		_ = a.pipe.Close() // never fails
		<-a.read
		return
	}
	expected := len(a.id) > 0 || a.loud
	if a.aborted || ctx.Err() != nil || !expected || a.scan.Close() == nil && a.message(a.scan.Signs()) {
		a.drop()
	}
}

// wait returns how long to wait before the stream is reopened.
func (a *responder) wait() time.Duration {
	if a.retry < 0 {
		return resumeWait
	}
	return min(a.retry, resumeMost)
}

// settle makes sure that a request gets its answer: it repeats what the HTTP answer said if that was not a
// message. A cancelled call gets none.
func (a *responder) settle(ctx context.Context) {
	defer a.drop()
	if a.answered || ctx.Err() != nil || a.quiet.Load() {
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
func (a *responder) brokenOff() *recourse.Error {
	e := recourse.New(recourse.KindBadResponse, "").WithOrigin(recourse.OriginGateway)
	if a.effect == recourse.EffectNone {
		return e.WithEffect(recourse.EffectNone).WithMessage("The answer was broken off before its end. The call changed nothing.")
	}
	return e.WithEffect(recourse.EffectUnknown).
		WithMessage("The answer was broken off before its end. It is not known whether the call took effect.")
}

// refusal returns the JSON-RPC error for an HTTP answer: an error without an id, a problem document (RFC
// 9457), or anything else by its status.
func (a *responder) refusal(body []byte) (code int, message string, data []byte) {
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
