package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"sync"

	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// An Endpoint is a server over Streamable HTTP.
type Endpoint struct {
	URL    string
	Header http.Header // of every request
}

// Stdio reports that it is not on stdio.
func (*Endpoint) Stdio() bool { return false }

// Open opens nothing yet.
func (e *Endpoint) Open(context.Context) (Conn, error) {
	transport := upstream.NewTransport(nil)
	return &httpSession{ledger: newLedger(), to: e, transport: transport, client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// An httpSession is the client's side of a session over HTTP.
type httpSession struct {
	*ledger

	to        *Endpoint
	transport *http.Transport
	client    *http.Client

	mu sync.Mutex
	id string // as the server named it
}

// Send posts the message and reads until its answer has come.
func (s *httpSession) Send(ctx context.Context, m Message) Reply {
	resp, err := s.post(ctx, m)
	if err != nil {
		return Reply{Err: cause(ctx, err)}
	}
	defer resp.Body.Close()
	if id := resp.Header.Get(wire.HeaderSession); id != "" {
		s.mu.Lock()
		s.id = id
		s.mu.Unlock()
	}
	answer := Reply{Status: resp.StatusCode, Head: resp.Header}
	if wire.IsEvents(resp) {
		s.events(ctx, resp.Body, m.ID, &answer)
	} else {
		s.body(ctx, resp.Body, m.ID, &answer)
	}
	return answer
}

// post sends the message.
func (s *httpSession) post(ctx context.Context, m Message) (*http.Response, error) {
	if m.Gone {
		gone, hangUp := context.WithCancel(ctx)
		defer hangUp()
		ctx = httptrace.WithClientTrace(gone, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { hangUp() }})
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.to.URL, bytes.NewReader(m.Text))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", wire.TypeJSON)
	req.Header.Set("Accept", wire.TypeJSON+", "+wire.TypeEventStream)
	s.mu.Lock()
	if s.id != "" {
		req.Header.Set(wire.HeaderSession, s.id)
	}
	s.mu.Unlock()
	for _, headers := range []http.Header{m.Head, s.to.Header} {
		for name, values := range headers {
			req.Header[name] = values
			if len(values) == 0 || values[0] == "" {
				req.Header.Del(name)
			}
		}
	}
	return s.client.Do(req)
}

// body reads an answer that is one text.
func (s *httpSession) body(ctx context.Context, from io.Reader, id string, answer *Reply) {
	text, err := io.ReadAll(io.LimitReader(from, MaxMessage+1))
	switch {
	case err != nil:
		answer.Err = cause(ctx, err)
	case len(text) > MaxMessage:
		answer.Err = ErrLong
	}
	e, ok := read(text)
	if ok && e.answers() && id != "" && string(e.ID) == id {
		answer.Text = text
		return
	}
	answer.Body = text
	if ok && e.answers() && id != "" && e.ID != nil && string(e.ID) != "null" {
		s.stray(Foreign, text)
	}
	if answer.Err == nil && id != "" {
		answer.Err = ErrEnded
	}
}

// events reads the events up to the answer, and what comes close behind it.
func (s *httpSession) events(ctx context.Context, from io.Reader, id string, answer *Reply) {
	events := wire.NewEventReader(from, MaxMessage)
	for {
		event, err := events.Next()
		if err != nil {
			if answer.Text == nil && id != "" {
				answer.Err = cause(ctx, err)
			}
			return
		}
		if !event.Complete {
			answer.Err = ErrLong
			return
		}
		s.event(bytes.Clone(event.Data), id, answer)
		if answer.Text != nil && id != "" {
			return
		}
	}
}

// event files one event.
func (s *httpSession) event(data []byte, id string, answer *Reply) {
	e, ok := read(data)
	switch {
	case len(data) == 0:
	case ok && e.answers() && string(e.ID) == id:
		answer.Text = data
	default:
		if reply := s.take(data); reply != nil {
			s.refuse(reply)
		}
	}
}

// refuse answers a request of the server, which comes in a request of its own.
func (s *httpSession) refuse(reply []byte) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*pause)
		defer cancel()
		if resp, err := s.post(ctx, Message{Text: reply}); err == nil {
			_ = resp.Body.Close()
		}
	}()
}

// Close ends the session.
func (s *httpSession) Close() bool {
	s.mu.Lock()
	id := s.id
	s.mu.Unlock()
	clean := true
	if id != "" {
		ctx, cancel := context.WithTimeout(context.Background(), 100*pause)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodDelete, s.to.URL, http.NoBody)
		if err == nil {
			req.Header.Set(wire.HeaderSession, id)
			maps.Copy(req.Header, s.to.Header)
			resp, err := s.client.Do(req)
			if err == nil {
				_ = resp.Body.Close()
			}
			clean = err == nil && resp.StatusCode < http.StatusInternalServerError
		}
	}
	s.Break()
	return clean
}

// Break closes the connections.
func (s *httpSession) Break() { s.transport.CloseIdleConnections() }

// cause returns why there is no answer.
func cause(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ErrSilent
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, wire.ErrUnfinishedEvent):
		return ErrEnded
	default:
		return err
	}
}
