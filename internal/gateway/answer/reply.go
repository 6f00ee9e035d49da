package answer

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/front"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/rpccode"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A Reply is the only way to answer the client.
type Reply struct {
	W      front.Writer
	HTTP   front.HTTPWriter         // the memory of w, over HTTP
	Passes func(header string) bool // reports whether a header of the server's answer is passed on

	Call    Call           // that it ends
	From    *wire.Answer   // the server's answer
	Opening func()         // opens a session before that is passed on; nil: it does not open one
	rewrite *wire.Rewriter // of a large message; nil: it is passed on as it is

	Limits  bool // its headers report what remains of the limits
	told    bool // Call knows that the client is about to have its answer
	Started bool // part of the answer has been sent
	events  bool // the answer is an event stream
	Broken  bool // which was aborted
	held    bool // only progress of the gateway's own has been sent
	wraps   bool // the stream was begun for that: a JSON answer becomes an event of it
	Gone    bool // the client does not read it
	Status  int
	Bytes   int64
}

// A Call is told, once, that its client is about to have its answer, or the first piece of it.
type Call interface{ Answering() }

func (r *Reply) answering() {
	if !r.told {
		r.told = true
		r.Call.Answering()
	}
}

// Header returns the header fields, which count until the answer begins.
func (r *Reply) Header() http.Header { return r.W.Header() }

// Send sends a text that need not be a message.
func (r *Reply) Send(status int, body []byte) {
	r.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	r.begin(status, false)
	_, _ = r.Write(body) // it notes whether the client has gone
}

// Empty sends an answer without a body.
func (r *Reply) Empty() { r.begin(http.StatusNoContent, false) }

// Accepted says that a message without an answer of its own has been taken.
func (r *Reply) Accepted() { r.Send(http.StatusAccepted, nil) }

// Message sends a JSON-RPC message from the gateway, the answer to the request with that id, as the last event if a
// stream has begun. Nobody knows what an answer without an id answers.
func (r *Reply) Message(status int, id wire.ID, message []byte) {
	if !r.events {
		r.Header()["Content-Type"] = []string{wire.TypeJSON}
		if id.IsZero() {
			r.Send(status, message)
			return
		}
		r.Header()["Content-Length"] = []string{strconv.Itoa(len(message))}
		r.begin(status, false)
	}
	r.Say(wire.MessageEvent(message), front.Answer)
}

// begin sends the status and headers.
func (r *Reply) begin(status int, stream bool) {
	if !stream {
		r.answering()
	}
	r.Started, r.Status, r.events = true, status, stream
	r.W.Begin(status, stream)
}

// BeginEvents begins a stream of the gateway's own.
func (r *Reply) BeginEvents() {
	header := r.Header()
	header["Content-Type"] = []string{wire.TypeEventStream}
	header["Cache-Control"] = []string{"no-cache"}
	r.begin(http.StatusOK, true)
}

// Write sends a piece of a text. An error means that the client has gone.
func (r *Reply) Write(p []byte) (int, error) { return r.sent(r.W.Write(p)) }

func (r *Reply) sent(n int, err error) (int, error) {
	r.Bytes += int64(n)
	r.Gone = r.Gone || err != nil
	return n, err
}

// Say sends an event, or a piece of one.
func (r *Reply) Say(e *wire.Event, is front.Said) {
	r.held = false
	if is == front.Answer {
		r.answering()
	}
	_, _ = r.sent(r.W.Event(e, is))
}

// Note sends a notification of the gateway's own.
func (r *Reply) Note(message []byte) error {
	_, err := r.sent(r.W.Event(wire.MessageEvent(message), front.Notice))
	return err
}

// Abort breaks the answer off, so that the client notices that it is incomplete. Everything received so far
// is sent first.
func (r *Reply) Abort() {
	r.W.Flush()
	r.Broken = true
}

// Arrived sends what is left of the answer, and reports whether the client has got all of it, as far as that can be known.
func (r *Reply) Arrived() bool {
	r.W.Flush()
	return r.Started && !r.Gone && !r.Broken
}

// copyHeader copies the server's headers that are passed on.
func (r *Reply) copyHeader(from *wire.Answer) {
	to := r.Header()
	for name, values := range from.Header {
		if r.Passes(name) && (!r.Limits || !limits.Tells(name)) {
			to[name] = values
		}
	}
	if kind := from.ContentType(); kind != "" && from.Header["Content-Type"] == nil { // it did not come over HTTP
		to["Content-Type"] = []string{kind}
		if from.Stream {
			to["Cache-Control"] = []string{"no-cache"}
		}
	}
}

