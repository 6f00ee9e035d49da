package modern

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/bridge/peer"
)

const (
	maxWatched = 256     // resources that a session subscribes to
	maxURI     = 4 << 10 // bytes of each
)

// A stream is where a client hears what the server announces. It is backed by a subscriptions/listen for
// everything that the client wants to hear, which is replaced when that changes.
type stream struct {
	s    *clientState
	ctx  context.Context
	end  context.CancelFunc
	box  upstream.Mailbox // for what the client hears
	turn pause.Turn       // of whoever changes what is asked for

	mu      sync.Mutex
	current *listening
}

// close ends the stream. The client opens another.
func (t *stream) close() {
	t.box.End(io.EOF)
	t.end()
}

// A listening is a subscriptions/listen in progress.
type listening struct {
	id     wire.ID
	resp   *wire.Answer
	reader *wire.MessageReader
	end    context.CancelFunc
	agreed wire.Filter // what the server has agreed to announce
}

// wants returns what the client wants to hear.
func (s *clientState) wants() wire.Filter {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.offered.changes
	f.Watched = slices.Clone(s.watched)
	return f
}

// listen opens the stream of a session, replacing an existing one. Nothing is kept for a client that does not
// listen.
func (srv *Bridge) listen(ctx context.Context, s *clientState, r *upstream.Request) (*wire.Answer, error) {
	f := s.wants()
	if f.IsEmpty() && !s.offered.subscribe {
		return silent(), nil
	}
	life, end := context.WithCancel(ctx)
	t := &stream{s: s, ctx: life, end: end, turn: pause.NewTurn(1)}
	if !f.IsEmpty() {
		l, refusal, err := srv.subscribeTo(ctx, t, r, f)
		if l == nil {
			end()
			return refusal, err
		}
		srv.hear(t, l)
	}
	if !s.put(t) {
		t.close()
		return wire.RespondLost(), nil
	}
	context.AfterFunc(life, func() { s.leave(t) })
	if now := s.wants(); !slices.Equal(now.Watched, f.Watched) { // it has just changed
		if _, err := srv.relisten(ctx, s, r, ""); err != nil {
			s.leave(t)
			return nil, err
		}
	}
	return t.box.Answer(ctx, func() { s.leave(t) }), nil
}

// silent answers a client that wants to listen to a server which announces nothing.
func silent() *wire.Answer {
	return wire.RespondRefusal(http.StatusMethodNotAllowed, "the server announces nothing", "POST, DELETE")
}

// put gives the session its stream. It reports false if the session has ended.
func (s *clientState) put(t *stream) bool {
	s.mu.Lock()
	before, ended := s.stream, s.ended
	if !ended {
		s.stream = t
	}
	s.mu.Unlock()
	if before != nil && !ended {
		before.close()
	}
	return !ended
}

func (s *clientState) leave(t *stream) {
	t.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream == t {
		s.stream = nil
	}
}

// subscribeTo sends a subscriptions/listen that lasts as long as the stream, and waits until the server
// agrees, or ctx ends. If the server refuses, it returns the client's answer.
func (srv *Bridge) subscribeTo(
	ctx context.Context, t *stream, r *upstream.Request, f wire.Filter,
) (l *listening, refusal *wire.Answer, err error) {
	wants, err := json.Marshal(f)
	if err != nil {
		return nil, nil, err
	}
	h := peer.ModernHeader(r.Header, wire.MethodListen)
	params := fmt.Appendf(nil, `{"notifications":%s,"_meta":{%s}}`, wants, t.s.introduce())
	life, end := context.WithCancel(t.ctx)
	stop := context.AfterFunc(ctx, end)
	l = &listening{id: srv.p.NewID(), end: end}
	refusal, err = srv.agree(life, l, r.For(h, wire.AppendRequest(nil, l.id, wire.MethodListen, params)))
	switch {
	case !stop(): // the caller has stopped waiting
		refusal, err = nil, srv.p.Broken(ctx, context.Cause(ctx))
	case err == nil && refusal == nil:
		return l, nil, nil
	}
	l.close()
	return nil, refusal, err
}

func (l *listening) close() {
	l.end()
	if l.resp != nil {
		_ = l.resp.Close() // the rest is not wanted
	}
}

var errNoAgreement = errors.New("subscriptions/listen was not acknowledged")

// agree waits for the server's agreement, with which the stream begins. If the server refuses, it returns the
// client's answer.
func (srv *Bridge) agree(ctx context.Context, l *listening, r *upstream.Request) (refusal *wire.Answer, err error) {
	l.resp, err = srv.p.Do(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case l.resp.Status != http.StatusOK:
		text, _ := io.ReadAll(io.LimitReader(l.resp, peer.MaxRefusal)) // if reading fails, the status still counts
		if json.Lookup(text, "/error").Kind() == '{' && peer.RefusesEra(l.resp.Status) {
			return silent(), nil
		}
		return srv.passRefusal(l.resp.Status, l.resp.Header, text), nil
	case !l.resp.Stream:
		return silent(), nil
	}
	l.reader = wire.NewMessageReader(l.resp, peer.MaxRefusal)
	for part := range l.reader.Parts() {
		switch {
		case part.Other:
			continue
		case !part.Complete || part.Err != nil || string(part.Signs.Method) != wire.MethodAcknowledged:
			return nil, srv.p.BadResponse(fmt.Errorf("%w, but: %.200q", errNoAgreement, part.Data))
		}
		l.agreed = wire.AgreedIn(part.Data)
		return nil, nil
	}
	if err := l.reader.End(); wire.BrokeOff(err) {
		return nil, srv.p.Broken(ctx, err)
	}
	return nil, srv.p.BadResponse(errNoAgreement)
}

