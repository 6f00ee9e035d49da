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
	"github.com/recoursehq/recourse/internal/wire"
)

// A Connection carries requests to a server that presents itself as one over Streamable HTTP.
// It is safe for concurrent use.
type Connection interface {
	// Do sends a request and returns the answer, whatever its status; closing its body is
	// left to the caller. The error is a [*recourse.Error] of origin gateway: cancelled or
	// timeout when ctx ended, else why the server cannot be reached. It states
	// recourse.EffectNone when the request has not been sent, and no effect when it may
	// have arrived. [Broken] tells what an error of reading the body means.
	Do(ctx context.Context, r *Request) (*http.Response, error)
	// Name returns what people call the server.
	Name() string
	// Close ends what the connection holds.
	Close()
}

// A Request is a message to a server, or the opening of a stream (GET) or the end of a
// session (DELETE).
type Request struct {
	Method string      // of HTTP; empty means POST
	Header http.Header // belongs to Do from then on

	// Message is the message, parsed. It is neither changed nor used after Do has
	// returned; its Raw may still be read then (see [http.RoundTripper]).
	Message *wire.Message
	Body    []byte // in place of Message; it must not change any more

	Caller Caller // for whom it is made
}

// A Caller tells those apart for whom requests are made. The zero Caller may be anybody.
type Caller [sha256.Size]byte

// CallerOf returns the caller of whom these words are known; without any it may be anybody.
func CallerOf(words ...string) Caller {
	if len(words) == 0 {
		return Caller{}
	}
	var room [256]byte // which most callers need no more than
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

// Answer is the answer to a request, as a whole.
type Answer struct {
	Status int
	Header http.Header
	Result []byte // the member result
	Error  []byte // the member error
	Body   []byte // with a status other than 200, in place of the two
}

// Ask makes a request whose answer the caller needs for itself, such as initialize or
// tools/list, and reads the answer to its end, up to limit bytes. What else the server says
// meanwhile is dropped. The error is that of [Connection], or bad_response of origin server.
func Ask(ctx context.Context, to Connection, r *Request, id wire.ID, limit int64) (*Answer, error) {
	resp, err := to.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	limited := &io.LimitedReader{R: resp.Body, N: limit + 1}
	answer := &Answer{Status: resp.StatusCode, Header: resp.Header}
	if resp.StatusCode != http.StatusOK {
		answer.Body, _ = io.ReadAll(limited) // a broken body says no more than the status
		return answer, nil
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{limited, resp.Body}
	messages := wire.NewMessageReader(resp, int(limit)+1)
	for {
		part, err := messages.Next()
		switch {
		case err == nil && part.Kind == wire.Response && part.Complete && part.Signs.ID.Equal(id):
			answer.Result = bytes.Clone(part.Signs.Result.Of(part.Data))
			answer.Error = bytes.Clone(part.Signs.Error.Of(part.Data))
			return answer, nil
		case limited.N <= 0:
			return nil, BadResponse(to.Name(), fmt.Errorf("the answer is larger than %d bytes", limit))
		case errors.Is(err, io.EOF), errors.Is(err, wire.ErrUnfinishedEvent):
			return nil, BadResponse(to.Name(), errNoAnswer)
		case err != nil:
			return nil, Broken(ctx, to.Name(), err)
		case part.Err != nil:
			return nil, BadResponse(to.Name(), part.Err)
		}
	}
}

// errNoAnswer says that an answer holds none to the request.
var errNoAnswer = errors.New("no answer with the id of the request")

// BadResponse is the failure of an answer, of the server that people call name, that breaks
// the protocol.
func BadResponse(name string, err error) *recourse.Error {
	return recourse.BadResponse(name).WithOrigin(recourse.OriginServer).CausedBy(err)
}

// Broken turns an error of sending, or of reading the answer of the server that people call
// name, into the Error that it means.
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

// Unsent is the failure of a message that was not sent before ctx ended.
func Unsent(ctx context.Context, name string) *recourse.Error {
	return Broken(ctx, name, context.Cause(ctx)).WithEffect(recourse.EffectNone)
}
