package many

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A feed is one server's part in a subscription.
type feed struct {
	l    *listener
	s    *Source
	once sync.Once // the server has agreed, or is no longer waited for
}

// feed subscribes to changes from the current servers, and ends the subscriptions to all others.
func (l *listener) feed() {
	servers := l.c.options.Load().Servers
	l.mu.Lock()
	defer l.mu.Unlock()
	for s, end := range l.feeds {
		if !slices.Contains(servers, s) {
			end()
			delete(l.feeds, s)
		}
	}
	for _, s := range servers {
		if l.feeds[s] != nil {
			continue
		}
		ctx, end := context.WithCancel(l.ctx)
		f := &feed{l: l, s: s}
		if l.c.work.Go(func(context.Context) { f.run(ctx) }) {
			l.feeds[s] = end
			l.waiting++
		} else {
			end()
		}
	}
	if l.waiting == 0 {
		l.settle()
	}
}

// settle records that no server still has to agree.
func (l *listener) settle() {
	select {
	case <-l.settled:
	default:
		close(l.settled)
	}
}

// agreed records what the server has agreed to, the first time it does.
func (f *feed) agreed(to wire.Filter) {
	f.once.Do(func() {
		f.l.mu.Lock()
		defer f.l.mu.Unlock()
		for _, uri := range to.Watched {
			f.l.watched[uri] = true
		}
		if f.l.waiting--; f.l.waiting == 0 {
			f.l.settle()
		}
	})
}

// wants returns what the server is asked to report: of the resources, only its own.
func (f *feed) wants(ctx context.Context) wire.Filter {
	wants := f.l.wants
	wants.Watched = nil
	for _, uri := range f.l.wants.Watched {
		if !f.s.Names.Allows(uri) {
			continue
		}
		if servers, e := f.l.c.readers(ctx, f.l.r, uri); e == nil && slices.Contains(servers, f.s) {
			wants.Watched = append(wants.Watched, uri)
		}
	}
	return wants
}

// run listens to the server until ctx ends, or the server has nothing to report. What may have been
// missed while it was away is reported as changed.
func (f *feed) run(ctx context.Context) {
	defer f.agreed(wire.Filter{})
	missed := false
	for back := backFirst; ; back = min(2*back, backMost) {
		wants := f.wants(ctx)
		if wants.IsEmpty() {
			return
		}
		heard, again := f.hear(ctx, wants, missed)
		if !again || ctx.Err() != nil {
			return
		}
		f.agreed(wire.Filter{})
		missed = true
		if heard {
			back = backFirst
		}
		if !pause.For(ctx, back+rand.N(back)/2) {
			return
		}
	}
}

// hear passes on what the server reports on one subscription. heard reports whether there was one, and
// again whether it is worth trying again.
func (f *feed) hear(ctx context.Context, wants wire.Filter, missed bool) (heard, again bool) {
	notifications, err := json.Marshal(wants)
	if err != nil {
		return false, false
	}
	params := json.Members{{Name: "notifications", Value: notifications}}
	resp, err := f.s.Ask.Do(ctx, askFor(f.l.r, f.l.ID(), wire.MethodListen, params))
	if err != nil {
		return false, mayComeBack(recourse.From(err))
	}
	defer resp.Close()
	if resp.Failure != nil {
		return false, mayComeBack(resp.Failure)
	}
	if !resp.Stream {
		return false, resp.Status >= http.StatusInternalServerError
	}
	var honours wire.Filter
	for part := range wire.NewMessageReader(resp, maxEvent).Whole() { // no notification is longer
		method := string(part.Signs.Method)
		switch {
		case part.Kind == wire.Response:
			return heard, !honours.IsEmpty()
		case method == wire.MethodAcknowledged:
			honours, heard = wire.AgreedIn(part.Data), true
			f.agreed(honours)
			if missed {
				f.missed(honours)
			}
		case heard && wire.IsAnnouncement(method):
			f.l.c.Changed(f.s, method)
			f.l.Put(bytes.Clone(part.Data))
		}
	}
	return heard, !heard || !honours.IsEmpty()
}

// missed tells the client that everything the server would have reported may have changed.
func (f *feed) missed(honours wire.Filter) {
	for _, method := range honours.Changes() {
		f.l.c.Changed(f.s, method)
		f.l.Notify(method, nil)
	}
	for _, uri := range honours.Watched {
		f.l.Notify(wire.MethodUpdated, wire.OfResource(uri))
	}
}

// mayComeBack reports whether a server that has failed may accept the subscription later, such as once the caller's account at its
// provider is connected.
func mayComeBack(e *recourse.Error) bool {
	switch {
	case errors.Is(e, recourse.KindCancelled):
		return false
	case e.Kind.Class() == recourse.ClassAuth:
		return true
	case e.Kind.Class() == recourse.ClassUpstream, e.Kind.Class() == recourse.ClassAllowance:
		return e.Kind != recourse.KindClientError && e.Kind != recourse.KindBadResponse
	default:
		return false
	}
}
