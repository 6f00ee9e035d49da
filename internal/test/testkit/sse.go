package testkit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// An Event is one event of an event stream.
type Event struct {
	ID    string
	Name  string
	Data  string // its lines joined with line feeds
	Retry string
}

// Message returns the JSON-RPC message in the event, or nil.
func (ev Event) Message() *Message { return parseMessage([]byte(ev.Data)) }

// A Stream is an open event stream, or the answer sent instead. Next is for one goroutine; Close may be
// called from any.
type Stream struct {
	Status int
	Header http.Header

	cancel  context.CancelFunc
	body    io.ReadCloser
	scanner *eventScanner
}

var errNoStream = errors.New("testkit: no event stream")

// stream sends a request and returns its answer unread.
func (c *Client) stream(ctx context.Context, method string, body []byte, header http.Header) (*Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	var reader io.Reader
	if body != nil {
		reader = strings.NewReader(string(body))
	}
	resp, err := c.do(ctx, method, reader, header)
	if err != nil {
		cancel()
		return nil, err
	}
	return &Stream{
		Status: resp.StatusCode, Header: resp.Header,
		cancel: cancel, body: resp.Body, scanner: newEventScanner(io.LimitReader(resp.Body, maxBody)),
	}, nil
}

// Next returns the next event. The error is io.EOF at a clean end, between two events, and
// io.ErrUnexpectedEOF if the stream was cut.
func (st *Stream) Next() (Event, error) {
	if mediaType(st.Header) != protocol.TypeSSE {
		return Event{}, fmt.Errorf("%w: HTTP %d, %s", errNoStream, st.Status, mediaType(st.Header))
	}
	return st.scanner.next()
}

// NextMessage returns the next event that holds a JSON-RPC message.
func (st *Stream) NextMessage() (*Message, error) {
	for {
		ev, err := st.Next()
		if err != nil {
			return nil, err
		}
		if msg := ev.Message(); msg != nil {
			return msg, nil
		}
	}
}

// MustNext is [Stream.NextMessage] that fails the test if there is none.
func (st *Stream) MustNext(tb testing.TB) *Message {
	tb.Helper()
	m, err := st.NextMessage()
	if err != nil {
		tb.Fatalf("stream: got HTTP %d, %v", st.Status, err)
	}
	return m
}

// Close hangs up.
func (st *Stream) Close() {
	st.cancel()
	_ = st.body.Close() // the rest is not needed
}

func mediaType(header http.Header) string {
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return media
}

// eventScanner reads events as defined by the HTML standard (section 9.2.6), for streams in UTF-8 with LF or
// CRLF.
type eventScanner struct{ lines *bufio.Reader }

func newEventScanner(r io.Reader) *eventScanner { return &eventScanner{lines: bufio.NewReader(r)} }

func (s *eventScanner) next() (Event, error) {
	var ev Event
	var data []string
	begun := false
	for {
		line, err := s.lines.ReadString('\n')
		switch {
		case err == io.EOF && !begun && line == "":
			return Event{}, io.EOF
		case err == io.EOF:
			return Event{}, io.ErrUnexpectedEOF
		case err != nil:
			return Event{}, fmt.Errorf("testkit: read an event: %w", err)
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			if begun {
				ev.Data = strings.Join(data, "\n")
				return ev, nil
			}
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		begun = begun || field != "" // a comment does not start an event
		switch field {
		case "data":
			data = append(data, value)
		case "event":
			ev.Name = value
		case "id":
			ev.ID = value
		case "retry":
			ev.Retry = value
		}
	}
}
