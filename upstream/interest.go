package upstream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
)

// What the sessions that share a child want to be told of is counted here, so that
// none of them notices the others: the child is told of the first that wants to hear
// of a resource and of the last that does not any more, and logs as much as the one
// that wants most. Each hears only what it has asked for.

const (
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
	methodUpdated     = "notifications/resources/updated"
	methodSetLevel    = "logging/setLevel"
)

// maxSubscriptions bounds the resources that a session may be subscribed to, and
// maxURI the name of each, in bytes.
const (
	maxSubscriptions = 1000
	maxURI           = 4 << 10
)

// interests are those of all sessions.
type interests struct {
	// turn is held while the child is told of a change, so that it hears of them in
	// the order in which they are made.
	turn chan struct{}

	// Guarded by Stdio.mu:
	nobody      session               // stands for messages and streams that belong to no session
	subscribers map[string]int        // how many sessions, by the URI of the resource
	levels      map[wire.LogLevel]int // how many sessions want that level
	level       wire.LogLevel         // that the child was told; none: it was told nothing
}

func newInterests() interests {
	return interests{turn: make(chan struct{}, 1), subscribers: map[string]int{}, levels: map[wire.LogLevel]int{}}
}

// isInterest reports whether requests of the method change what a session is told of.
func isInterest(method string) bool {
	return method == methodSubscribe || method == methodUnsubscribe || method == methodSetLevel
}

// lowest returns the level that the child is to have: that of the session that wants
// to be told most. s.mu is held.
func (s *Stdio) lowest() wire.LogLevel {
	for level := wire.LogLevel(1); level.String() != ""; level++ {
		if s.levels[level] > 0 {
			return level
		}
	}
	return 0
}

// changeInterest answers a request that changes what the session is told of.
func (s *Stdio) changeInterest(ctx context.Context, m *wire.Message, x *session) (*http.Response, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, s.unsent(ctx)
	}
	if x == nil {
		x = &s.nobody
	}
	value := ""
	_ = json.Unmarshal(json.Lookup(m.Params, "/uri"), &value) // what is missing or no string, the child judges
	switch m.Method {
	case methodSubscribe:
		return s.subscribe(ctx, m, x, value)
	case methodUnsubscribe:
		return s.unsubscribe(ctx, m, x, value)
	default:
		_ = json.Unmarshal(json.Lookup(m.Params, "/level"), &value)
		return s.setLevel(ctx, m, x, wire.LogLevelOf(value))
	}
}

// done is the answer to a request of which the child need not be told.
func done(m *wire.Message) (*http.Response, error) {
	return respond(http.StatusOK, wire.TypeJSON, wire.AppendResult(nil, m.ID, []byte("{}"))), nil
}

func (s *Stdio) subscribe(ctx context.Context, m *wire.Message, x *session, uri string) (*http.Response, error) {
	s.mu.Lock()
	switch full := len(x.uris) >= maxSubscriptions || len(uri) > maxURI; {
	case x.uris[uri]:
		s.mu.Unlock()
		return done(m)
	case full:
		s.mu.Unlock()
		return respond(http.StatusOK, wire.TypeJSON, wire.AppendError(nil, m.ID, wire.CodeInvalidRequest,
			fmt.Sprintf("a session may have at most %d subscriptions, to URIs of at most %d bytes", maxSubscriptions, maxURI), nil)), nil
	case s.subscribers[uri] > 0:
		s.note(x, uri)
		s.mu.Unlock()
		return done(m)
	}
	s.mu.Unlock()
	resp, taken, err := s.tellInterest(ctx, m, x)
	if !taken || uri == "" {
		return resp, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOpen(x) {
		s.note(x, uri)
	} else {
		s.orderShared(methodUnsubscribe, "uri", uri)
	}
	return resp, err
}

// note takes note of a subscription. s.mu is held.
func (s *Stdio) note(x *session, uri string) {
	if x.uris == nil {
		x.uris = map[string]bool{}
	}
	x.uris[uri] = true
	s.subscribers[uri]++
}

func (s *Stdio) unsubscribe(ctx context.Context, m *wire.Message, x *session, uri string) (*http.Response, error) {
	s.mu.Lock()
	if x.uris[uri] {
		s.forget(x, uri)
	}
	wanted := s.subscribers[uri] > 0
	s.mu.Unlock()
	if wanted {
		return done(m)
	}
	resp, _, err := s.tellInterest(ctx, m, x)
	return resp, err
}

// forget forgets a subscription. s.mu is held.
func (s *Stdio) forget(x *session, uri string) {
	delete(x.uris, uri)
	if s.subscribers[uri]--; s.subscribers[uri] == 0 {
		delete(s.subscribers, uri)
	}
}

func (s *Stdio) setLevel(ctx context.Context, m *wire.Message, x *session, level wire.LogLevel) (*http.Response, error) {
	s.mu.Lock()
	before, told := x.level, s.level
	s.want(x, level)
	lowest := s.lowest()
	if told != 0 && level != 0 && level != lowest { // it is another session that decides
		s.setShared(lowest)
		told = lowest
	}
	s.mu.Unlock()
	if level != 0 && lowest == told {
		return done(m)
	}
	resp, taken, err := s.tellInterest(ctx, m, x)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !taken:
		s.want(x, before)
	case level != 0:
		s.level = level
		if !s.isOpen(x) {
			s.want(x, 0)
			s.setShared(s.lowest())
		}
	}
	return resp, err
}

