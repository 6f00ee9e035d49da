package legacy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/bridge/peer"
)

const (
	maxListeners = 100 // in a session
	maxURIs      = 100 // of a listener
)

// A listener is a client's subscriptions/listen.
type listener struct {
	s     *session
	id    wire.ID
	hears wire.Filter
	box   upstream.Mailbox // of what it is told
}

// listen answers subscriptions/listen with what the server says on the session's stream (MCP 2026-07-28,
// "Subscriptions").
func (s *session) listen(ctx context.Context, at *opened, m *wire.Message) (*wire.Answer, error) {
	l := &listener{s: s, id: m.ID.Clone()}
	wanted := json.Lookup(m.Params, "/notifications")
	if lost := l.agree(ctx, at, wanted); lost {
		now, err := s.ready(ctx, at)
		if err != nil {
			return refusedOpening(err)
		}
		l.agree(ctx, now, wanted)
	}
	notifications, err := json.Marshal(l.hears)
	if err != nil {
		return nil, recourse.Internal().WithEffect(recourse.EffectNone).CausedBy(err)
	}
	params := fmt.Appendf(nil, `{"_meta":{%q:%s},"notifications":%s}`, wire.MetaSubscription, l.id, notifications)
	l.box.Put(wire.AppendRequest(nil, nil, wire.MethodAcknowledged, params))
	switch {
	case l.hears.IsEmpty():
		l.end()
	case !s.listeners.add(l):
		return nil, recourse.New(recourse.KindLimitReached, "").WithMessage("Too many subscriptions are open at %s.", s.srv.p.Name()).
			WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone)
	}
	s.srv.stay(s)
	return l.box.Answer(ctx, l.close), nil
}

// agree decides which of the wanted notifications the client will get. There are none if the server has lost
// the session, which it reports.
func (l *listener) agree(ctx context.Context, at *opened, wanted json.Value) (lost bool) {
	offered := json.Lookup(at.hello, "/capabilities")
	hears := peer.Announced(offered)
	hears.Tools = hears.Tools && peer.IsTrue(wanted, "/toolsListChanged")
	hears.Prompts = hears.Prompts && peer.IsTrue(wanted, "/promptsListChanged")
	hears.Resources = hears.Resources && peer.IsTrue(wanted, "/resourcesListChanged")
	var uris []string
	if peer.IsTrue(offered, "/resources/subscribe") {
		_ = json.Unmarshal(json.Lookup(wanted, "/resourceSubscriptions"), &uris) // else there are none
	}
	if hears.IsEmpty() && len(uris) == 0 {
		return false
	}
	if given, lost := l.s.stream(ctx, at); !given {
		return lost
	}
	for _, uri := range uris[:min(len(uris), maxURIs)] {
		if l.s.subscribe(ctx, at, wire.MethodSubscribe, uri) == nil {
			hears.Watched = append(hears.Watched, uri)
		}
	}
	l.hears = hears
	return false
}

var errNotSubscribed = errors.New("the server refused the subscription")

// subscribe subscribes the session to a resource, or unsubscribes it.
func (s *session) subscribe(ctx context.Context, at *opened, method, uri string) error {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	answer, err := s.ask(ctx, at, method, ofResource(uri))
	if err == nil && answer.Result == nil {
		err = errNotSubscribed
	}
	return err
}

func ofResource(uri string) []byte { return append(json.AppendQuote([]byte(`{"uri":`), uri), '}') }

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
	for _, uri := range l.hears.Watched {
		ls.wanted.Add(l, uri)
	}
	return true
}

func (ls *listeners) remove(l *listener) (orphaned []string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.all, l)
	return ls.wanted.Drop(l)
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
			l.tell(m.Method, m.Params)
		}
	})
}

// missed tells listeners that anything may have changed, after a time without a connection to the server.
func (s *session) missed() {
	s.listeners.each(func(l *listener) {
		for _, method := range l.hears.Changes() {
			l.tell(method, nil)
		}
		for _, uri := range l.hears.Watched {
			l.tell(wire.MethodUpdated, ofResource(uri))
		}
	})
}

// tell sends the client a notification of its subscription. A client that does not keep up loses the
// subscription, so that it knows that it missed something.
func (l *listener) tell(method string, params json.Value) {
	if params.Kind() == '[' { // which have no place for the subscription
		return
	}
	members := json.MembersOf(json.Without(params, "_meta"))
	meta := json.MembersOf(json.Without(json.Lookup(params, "/_meta"), wire.MetaSubscription))
	meta.Add(wire.MetaSubscription, json.Value(l.id))
	members.Object("_meta", meta)
	if !l.box.Put(wire.AppendRequest(nil, nil, method, members.AppendTo(nil))) {
		l.box.End(errTooSlow)
	}
}

var errTooSlow = errors.New("the client does not keep up")

// end ends the subscription with its answer.
func (l *listener) end() {
	l.box.Finish(wire.AppendResult(nil, l.id, fmt.Appendf(nil, `{"resultType":"complete","_meta":{%q:%s}}`, wire.MetaSubscription, l.id)))
}

// close removes the listener of a client that has gone, and unsubscribes from what it alone heard.
func (l *listener) close() {
	s := l.s
	l.box.End(errNotWanted)
	orphaned := s.listeners.remove(l)
	s.srv.p.Background(func(ctx context.Context) {
		defer s.srv.leave(s)
		s.mu.Lock()
		at := s.at
		s.mu.Unlock()
		if at == nil {
			return
		}
		for _, uri := range orphaned {
			_ = s.subscribe(ctx, at, wire.MethodUnsubscribe, uri) // it is told for nothing, then
		}
	})
}