// hear makes the stream pass on what arrives on l, instead of what it passed on before; l may be nil.
func (srv *Bridge) hear(t *stream, l *listening) {
	t.mu.Lock()
	before := t.current
	t.current = l
	t.mu.Unlock()
	if l != nil {
		srv.p.Background(func(context.Context) { t.pass(l) })
	}
	if before != nil {
		before.end()
	}
}

// pass passes on what the server announces on l. When l ends, so does the client's stream, unless l has been
// replaced.
func (t *stream) pass(l *listening) {
	defer l.close()
	for part := range l.reader.Whole() { // no announcement is longer
		if t.ctx.Err() != nil {
			break
		}
		if part.Kind != wire.Notification {
			continue
		}
		if text := announced(part); text != nil && !t.box.Put(text) {
			break // the client does not keep up, or has gone
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == l {
		t.close()
	}
}

// announced returns a notification in legacy form, or nil if there is no such form.
func announced(part *wire.Part) []byte {
	method := string(part.Signs.Method)
	if !wire.IsAnnouncement(method) {
		return nil
	}
	params := json.MembersOf(json.Change(json.Lookup(part.Data, "/params"), "_meta", func(meta json.Value) json.Value {
		meta = json.Without(meta, wire.MetaSubscription)
		if len(json.MembersOf(meta)) == 0 {
			return nil
		}
		return meta
	}))
	if len(params) == 0 {
		return wire.AppendRequest(nil, nil, method, nil)
	}
	return wire.AppendRequest(nil, nil, method, params.AppendTo(nil))
}

// subscribe answers resources/subscribe and resources/unsubscribe. A client that listens misses nothing after
// the answer: the server is asked first.
func (srv *Bridge) subscribe(ctx context.Context, s *clientState, r *upstream.Request) (*wire.Answer, error) {
	m := r.Message
	uri := json.Text(m.Params, "/uri")
	switch {
	case !s.offered.subscribe:
		return wire.RespondError(m.ID, wire.CodeMethodNotFound, "The server offers no subscriptions to resources."), nil
	case uri == "" || len(uri) > maxURI:
		return wire.RespondError(m.ID, wire.CodeInvalidParams, fmt.Sprintf("The uri must be a string of 1 to %d bytes.", maxURI)), nil
	}
	changed, full := srv.watch(s, uri, m.Method == wire.MethodSubscribe)
	done := wire.RespondResult(m.ID, []byte("{}"))
	switch {
	case full:
		return wire.RespondError(m.ID, wire.CodeInvalidParams, fmt.Sprintf("There are already %d subscriptions.", maxWatched)), nil
	case !changed:
		return done, nil
	}
	refused, err := srv.relisten(ctx, s, r, uri)
	if m.Method == wire.MethodUnsubscribe { // the client ignores what it no longer wants
		return done, nil
	}
	if err != nil {
		srv.watch(s, uri, false)
		return nil, err
	}
	if refused {
		srv.watch(s, uri, false)
		return wire.RespondError(m.ID, wire.CodeInvalidParams, "The server does not announce changes to this resource."), nil
	}
	return done, nil
}

// watch adds or removes a resource to which the client has subscribed, and makes room for what is kept.
func (srv *Bridge) watch(s *clientState, uri string, add bool) (changed, full bool) {
	size := len(uri)
	s.mu.Lock()
	at := slices.Index(s.watched, uri)
	switch {
	case add == (at >= 0):
	case !add:
		s.watched, changed, size = slices.Delete(s.watched, at, at+1), true, -size
	case len(s.watched) >= maxWatched:
		full = true
	default:
		s.watched, changed = append(s.watched, uri), true
	}
	s.mu.Unlock()
	if !changed {
		return false, full
	}
	srv.mu.Lock()
	srv.sessions.Grow(s.id, size)
	idle := srv.sessions.Trim(0, (*clientState).busy)
	srv.mu.Unlock()
	for _, old := range idle {
		old.end()
	}
	return true, false
}

// relisten replaces the subscription by one for everything that the client wants now. It reports whether the
// server does not agree to the resource uri.
func (srv *Bridge) relisten(ctx context.Context, s *clientState, r *upstream.Request, uri string) (refused bool, err error) {
	s.mu.Lock()
	t := s.stream
	s.mu.Unlock()
	if t == nil {
		return false, nil // it is requested when the client listens
	}
	if !t.turn.Take(ctx) {
		return false, srv.p.Broken(ctx, context.Cause(ctx))
	}
	defer t.turn.Leave()
	f := s.wants()
	if f.IsEmpty() {
		srv.hear(t, nil)
		return false, nil
	}
	l, _, err := srv.subscribeTo(ctx, t, r, f)
	if l == nil {
		return true, err
	}
	if slices.Contains(f.Watched, uri) && !slices.Contains(l.agreed.Watched, uri) {
		l.close()
		return true, nil
	}
	srv.hear(t, l)
	return false, nil
}
