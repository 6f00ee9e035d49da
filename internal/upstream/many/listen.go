package many

import (
	"context"
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
			l.Notify(method, nil)
		}
	}
}

// restart makes all clients listen to the current servers, and tells them that all lists may have
// changed.
func (ls *listeners) restart() {
	for _, l := range ls.list() {
		l.feed()
		for _, method := range l.wants.Changes() {
			l.Notify(method, nil)
		}
	}
}

// A listener is a client's subscriptions/listen. Each server feeds it through a subscription of its own
// with the same id, so its messages pass unchanged.
type listener struct {
	*upstream.Subscription

	c     *Conn
	r     *upstream.Request
	wants wire.Filter
	ctx   context.Context
	end   context.CancelFunc

	mu      sync.Mutex
	feeds   map[*Source]context.CancelFunc
	waiting int             // servers that have not agreed or refused yet
	settled chan struct{}   // closed when there are none left
	watched map[string]bool // resources that a server watches
}

// listen answers subscriptions/listen with the notifications of all servers.
func (c *Conn) listen(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	l := &listener{
		Subscription: upstream.NewSubscription(r.Message.ID), c: c, r: r.For(r.Header.Clone(), nil),
		feeds: map[*Source]context.CancelFunc{}, settled: make(chan struct{}), watched: map[string]bool{},
	}
	l.r.Message = introduced(r)
	_ = json.UnmarshalLenient(json.Lookup(r.Message.Params, "/notifications"), &l.wants) // what cannot be read is not wanted
	l.wants.Watched = l.wants.Watched[:min(len(l.wants.Watched), maxURIs)]
	if l.wants.IsEmpty() {
		l.Agree(l.wants)
		l.Finish()
		return l.Answer(ctx, func() {}), nil
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
	return l.Answer(l.ctx, func() {
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
	l.Agree(l.agreement())
}

// agreement says what the client will hear: changes of lists always, since the endpoint itself
// announces some, and changes of the resources that a server watches.
func (l *listener) agreement() wire.Filter {
	l.mu.Lock()
	defer l.mu.Unlock()
	agreed := l.wants
	agreed.Watched = slices.DeleteFunc(slices.Clone(l.wants.Watched), func(uri string) bool { return !l.watched[uri] })
	return agreed
}
