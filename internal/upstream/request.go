package upstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A Connection carries requests to a server that presents itself as one over Streamable HTTP. It is safe for
// concurrent use.
type Connection interface {
	// Do sends a request and returns the answer, whatever its status; the caller must close it. The
	// error is a [*recourse.Error] of origin gateway: cancelled or timeout if ctx ended, otherwise why the
	// server cannot be reached. It states recourse.EffectNone if the request has not been sent, and no effect
	// if it may have arrived. [Broken] says what an error from reading the body means.
	Do(ctx context.Context, r *Request) (*wire.Answer, error)
	// Name returns the server's display name.
	Name() string
	// Close releases what the connection holds.
	Close()
}

// A Request is a message to a server, or the opening of a stream (GET) or the end of a
// session (DELETE).
type Request struct {
	Method string      // of HTTP; empty means POST
	Header http.Header // belongs to Do from then on

	// Message is the parsed message. It is neither changed nor used after Do has returned; its Raw may still
	// be read then (see [http.RoundTripper]).
	Message *wire.Message
	Body    []byte // instead of Message; it must not change any more

	Caller Caller  // on whose behalf it is made
	Outer  any     // the gateway's own call that it is a part of, which means nothing to others; nil: there is none
	Beside *Beside // gets what a program writes besides its answer; nil: nobody asks
}

// A Caller tells apart those on whose behalf requests are made. The zero Caller may be anybody.
type Caller [sha256.Size]byte

// CallerOf returns the caller identified by these words; without any, it may be anybody.
func CallerOf(words ...string) Caller {
	if len(words) == 0 {
		return Caller{}
	}
	var room [256]byte // enough for most callers
	text := room[:0]
	for _, word := range words {
		text = append(append(text, word...), 0)
	}
	return sha256.Sum256(text)
}

// IsAnonymous reports whether it may be anybody.
func (c Caller) IsAnonymous() bool { return c == Caller{} }

// IsPost reports whether the request is a message.
func (r *Request) IsPost() bool { return r.Method == "" || r.Method == http.MethodPost }

// For returns another request on the same behalf.
func (r *Request) For(header http.Header, body []byte) *Request {
	return &Request{Header: header, Body: body, Caller: r.Caller, Outer: r.Outer, Beside: r.Beside}
}

// Clone returns a copy with headers of its own.
func (r *Request) Clone() *Request {
	c := *r
	c.Header = r.Header.Clone()
	return &c
}

func (r *Request) text() []byte {
	if r.Message != nil {
		return r.Message.Raw
	}
	return r.Body
}

// WholeAnswer is a complete answer to a request.
type WholeAnswer struct {
	Status int
	Header http.Header
	Result []byte // the member result
	Error  []byte // the member error
	Body   []byte // instead of the two, if the status is not 200
}

// Ask makes a request whose answer the caller needs itself, such as initialize or tools/list, and reads the
// answer to its end, up to limit bytes. Anything else that the server says meanwhile is dropped. The error is
// that of [Connection], the Failure of the answer, or bad_response of origin server.
func Ask(ctx context.Context, to Connection, r *Request, id wire.ID, limit int64) (*WholeAnswer, error) {
	resp, err := to.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer resp.Close()
	answer, err := read(ctx, to.Name(), resp, id, limit)
	if resp.Failure != nil {
		return nil, resp.Failure
	}
	return answer, err
}

func read(ctx context.Context, name string, resp *wire.Answer, id wire.ID, limit int64) (*WholeAnswer, error) {
	answer := &WholeAnswer{Status: resp.Status, Header: resp.Header}
	if resp.Status != http.StatusOK {
		answer.Body, _ = io.ReadAll(io.LimitReader(resp, limit+1)) // if reading fails, the status still counts
		return answer, nil
	}
	// Twice, since the data of an event of several lines is held beside the lines.
	messages, size := wire.NewMessageReader(resp, 2*int(limit)+2), int64(0)
	for part := range messages.Parts() {
		size += int64(max(len(part.Raw), len(part.Data)))
		switch {
		case size > limit:
			return nil, BadResponse(name, fmt.Errorf("the answer is larger than %d bytes", limit))
		case part.Other, !part.Complete && part.Err == nil:
		case part.Err != nil:
			return nil, BadResponse(name, part.Err)
		case part.Kind == wire.Response && part.Signs.ID.Equal(id):
			answer.Result = bytes.Clone(part.Signs.Result.Of(part.Data))
			answer.Error = bytes.Clone(part.Signs.Error.Of(part.Data))
			return answer, nil
		}
	}
	if err := messages.End(); wire.BrokeOff(err) {
		return nil, Broken(ctx, name, err)
	}
	return nil, BadResponse(name, errNoAnswer)
}

// errNoAnswer says that an answer does not contain one to the request.
var errNoAnswer = errors.New("no answer with the id of the request")

// BadResponse is the failure for an answer from the server of that name that breaks the protocol.
func BadResponse(name string, err error) *recourse.Error {
	return recourse.BadResponse(name).WithOrigin(recourse.OriginServer).CausedBy(err)
}

// Broken turns an error in sending, or in reading the answer of the server of that name, into the
// corresponding Error.
func Broken(ctx context.Context, name string, err error) *recourse.Error {
	if e, ok := errors.AsType[*recourse.Error](err); ok && ctx.Err() == nil {
		return e
	}
	e := recourse.From(err)
	if cause := context.Cause(ctx); cause != nil {
		if own, ok := errors.AsType[*recourse.Error](cause); ok {
			e = own
		} else {
			e = recourse.From(cause)
		}
	}
	switch {
	case e.Kind == recourse.KindCancelled, e.Kind == recourse.KindTimeout && e.Message != "" && e.Provider != "":
	case e.Kind == recourse.KindTimeout:
		e = recourse.Timeout(name, 0)
	case e.Effect == recourse.EffectNone:
		e = recourse.Unreachable(name).WithEffect(recourse.EffectNone)
	default:
		e = recourse.Unreachable(name).WithMessage("The connection to %s broke before the answer was complete.", name)
	}
	return e.WithOrigin(recourse.OriginGateway).WithProvider(name).CausedBy(err)
}

// EndedBeforeSend is the failure for a message that was not sent before ctx ended.
func EndedBeforeSend(ctx context.Context, name string) *recourse.Error {
	return Broken(ctx, name, context.Cause(ctx)).WithEffect(recourse.EffectNone)
}
