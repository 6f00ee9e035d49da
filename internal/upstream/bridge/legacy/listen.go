package legacy

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

const (
	maxListeners = 100 // in a session
	maxURIs      = 100 // of a listener
)

// A listener is a client's subscriptions/listen.
type listener struct {
	*upstream.Subscription

	s     *session
	hears wire.Filter
}

// listen answers subscriptions/listen with what the server says on the session's stream.
func (s *session) listen(ctx context.Context, at *opened, m *wire.Message) (*wire.Answer, error) {
	l := &listener{Subscription: upstream.NewSubscription(m.ID), s: s}
	wanted := json.Lookup(m.Params, "/notifications")
	if lost := l.agree(ctx, at, wanted); lost {
		now, err := s.ready(ctx, at)
		if err != nil {
			return refusedOpening(err)
		}
		l.agree(ctx, now, wanted)
	}
	s.srv.stay(s)
	l.Agree(l.hears)
	switch {
	case l.hears.IsEmpty():
		l.Finish()
	case !s.listeners.add(l):
		l.close()
		return nil, recourse.New(recourse.KindLimitReached, "").WithMessage("Too many subscriptions are open at %s.", s.srv.p.Name()).
			WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone)
	}
	return l.Answer(ctx, l.close), nil
}

// agree decides which of the wanted notifications the client will get. There are none if the server has lost
// the session, which it reports.
func (l *listener) agree(ctx context.Context, at *opened, wanted json.Value) (lost bool) {
	offered := json.Lookup(at.hello, "/capabilities")
	hears := wire.Announced(offered)
	hears.Tools = hears.Tools && json.IsTrue(wanted, "/toolsListChanged")
	hears.Prompts = hears.Prompts && json.IsTrue(wanted, "/promptsListChanged")
	hears.Resources = hears.Resources && json.IsTrue(wanted, "/resourcesListChanged")
	var uris []string
	if json.IsTrue(offered, "/resources/subscribe") {
		_ = json.Unmarshal(json.Lookup(wanted, "/resourceSubscriptions"), &uris) // else there are none
	}
	if hears.IsEmpty() && len(uris) == 0 {
		return false
	}
	if given, lost := l.s.stream(ctx, at); !given {
		return lost
	}
	for _, uri := range uris[:min(len(uris), maxURIs)] {
		if l.s.watch(ctx, at, l, uri) {
			hears.Watched = append(hears.Watched, uri)
		}
	}
	l.hears = hears
	return false
}

var errNotSubscribed = errors.New("the server refused the subscription")

// watch subscribes the session to a resource on behalf of a listener, and reports whether it is. One change of what the session is
// subscribed to is made at a time: of two about the same resource, the server must not hear the later one first.
func (s *session) watch(ctx context.Context, at *opened, l *listener, uri string) bool {
	if !s.watching.Take(ctx) {
		return false
	}
	defer s.watching.Leave()
	if s.subscribe(ctx, at, wire.MethodSubscribe, uri) != nil {
		return false
	}
	s.listeners.want(l, uri)
	return true
}

// unwatch ends that, if nobody else listens to the resource.
func (s *session) unwatch(ctx context.Context, l *listener, uri string) {
	if !s.watching.Take(ctx) {
		return
	}
	defer s.watching.Leave()
	s.mu.Lock()
	at := s.at
	s.mu.Unlock()
	if orphaned := s.listeners.leave(l, uri); orphaned && at != nil {
		_ = s.subscribe(ctx, at, wire.MethodUnsubscribe, uri) // it is told for nothing, then
	}
}

// subscribe subscribes the session to a resource, or unsubscribes it.
func (s *session) subscribe(ctx context.Context, at *opened, method, uri string) error {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	answer, err := s.ask(ctx, at, method, wire.OfResource(uri))
	if err == nil && answer.Result == nil {
		err = errNotSubscribed
	}
	return err
}

// listeners are the listeners of a session.
type listeners struct {
	mu     sync.Mutex
	all    map[*listener]struct{}
	wanted upstream.Subscriptions[*listener]
}

// add reports false if there are too many.
func (ls *listeners) add(l *listener) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if len(ls.all) >= maxListeners {
		return false
	}
	if ls.all == nil {
		ls.all = map[*listener]struct{}{}
	}
	ls.all[l] = struct{}{}
	return true
}

func (ls *listeners) remove(l *listener) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.all, l)
}

func (ls *listeners) want(l *listener, uri string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.wanted.Add(l, uri)
}

// leave records that a listener does not want a resource any more, and reports whether nobody does.
func (ls *listeners) leave(l *listener, uri string) (orphaned bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.wanted.Remove(l, uri)
	return !ls.wanted.IsWanted(uri)
}

func (ls *listeners) each(f func(*listener)) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for l := range ls.all {
		f(l)
	}
}

// subscribed returns the resources that have listeners. ok is false if nobody listens to anything.
func (ls *listeners) subscribed() (uris []string, ok bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.wanted.All(), len(ls.all) > 0
}

func (s *session) publish(m *wire.Message) {
	uri := json.Text(m.Params, "/uri")
	s.listeners.each(func(l *listener) {
		if slices.Contains(l.hears.Changes(), m.Method) || m.Method == wire.MethodUpdated && s.listeners.wanted.Hears(l, uri) {
			l.Notify(m.Method, m.Params)
		}
	})
}

// missed tells listeners that anything may have changed, after a time without a connection to the server.
func (s *session) missed() {
	s.listeners.each(func(l *listener) {
		for _, method := range l.hears.Changes() {
			l.Notify(method, nil)
		}
		for _, uri := range l.hears.Watched {
			l.Notify(wire.MethodUpdated, wire.OfResource(uri))
		}
	})
}

// close removes the listener of a client that has gone, and unsubscribes from what it alone heard.
func (l *listener) close() {
	s := l.s
	s.listeners.remove(l)
	s.srv.p.Background(func(ctx context.Context) {
		defer s.srv.leave(s)
		for _, uri := range l.hears.Watched {
			s.unwatch(ctx, l, uri)
		}
	})
}