// want takes note of the level that a session wants; none: it wants what comes. s.mu
// is held.
func (s *Stdio) want(x *session, level wire.LogLevel) {
	if x.level != 0 {
		s.levels[x.level]--
	}
	if x.level = level; level != 0 {
		s.levels[level]++
	}
}

// setShared tells the child that all share the level, unless it knows it. s.mu is held.
func (s *Stdio) setShared(level wire.LogLevel) {
	if level != 0 && level != s.level {
		s.level = level
		s.orderShared(methodSetLevel, "level", level.String())
	}
}

// isOpen reports whether the session has not been ended. s.mu is held.
func (s *Stdio) isOpen(x *session) bool { return x == &s.nobody || s.sessions[x.id] != nil }

// tellInterest passes a request on, and reports whether the child has taken it.
func (s *Stdio) tellInterest(ctx context.Context, m *wire.Message, x *session) (resp *http.Response, taken bool, err error) {
	resp, err = s.hand(ctx, recipient{}, func(c *child) (*http.Response, error) {
		call, err := c.accept(ctx.Done(), m, x.id)
		if err != nil {
			return nil, err
		}
		said, err := call.last(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, s.giveUp(ctx, c, call)
		case err != nil:
			return nil, err
		}
		var reply Answer
		ok, err := reply.take(said.text, m.ID)
		taken = ok && err == nil && reply.Error == nil
		return answer(ctx, c, call, said), nil
	})
	return resp, taken, err
}

// orderShared makes a request of one string parameter to the child that all share, if
// there is one. s.mu is held.
func (s *Stdio) orderShared(method, name, value string) {
	if c := s.ready[""]; c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.orderString(method, name, value)
	}
}

// orderString is order for a request of one string parameter. c.mu is held.
func (c *child) orderString(method, name, value string) {
	if c.gone == nil {
		c.order(fmt.Sprintf(`"method":%q,"params":{%q:%s}`, method, name, json.AppendQuote(nil, value)))
	}
}

// resumeInterests tells a child that is to be shared what the sessions want to be
// told of. s.mu is held.
func (s *Stdio) resumeInterests(c *child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for uri := range s.subscribers {
		c.orderString(methodSubscribe, "uri", uri)
	}
	if s.level = s.lowest(); s.level != 0 {
		c.orderString(methodSetLevel, "level", s.level.String())
	}
}

// dropInterests forgets what a session that ends wants to be told of. s.mu is held.
func (s *Stdio) dropInterests(x *session) {
	for uri := range x.uris {
		if s.forget(x, uri); s.subscribers[uri] == 0 {
			s.orderShared(methodUnsubscribe, "uri", uri)
		}
	}
	if x.level != 0 {
		s.want(x, 0)
		s.setShared(s.lowest())
	}
}

// hear implements [listener] for the child that all clients share: everybody who
// listens is told, as far as they have asked for it. A stream whose reader does not
// keep up is ended, so that it knows.
func (s *Stdio) hear(c *child, signs *wire.Signs, text []byte) {
	if signs.Message() == wire.Request {
		c.reply(wire.AppendError(nil, signs.ID, wire.CodeMethodNotFound, "no client capabilities were declared", nil))
		return
	}
	wants := interested(string(signs.Method), text)
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []byte
	for b, x := range s.streams {
		if !wants(x) {
			continue
		}
		if kept == nil {
			kept = bytes.Clone(text)
		}
		if !b.put(kept) {
			b.end(io.EOF)
			delete(s.streams, b)
		}
	}
}

// interested returns which sessions are to hear a notification.
func interested(method string, text []byte) func(x *session) bool {
	switch method {
	case methodUpdated:
		var uri string
		_ = json.Unmarshal(json.Lookup(text, "/params/uri"), &uri) // without one it is nobody's
		return func(x *session) bool { return x.isSubscribed(uri) }
	case wire.MethodLog:
		var name string
		_ = json.Unmarshal(json.Lookup(text, "/params/level"), &name) // an unknown one is for those who want all
		level := wire.LogLevelOf(name)
		return func(x *session) bool { return level >= x.level }
	default:
		return func(*session) bool { return true }
	}
}

// isSubscribed reports whether the session has subscribed to the resource, or to one
// that it is a part of (MCP 2025-11-25, schema, ResourceUpdatedNotificationParams).
// Stdio.mu is held.
func (x *session) isSubscribed(uri string) bool {
	if x.uris[uri] {
		return true
	}
	for whole := range x.uris {
		if rest, ok := strings.CutPrefix(uri, whole); ok && (strings.HasSuffix(whole, "/") || strings.ContainsAny(rest[:1], "/?#")) {
			return true
		}
	}
	return false
}