// Head sends the status and headers of the server's answer, which has length bytes; 0: it is not known how many.
func (r *Reply) Head(length int64, stream bool) {
	if r.Opening != nil {
		r.Opening()
	}
	if length > 0 {
		r.Header()["Content-Length"] = []string{strconv.FormatInt(length, 10)}
	}
	r.copyHeader(r.From)
	r.begin(r.From.Status, stream)
}

// PassOn sends a text of the server's unchanged; body is the whole of it. If the server breaks it off, so does the gateway.
func (r *Reply) PassOn(body io.Reader) {
	r.Head(r.From.Length, false)
	if _, err := io.Copy(r, body); err != nil && !r.Gone {
		r.Abort()
	}
}

// Relay sends a piece of a message of the server's, or what stands between messages, in a stream or as the answer itself.
func (r *Reply) Relay(piece *wire.Event, stream bool, is front.Said) {
	switch {
	case r.rewrite != nil:
		data := r.rewrite.Append(make([]byte, 0, len(piece.Data)), piece.Data)
		if piece.Complete {
			data = r.rewrite.Close(data)
		}
		piece = piece.Changed(data)
	case r.wraps && !stream:
		piece = piece.Changed(piece.Data)
		piece.Type = []byte("message")
	}
	switch {
	case r.Started:
	case stream:
		r.StartEvents()
	case r.rewrite != nil: // it changes the length
		r.Head(0, false)
	case piece.First && piece.Complete:
		r.Head(int64(len(piece.Data)), false)
	default:
		r.Head(r.From.Length, false)
	}
	r.Say(piece, is)
}

// StartEvents begins the server's stream, unless it has begun.
func (r *Reply) StartEvents() {
	if !r.Started {
		r.Head(0, true)
	}
}

// Progress tells the client that its call goes on. Progress has to grow: the steps are small, since the server may report its own
// later on.
func (r *Reply) Progress(token json.Value, n int) {
	if !r.Started {
		r.held, r.wraps = true, true
		r.BeginEvents()
	}
	if r.events {
		_ = r.Note(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"progressToken":%s,"progress":%d.%03d,"message":%q}}`,
			wire.MethodProgress, token, n/1000, n%1000, "The call goes on.")) // the client has gone: the context says so
	}
}

// HasBegun reports whether part of the server's answer has been sent.
func (r *Reply) HasBegun() bool { return r.Started && !r.held }

// PassMethods tells the client which HTTP methods the server accepts, which is how clients find out that there is no
// stream to listen to. An answer without a message gets one, since some clients would otherwise try an older
// transport.
func (r *Reply) PassMethods(title string) End {
	resp := r.From
	if resp.Header.Get("Allow") == "" {
		resp.Header.Set("Allow", http.MethodPost)
	}
	if wire.IsMediaType(resp.Header.Get("Content-Type"), wire.TypeJSON) {
		r.PassOn(resp)
		return End{Why: Answered}
	}
	allow := resp.Header["Allow"]
	r.Header()["Allow"] = allow
	e := recourse.New(recourse.KindInvalidRequest, fmt.Sprintf("%s takes %s.", title, strings.Join(allow, ", ")))
	return (&Failure{Err: e, Status: resp.Status, Expected: true}).End()
}

// ProtocolStatus returns the HTTP status that the era requires for a kind, or 0.
func (r *Reply) ProtocolStatus(method string, modern bool, kind recourse.Kind) int {
	switch {
	case r.Started:
		return 0
	case !modern && kind == recourse.KindUnknownSession:
		return http.StatusNotFound
	case kind == recourse.KindUnsupportedVersion: // in neither era
		return http.StatusBadRequest
	case !modern, method == wire.MethodToolsCall && !rpccode.ForProgram(kind):
		return 0
	case method == wire.MethodDiscover && kind.Class() == recourse.ClassUpstream:
		// A JSON-RPC error in an answer with status 200 is how a legacy server says that it does not know the
		// method.
		return http.StatusServiceUnavailable
	}
	switch kind {
	case recourse.KindUnknownMethod:
		return http.StatusNotFound
	case recourse.KindHeaderMismatch, recourse.KindMissingCapability:
		return http.StatusBadRequest
	default:
		return 0
	}
}
