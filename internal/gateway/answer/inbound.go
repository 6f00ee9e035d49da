package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/deadline"
	"github.com/recoursehq/recourse/internal/gateway/failures"
	"github.com/recoursehq/recourse/internal/gateway/front"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// An Inbound is the server's answer to the last attempt, on its way to the client. It knows what may be wrong with one.
type Inbound struct {
	Request *wire.Message // that it answers
	Era     wire.Era      // of that
	By      string        // the id of the request in the log
	ID      wire.ID       // the request's id at the server; nil: the client's own
	Session string        // in which the request was made, at the server

	Server *config.Server   // who answers
	Reader *failures.Reader // of its failures
	Config *config.Config   // how much of it is read
	Log    *slog.Logger
	Large  pause.Turn // of its failures that are large

	Reply    *Reply
	Deadline *deadline.Deadline
	Masks    bool                                // what is no answer is masked as well
	Whole    bool                                // an answer is not passed on before all of it is known
	Binds    bool                                // nor is a question
	Masker   func() *redact.Masker               // of its failures
	Links    func(links string) bool             // says whether the model is told of links, since the client cannot show them
	Notice   func(of *wire.Signs)                // is told of what is no answer
	Unmet    func(result []byte) *recourse.Error // what a success lacks that was expected of it; nil: nothing
	Edit     func(text []byte) []byte            // changes a whole success
	Wait     func(read func())                   // is what waits for a part; nil: nothing needs to

	Resp     *wire.Answer
	Stream   bool // it is an event stream
	Messages *wire.MessageReader
	Part     *wire.Part    // the current one
	Err      error         // why there is no other
	Scan     *wire.Scanner // shared by other texts
	Signs    *wire.Signs   // of the current message
	text     []byte        // the beginning of a JSON answer
	Cut      string        // the limit at which the input was cut; "": it is complete

	wrong     error // why a message was dropped
	resumable bool  // the client may resume the stream: events have ids, or the server has said when

	HasQuestion bool // the server has asked the client a question
	Continues   bool // the stream continues after the answer
	large       bool // it has the turn of a large failure
}

// NewInbound returns one with the memory that each needs.
func NewInbound(
	masker func() *redact.Masker, links func(string) bool, notice func(*wire.Signs), unmet func([]byte) *recourse.Error,
	edit func([]byte) []byte,
) *Inbound {
	return &Inbound{
		Messages: new(wire.MessageReader),
		Masker:   masker, Links: links, Notice: notice, Unmet: unmet, Edit: edit,
	}
}

// Forget keeps only that.
func (in *Inbound) Forget() {
	*in = Inbound{
		Messages: in.Messages, Scan: in.Scan, Masker: in.Masker, Links: in.Links, Notice: in.Notice, Unmet: in.Unmet, Edit: in.Edit,
	}
	in.Messages.Reset(nil, false, 0, 0)
	if in.Scan != nil {
		in.Scan.Reset()
	}
}

// Shown returns what is known of the attempt's end while its answer is being read.
func (in *Inbound) Shown() *End {
	if in.Resp == nil {
		return new(End)
	}
	return &End{Status: in.Resp.Status, Full: in.Resp.Status == http.StatusOK}
}

// isCall reports whether it is the answer to the call of a tool.
func (in *Inbound) isCall() bool { return in.Request.Method == wire.MethodToolsCall }

// Open prepares to read the answer.
func (in *Inbound) Open() {
	in.Stream = in.Resp.Stream
	in.Messages.Read(in.Resp, int(in.Config.DecideWithin))
	in.text, in.wrong, in.resumable = nil, nil, false
}

// Next reads the next message, or piece of one. It reports false when there is none, and err says why. Each reader of an
// answer has its loop around next rather than [wire.MessageReader.Parts]: a large message is read on by others, and
// what came before a fault is in part.
func (in *Inbound) Next() bool {
	in.Part, in.Err = in.Messages.Next()
	if in.Part != nil {
		in.Signs = in.Part.Signs
	}
	return in.Err == nil
}

// Said returns what the current part says to the client.
func (in *Inbound) Said() front.Said {
	switch {
	case in.Part.Other:
		return front.Between
	case in.Part.Kind == wire.Response && in.Signs.ID.Equal(in.SentID()):
		return front.Answer
	case in.Part.Kind == wire.Invalid:
		return front.Unknown
	default:
		return front.Notice
	}
}

