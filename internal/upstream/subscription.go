package upstream

import (
	"context"
	"errors"
	"sync"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A Subscription is a client's subscriptions/listen: what it is told on it, under its id (MCP 2026-07-28, "Subscriptions").
// Create it with [NewSubscription]. It is safe for concurrent use.
type Subscription struct {
	id  wire.ID
	box Mailbox

	mu    sync.Mutex
	begun bool     // the client has been told what it will hear
	early [][]byte // messages from before that
}

// maxEarly limits the messages that wait for the agreement.
const maxEarly = 64

// NewSubscription returns the subscription that a request with that id asks for.
func NewSubscription(id wire.ID) *Subscription { return &Subscription{id: id.Clone()} }

// ID returns its id.
func (s *Subscription) ID() wire.ID { return s.id }

// Agree tells the client what it will hear, and then what it has missed meanwhile.
func (s *Subscription) Agree(to wire.Filter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	s.box.Put(to.Agreement(s.id))
	for _, text := range s.early {
		s.box.Put(text) // the mailbox has room for these
	}
	s.early = nil
}

// Notify tells the client of something that its subscription is about.
func (s *Subscription) Notify(method string, params json.Value) {
	if params.Kind() == '[' { // which have no place for the subscription
		return
	}
	members := json.MembersOf(json.Without(params, "_meta"))
	meta := json.MembersOf(json.Without(json.Lookup(params, "/_meta"), wire.MetaSubscription))
	meta.Add(wire.MetaSubscription, json.Value(s.id))
	members.Object("_meta", meta)
	s.Put(wire.AppendRequest(nil, nil, method, members.AppendTo(nil)))
}

var errTooSlow = errors.New("the client does not keep up")

// Put gives the client a message that names the subscription, once it has been told what it will hear. A client that does not keep up
// loses the subscription, so that it knows that it missed something.
func (s *Subscription) Put(text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.begun && len(s.early) < maxEarly:
		s.early = append(s.early, text)
	case !s.begun, !s.box.Put(text):
		s.box.End(errTooSlow)
	}
}

// Finish ends the subscription with its answer.
func (s *Subscription) Finish() {
	result := append([]byte(`{"resultType":"complete",`), wire.OfSubscription(s.id)[1:]...)
	s.box.Finish(wire.AppendResult(nil, s.id, result))
}

// Answer returns the answer to the client's request. Its first Close ends the subscription, and calls onClose.
func (s *Subscription) Answer(ctx context.Context, onClose func()) *wire.Answer {
	return s.box.Answer(ctx, func() {
		s.box.End(errClosed)
		onClose()
	})
}
