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
	switch err := answer.read(limited, id); {
	case err == nil:
		return answer, nil
	case limited.N <= 0:
		return nil, badResponse(s.Name(), fmt.Errorf("the answer is larger than %d bytes", limit))
	case isBroken(err):
		return nil, s.Broken(ctx, err)
	default:
		return nil, badResponse(s.Name(), err)
	}
}

func badResponse(name string, err error) *recourse.Error {
	return recourse.BadResponse(name).WithOrigin(recourse.OriginServer).CausedBy(err)
}

// errNoAnswer says that an answer holds none to the request.
var errNoAnswer = errors.New("no answer with the id of the request")

func isBroken(err error) bool {
	_, syntax := errors.AsType[*wire.SyntaxError](err)
	return !syntax && !errors.Is(err, errNoAnswer)
}

// read finds the answer to id in a JSON body or an event stream.
func (a *Answer) read(body io.Reader, id wire.ID) error {
	if !wire.IsMediaType(a.Header.Get("Content-Type"), wire.TypeEventStream) {
		text, err := io.ReadAll(body)
		if err != nil {
			return err
		}
		if ok, err := a.take(text, id); ok || err != nil {
			return err
		}
		return errNoAnswer
	}
	events := wire.NewEventReader(body, 0)
	var data []byte
	for {
		event, err := events.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, wire.ErrUnfinishedEvent) {
			return errNoAnswer
		}
		if err != nil {
			return err
		}
		if event.First {
			data = data[:0]
		}
		data = append(data, event.Data...)
		if !event.Complete || len(data) == 0 {
			continue
		}
		if ok, err := a.take(data, id); ok || err != nil {
			return err
		}
	}
}

// take stores the answer that text is, and reports whether it is one to id.
func (a *Answer) take(text []byte, id wire.ID) (bool, error) {
	var scan wire.Scanner
	if _, err := scan.Write(text); err != nil {
		return false, err
	}
	if err := scan.Close(); err != nil {
		return false, err
	}
	signs := scan.Signs()
	if signs.Message() != wire.Response || !signs.ID.Equal(id) {
		return false, nil
	}
	if signs.Error.IsZero() {
		a.Result = bytes.Clone(signs.Result.Of(text))
	} else {
		a.Error = bytes.Clone(signs.Error.Of(text))
	}
	return true, nil
}