// Close handles the rest of the answer after the client has received its own: the end of a stream, or a second
// answer, which is dropped.
func (in *Inbound) Close() {
	if in.large {
		in.large = false
		in.Large.Leave()
	}
	if in.Continues {
		in.Messages.Drain(in.Resp)
		in.Continues = false
	}
}

// noteResumption notes whether the client may resume the stream.
func (in *Inbound) noteResumption() {
	in.resumable = in.resumable || len(in.Part.ID) > 0 || in.Part.Retry >= 0
}

// Rescan scans a text that did not come from next.
func (in *Inbound) Rescan(text []byte) error {
	if in.Scan == nil { // streams that wait do not need it
		in.Scan = new(wire.Scanner)
	}
	in.Scan.Reset()
	_, err := in.Scan.Write(text)
	in.Signs = in.Scan.Signs()
	return cmp.Or(err, in.Scan.Close())
}

// SentID returns the request's id at the server.
func (in *Inbound) SentID() wire.ID {
	if in.ID != nil {
		return in.ID
	}
	return in.Request.ID
}

// Forged reports whether the current message, as far as it has arrived, has a record under our key from a
// server that is not trusted. Such a record is removed: it is the gateway's statement to its client.
func (in *Inbound) Forged() bool { return in.Signs.Record && !in.Server.Trusted }

// IsWhole reports whether a message is a response that no client can mistake for anything else.
func IsWhole(signs *wire.Signs) bool {
	return signs.Message() == wire.Response && signs.JSONRPC && strings.Count(signs.Duplicate, "/") != 1
}

var (
	errWrongID = errors.New("the answer has another id than the request")
	// ErrNoMessage is why what has arrived is not taken for an answer.
	ErrNoMessage = errors.New("the answer is not a JSON-RPC response")
	errTooLarge  = errors.New("the answer is larger than max_result allows")
)

// flaw returns why the current message, as far as it has been read, does not answer the request.
func (in *Inbound) flaw() error {
	switch piece, signs := in.Part, in.Signs; {
	case piece.Err != nil:
		return piece.Err
	case piece.Complete && !IsWhole(signs):
		return ErrNoMessage
	case (piece.Complete || len(signs.ID) > 0) && !signs.ID.Equal(in.SentID()):
		return errWrongID
	default:
		return nil
	}
}

// ended returns why an answer has ended before the final message; nil: on purpose. A legacy server may close a
// stream, and its client resumes it with a GET.
func (in *Inbound) ended(ctx context.Context) *recourse.Error {
	switch {
	case wire.BrokeOff(in.Err), ctx.Err() != nil:
		return in.broken(ctx)
	case in.wrong != nil:
		return in.bad(in.wrong)
	case errors.Is(in.Err, io.EOF) && in.resumable && in.Era == wire.Legacy && in.ID == nil: // else the client knows another id
		return nil
	default:
		return in.bad(ErrNoMessage).WithMessage("%s ended its answer without a result.", in.Server.Title)
	}
}

// broken is the failure for an answer that cannot be read to its end.
func (in *Inbound) broken(ctx context.Context) *recourse.Error {
	return upstream.Broken(ctx, in.Server.Title, in.Err)
}

// garbled is the failure for an answer that cannot be read. Once the call's time is over, the server may have ended it for that reason.
func (in *Inbound) garbled(ctx context.Context, err error) *recourse.Error {
	if ctx.Err() != nil {
		return upstream.Broken(ctx, in.Server.Title, err)
	}
	return in.bad(err)
}

// breakOff ends an answer that has begun: the client sees that it is incomplete.
func (in *Inbound) breakOff(cause error) End {
	e := recourse.From(cause)
	if e.Kind == recourse.KindInternal {
		e = in.Reader.BadResponse(cause)
	}
	return (&Failure{Err: e, Off: true}).End()
}

// bad is the failure for an answer that breaks the protocol.
func (in *Inbound) bad(err error) *recourse.Error {
	header := in.Resp.Header
	text := observe.Beginning(string(in.text))
	return in.Reader.BadResponse(fmt.Errorf("%w: %s: %q", err, in.Resp.ContentType(), text)).
		WithUpstream(recourse.Upstream{RequestID: header.Get(wire.HeaderRequestID)})
}

// tooMuch reports whether an answer of size bytes exceeds the limit.
func (in *Inbound) tooMuch(size int64) bool {
	limit := int64(in.Config.MaxResult)
	return limit > 0 && size > limit
}

func (in *Inbound) tooLarge() *recourse.Error {
	return in.bad(errTooLarge).
		WithMessage("%s sent an answer larger than the %s allowed.", in.Server.Title, in.Config.MaxResult)
}
