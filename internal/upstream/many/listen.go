package many

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

const (
	maxListeners = 10_000
	maxURIs      = 256 // of one listener
	maxEvent     = 256 << 10
	maxEarly     = 64 // messages that wait for the agreement
	// A server that is away is asked again after backFirst, then less and less often, but at least
	// about once in backMost.
	backFirst = 500 * time.Millisecond
	backMost  = 30 * time.Second
)

// listeners are the clients that listen.
type listeners struct {
	mu  sync.Mutex
	all map[*listener]struct{}
}

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

func (ls *listeners) list() []*listener {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	all := make([]*listener, 0, len(ls.all))
	for l := range ls.all {
		all = append(all, l)
	}
	return all
}

// announce notifies the clients that want to know that a list has changed.
func (ls *listeners) announce(method string) {
	for _, l := range ls.list() {
		if slices.Contains(l.wants.Changes(), method) {
			l.tell(method, nil)
		}
	}
}

// restart makes all clients listen to the current servers, and tells them that all lists may have
// changed.
func (ls *listeners) restart() {
	for _, l := range ls.list() {
		l.feed()
		for _, method := range l.wants.Changes() {
			l.tell(method, nil)
		}
	}
}

// A listener is a client's subscriptions/listen. Each server feeds it through a subscription of its own
// with the same id, so its messages pass unchanged.
type listener struct {
	c     *Conn
	r     *upstream.Request
	id    wire.ID
	wants wire.Filter
	box   upstream.Mailbox // messages for the client
	ctx   context.Context
	end   context.CancelFunc

	mu      sync.Mutex
	begun   bool     // the client has been told what it will hear
	early   [][]byte // messages from before that
	feeds   map[*Source]context.CancelFunc
	waiting int             // servers that have not agreed or refused yet
	settled chan struct{}   // closed when there are none left
	watched map[string]bool // resources that a server watches
}

// listen answers subscriptions/listen with the notifications of all servers.
func (c *Conn) listen(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	l := &listener{
		c: c, r: r.For(r.Header.Clone(), nil), id: r.Message.ID.Clone(),
		feeds: map[*Source]context.CancelFunc{}, settled: make(chan struct{}), watched: map[string]bool{},
	}
	l.r.Message = introduced(r)
	_ = json.UnmarshalLenient(json.Lookup(r.Message.Params, "/notifications"), &l.wants) // what cannot be read is not wanted
	l.wants.Watched = l.wants.Watched[:min(len(l.wants.Watched), maxURIs)]
	if l.wants.IsEmpty() {
		l.box.Put(l.agreement())
		l.box.Finish(l.last())
		return l.box.Answer(ctx, func() {}), nil
	}
	if !c.listeners.add(l) {
		return nil, refused(recourse.KindLimitReached).WithMessage("Too many subscriptions are open at %s.", c.Name())
	}
	l.ctx, l.end = context.WithCancel(ctx)
	stop := context.AfterFunc(c.work.Life(), l.end)
	l.feed()
	if !c.work.Go(func(context.Context) { l.begin() }) {
		l.end()
	}
	return l.box.Answer(l.ctx, func() {
		stop()
		l.close()
	}), nil
}

func (l *listener) close() {
	l.end()
	l.c.listeners.remove(l)
}

// begin tells the client what it will hear, once all servers have agreed or the deadline has passed.
func (l *listener) begin() {
	deadline := time.NewTimer(l.c.options.Load().Deadline)
	defer deadline.Stop()
	select {
	case <-l.settled:
	case <-deadline.C:
	case <-l.ctx.Done():
	}
	agreement := l.agreement()
	l.mu.Lock()
	early := append([][]byte{agreement}, l.early...)
	l.early, l.begun = nil, true
	for _, text := range early {
		l.box.Put(text) // the mailbox has room for these
	}
	l.mu.Unlock()
}

// agreement says what the client will hear: changes of lists always, since the endpoint itself
// announces some, and changes of the resources that a server watches.
func (l *listener) agreement() []byte {
	l.mu.Lock()
	agreed := l.wants
	agreed.Watched = slices.DeleteFunc(slices.Clone(l.wants.Watched), func(uri string) bool { return !l.watched[uri] })
	l.mu.Unlock()
	notifications, err := json.Marshal(agreed)
	if err != nil {
		notifications = []byte("{}")
	}
	return wire.AppendRequest(nil, nil, wire.MethodAcknowledged,
		fmt.Appendf(nil, `{"_meta":{%q:%s},"notifications":%s}`, wire.MetaSubscription, l.id, notifications))
}

// last returns the answer that ends the subscription.
func (l *listener) last() []byte {
	return wire.AppendResult(nil, l.id, fmt.Appendf(nil, `{"resultType":"complete","_meta":{%q:%s}}`, wire.MetaSubscription, l.id))
}

// tell tells the client of a change.
func (l *listener) tell(method string, params json.Members) {
	meta := fmt.Appendf(nil, `{%q:%s}`, wire.MetaSubscription, l.id)
	params = append(json.Members{{Name: "_meta", Value: meta}}, params...)
	l.put(wire.AppendRequest(nil, nil, method, params.AppendTo(nil)))
}

var errTooSlow = errors.New("the client does not keep up")

// put sends the client a message, after it has been told what it will hear. A client that cannot keep
// up loses the subscription, and thus learns that it has missed something.
func (l *listener) put(text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.begun && len(l.early) < maxEarly:
		l.early = append(l.early, text)
	case !l.begun, !l.box.Put(text):
		l.box.End(errTooSlow)
	}
}
