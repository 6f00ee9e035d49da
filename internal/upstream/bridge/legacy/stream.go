package legacy

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

const (
	// streamTimeout is how long a caller waits for the server to open its stream.
	streamTimeout = time.Second
	// A stream that has ended is reopened after streamFirst, then less and less often, but at least every
	// streamMost.
	streamFirst = 500 * time.Millisecond
	streamMost  = 30 * time.Second
)

// A stream is where a server says everything that does not belong to an answer.
type stream struct {
	at    *opened
	tried chan struct{} // closed when these are known:
	given bool          // the server has opened it
	lost  bool          // the server does not know the session any more

	ctx    context.Context
	cancel context.CancelFunc
}

// hearFrom listens to the server in a session that has just been opened, if anybody wants to.
func (s *session) hearFrom(ctx context.Context, at *opened) {
	uris, subscribed := s.listeners.subscribed()
	if s.asks && !s.srv.p.Program || subscribed {
		s.stream(ctx, at)
	}
	for _, uri := range uris {
		_ = s.subscribe(ctx, at, wire.MethodSubscribe, uri) // the client gets nothing from it, as before
	}
	s.missed()
}

// stream opens the session's stream, unless it is open, and returns the result.
func (s *session) stream(ctx context.Context, at *opened) (given, lost bool) {
	s.mu.Lock()
	st := s.heard
	if (st == nil || st.at != at) && !s.ended {
		if st != nil {
			st.cancel()
		}
		st = &stream{at: at, tried: make(chan struct{})}
		st.ctx, st.cancel = context.WithCancel(s.srv.p.Life())
		s.heard = st
		s.srv.p.Background(func(context.Context) { s.keepHearing(st) })
	}
	s.mu.Unlock()
	if st == nil {
		return false, false
	}
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	select {
	case <-st.tried:
		return st.given, st.lost
	case <-ctx.Done():
		return false, false
	}
}

// keepHearing reads the stream, and reopens it when it ends.
func (s *session) keepHearing(st *stream) {
	ctx := st.ctx
	defer st.cancel()
	l := &eventReader{}
	wait := streamFirst
	for {
		resp, err := s.without(ctx, http.MethodGet, st.at, l.lastID)
		switch {
		case err == nil && resp.Stream:
			begun := time.Now()
			s.hearAll(st, l, resp)
			if time.Since(begun) > streamMost { // otherwise the server wants fewer connections
				wait = streamFirst
			}
		case err == nil && resp.Status < http.StatusInternalServerError && resp.Status != http.StatusTooManyRequests:
			lost := s.lostBy(ctx, st.at, resp)
			drain(resp)
			if first := st.settle(false, lost); !s.hearOn(ctx, st.at, lost && !first) {
				return
			}
		case err == nil:
			drain(resp)
		}
		if !pause.For(ctx, max(wait, l.retry)) {
			st.settle(false, false)
			return
		}
		wait = min(2*wait, streamMost)
	}
}

// hearOn opens a session again that the server has lost, if a client wants to hear on. It reports whether it is of use to try again:
// the server is away. If it refuses, or has no stream, not even in a session that it has just opened, the subscriptions end, and whoever
// renews one is told why.
func (s *session) hearOn(ctx context.Context, at *opened, lost bool) (again bool) {
	if _, subscribed := s.listeners.subscribed(); !subscribed {
		return false
	}
	if lost {
		_, err := s.ready(ctx, at)
		if err == nil || ctx.Err() != nil { // there is another stream
			return false
		}
		_, again = errors.AsType[*recourse.Error](err)
	}
	if !again {
		s.listeners.each((*listener).Finish)
	}
	return again
}

// settle records the result of the first attempt. It reports false for later ones.
func (st *stream) settle(given, lost bool) (first bool) {
	select {
	case <-st.tried:
		return false
	default:
		st.given, st.lost = given, lost
		close(st.tried)
		return true
	}
}

func (s *session) hearAll(st *stream, l *eventReader, resp *wire.Answer) {
	defer resp.Close()
	if !st.settle(true, false) && l.lastID == "" {
		s.missed()
	}
	l.open(resp)
	for {
		part, err := l.next()
		if err == nil && !part.Complete && part.Err == nil { // nobody waits for an answer here
			err = l.collect(part)
		}
		if err != nil {
			return
		}
		s.hear(st.at, part)
	}
}

// hear handles a message on the session's stream.
func (s *session) hear(at *opened, part *wire.Part) {
	if part.Kind == wire.Request {
		c := s.askable()
		if q := s.asked(at, c, part); q != nil {
			s.srv.p.Background(func(context.Context) { c.tell(said{question: q}) }) // it may wait for another to be answered
		}
		return
	}
	if part.Kind != wire.Notification {
		return
	}
	if notice := heard(part); notice.notice != nil && !s.hearOfCall(notice) {
		s.publish(notice.notice)
	}
}

// hearOfCall passes a notification to the call that it is about. It reports false if it is about none.
func (s *session) hearOfCall(notice said) bool {
	var c *exchange
	switch m := notice.notice; m.Method {
	case wire.MethodProgress:
		s.mu.Lock()
		c = s.calls[string(m.ProgressToken)]
		s.mu.Unlock()
	case wire.MethodLog:
		c = s.onlyCall()
	default:
		return false
	}
	if c != nil && !s.srv.isHeld(c) {
		c.offer(notice)
	}
	return true
}
