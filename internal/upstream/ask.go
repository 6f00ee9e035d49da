package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/wire"
)

// Answer is the answer to a request, as a whole.
type Answer struct {
	Status int
	Header http.Header
	Result []byte // the member result
	Error  []byte // the member error
	Body   []byte // with a status other than 200, in place of the two
}

// A Sender sends messages to a server, as [HTTP] and [Stdio] do.
type Sender interface {
	// Send sends a message and returns the answer; see [HTTP.Send].
	Send(ctx context.Context, method string, header http.Header, body []byte) (*http.Response, error)
	// Post is Send for POST and a message that has been parsed, which is not changed, nor
	// used after Post has returned. Its Raw is: see [HTTP.Send].
	Post(ctx context.Context, header http.Header, m *wire.Message) (*http.Response, error)
	// Broken turns an error of Send, or of reading the answer, into the Error that it
	// means.
	Broken(ctx context.Context, err error) *recourse.Error
	// Name returns what people call the server.
	Name() string
}

// Ask sends a request whose answer the caller needs for itself and reads it to its
// end, up to limit bytes; see [HTTP.Ask].
func Ask(ctx context.Context, s Sender, header http.Header, body []byte, id wire.ID, limit int64) (*Answer, error) {
	resp, err := s.Send(ctx, http.MethodPost, header, body)
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
			return nil, badResponse(s.Name(), fmt.Errorf("the answer is larger than %d bytes", limit))
		case errors.Is(err, io.EOF), errors.Is(err, wire.ErrUnfinishedEvent):
			return nil, badResponse(s.Name(), errNoAnswer)
		case err != nil:
			return nil, s.Broken(ctx, err)
		case part.Err != nil:
			return nil, badResponse(s.Name(), part.Err)
		}
	}
}

func badResponse(name string, err error) *recourse.Error {
	return recourse.BadResponse(name).WithOrigin(recourse.OriginServer).CausedBy(err)
}

// errNoAnswer says that an answer holds none to the request.
var errNoAnswer = errors.New("no answer with the id of the request")
