package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/front"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// inbound is the server's answer to the last attempt, while it is being read. It knows what may be wrong with one.
type inbound struct {
	req     *request       // what it answers
	to      *target        // who sends it
	config  *config.Config // how much of it is read
	session string         // in which the request was made, at the server

	resp     *wire.Answer
	stream   bool // it is an event stream
	messages *wire.MessageReader
	part     *wire.Part    // the current one
	err      error         // why there is no other
	scan     *wire.Scanner // shared by other texts
	signs    *wire.Signs   // of the current message
	text     []byte        // the beginning of a JSON answer
	id       wire.ID       // the request's id at the server; nil: the client's own
	cut      string        // the limit at which the input was cut; "": it is complete

	wrong     error // why a message was dropped
	resumable bool  // the client may resume the stream: events have ids, or the server has said when

	hasQuestion bool   // the server has asked the client a question
	continues   bool   // the stream continues after the answer
	release     func() // releases the room held for a large failure
}

// reset prepares for the answer to another attempt.
func (in *inbound) reset(a *attempt, resp *wire.Answer) {
	in.req, in.to, in.config = &a.of.req, a.of.on.to, a.of.table.config
	in.resp, in.id, in.session, in.cut = resp, a.id, a.session, ""
}

// shown returns what is known of the attempt's end while its answer is being read.
func (in *inbound) shown() *end {
	if in.resp == nil {
		return new(end)
	}
	return &end{status: in.resp.Status, full: in.resp.Status == http.StatusOK}
}

// open prepares to read the answer.
func (in *inbound) open() {
	in.stream = in.resp.Stream
	in.messages.Read(in.resp, int(in.config.DecideWithin))
	in.text, in.wrong, in.resumable = nil, nil, false
}

// next reads the next message, or piece of one. It reports false when there is none, and err says why. Each reader of an
// answer has its loop around next rather than [wire.MessageReader.Parts]: a large message is read on by others, and
// what came before a fault is in part.
func (in *inbound) next() bool {
	in.part, in.err = in.messages.Next()
	if in.part != nil {
		in.signs = in.part.Signs
	}
	return in.err == nil
}

// said returns what the current part says to the client.
func (in *inbound) said() front.Said {
	switch {
	case in.part.Other:
		return front.Between
	case in.part.Kind == wire.Response && in.signs.ID.Equal(in.sentID()):
		return front.Answer
	case in.part.Kind == wire.Invalid:
		return front.Unknown
	default:
		return front.Notice
	}
}

// close handles the rest of the answer after the client has received its own: the end of a stream, or a second
// answer, which is dropped.
func (in *inbound) close() {
	if in.release != nil {
		in.release()
		in.release = nil
	}
	if in.continues {
		in.messages.Drain(in.resp)
		in.continues = false
	}
}

// noteResumption notes whether the client may resume the stream.
func (in *inbound) noteResumption() {
	in.resumable = in.resumable || len(in.part.ID) > 0 || in.part.Retry >= 0
}

// rescan scans a text that did not come from next.
func (in *inbound) rescan(text []byte) error {
	in.scan.Reset()
	_, err := in.scan.Write(text)
	in.signs = in.scan.Signs()
	return cmp.Or(err, in.scan.Close())
}

// sentID returns the request's id at the server.
func (in *inbound) sentID() wire.ID {
	if in.id != nil {
		return in.id
	}
	return in.req.msg.ID
}

// forged reports whether the current message, as far as it has arrived, has a record under our key from a
// server that is not trusted. Such a record is removed: it is the gateway's statement to its client.
func (in *inbound) forged() bool { return in.signs.Record && !in.to.entry.Trusted }

// isWhole reports whether a message is a response that no client can mistake for anything else.
func isWhole(signs *wire.Signs) bool {
	return signs.Message() == wire.Response && signs.JSONRPC && strings.Count(signs.Duplicate, "/") != 1
}

var (
	errWrongID   = errors.New("the answer has another id than the request")
	errNoMessage = errors.New("the answer is not a JSON-RPC response")
	errTooLarge  = errors.New("the answer is larger than max_result allows")
)

// flaw returns why the current message, as far as it has been read, does not answer the request.
func (in *inbound) flaw() error {
	switch piece, signs := in.part, in.signs; {
	case piece.Err != nil:
		return piece.Err
	case piece.Complete && !isWhole(signs):
		return errNoMessage
	case (piece.Complete || len(signs.ID) > 0) && !signs.ID.Equal(in.sentID()):
		return errWrongID
	default:
		return nil
	}
}

// ended returns why an answer has ended before the final message; nil: on purpose. A legacy server may close a
// stream, and its client resumes it with a GET.
func (in *inbound) ended(ctx context.Context) *recourse.Error {
	switch {
	case wire.BrokeOff(in.err):
		return in.to.broken(ctx, in.err)
	case in.wrong != nil:
		return in.bad(in.wrong)
	case errors.Is(in.err, io.EOF) && in.resumable && in.req.era == wire.Legacy && in.id == nil: // else the client knows another id
		return nil
	default:
		return in.bad(errNoMessage).WithMessage("%s ended its answer without a result.", in.to.entry.Title)
	}
}

// bad is the failure for an answer that breaks the protocol.
func (in *inbound) bad(err error) *recourse.Error {
	header := in.resp.Header
	text := observe.Beginning(string(in.text))
	return in.to.reader.BadResponse(fmt.Errorf("%w: %s: %q", err, in.resp.ContentType(), text)).
		WithUpstream(recourse.Upstream{RequestID: header.Get(wire.HeaderRequestID)})
}

// tooMuch reports whether an answer of size bytes exceeds the limit.
func (in *inbound) tooMuch(size int64) bool {
	limit := int64(in.config.MaxResult)
	return limit > 0 && size > limit
}

func (in *inbound) tooLarge() *recourse.Error {
	return in.bad(errTooLarge).
		WithMessage("%s sent an answer larger than the %s allowed.", in.to.entry.Title, in.config.MaxResult)
}
