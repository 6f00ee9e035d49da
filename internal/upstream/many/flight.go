package many

import (
	"context"
	"errors"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// A server that says nothing is asked for the same list again after lookAgain, then after twice the time and so on, or as soon as
// somebody wants the list. Each of these questions is given up after lookTime, and is followed by a rest.
const (
	lookAgain = 2 * time.Second
	lookTime  = time.Second
	lookRest  = 500 * time.Millisecond
)

// collecting asks a server for all of a list.
type collecting = func(context.Context) (*list, *recourse.Error)

// A flight is a request for a list. Everybody who wants the list in the meantime waits for it.
type flight struct {
	begun time.Time
	soon  chan struct{} // takes a token: somebody who does not wait wants the list
	done  chan struct{}
	list  *list
	fail  *recourse.Error // instead of the list

	late, landed bool // somebody stopped waiting for it; it is over. Guarded by slot.mu
}

var errClosed = errors.New("the endpoint is closed")

// A want is somebody's wish for a server's list.
type want struct {
	server *Source
	slot   *slot
	list   *list   // it is new enough; nil: the flight brings it
	flight *flight // under way
}

// want returns a list that is new enough, or starts to ask the server for one, unless a request is already under way. What was before
// since does not count.
func (c *Conn) want(r *upstream.Request, s *Source, k *listKind, since time.Time) want {
	at := listKey{s.Name, s.Place, k.method, s.Of(r)}
	w := want{server: s, slot: c.kept.slot(at)}
	if changed := c.kept.changedAt(at); changed.After(since) {
		since = changed
	}
	w.slot.mu.Lock()
	defer w.slot.mu.Unlock()
	if w.list = w.slot.fresh(s, since); w.list != nil {
		return w
	}
	if w.flight = w.slot.flight; w.flight != nil && w.flight.begun.After(since) {
		return w
	}
	w.flight = &flight{begun: time.Now(), soon: make(chan struct{}, 1), done: make(chan struct{})}
	if !c.fly(r, w, at, k) {
		w.flight.fail = recourse.Unavailable(s.Title).WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).CausedBy(errClosed)
		close(w.flight.done)
		return w
	}
	w.slot.flight = w.flight
	return w
}

// fly starts the flight. It reports false if the endpoint is closed.
func (c *Conn) fly(r *upstream.Request, w want, at listKey, k *listKind) bool {
	asker := r.For(r.Header.Clone(), nil)
	asker.Message = introduced(r)
	return c.work.Go(func(life context.Context) {
		ctx, cancel := context.WithTimeout(life, c.options.Load().Time)
		defer cancel()
		w.flight.list, w.flight.fail = c.look(ctx, w, func(ctx context.Context) (*list, *recourse.Error) {
			return c.collect(ctx, asker, w.server, k)
		})
		c.land(at, w, k)
	})
}

// introduced returns a message with the same client information as r's, which stays valid after r.
func introduced(r *upstream.Request) *wire.Message {
	return &wire.Message{Meta: append([]byte(nil), r.Message.Meta...)}
}

// look asks until there is an answer. A server that was away may have lost what it was asked then, so if it says nothing, it is
// asked again meanwhile.
func (c *Conn) look(ctx context.Context, w want, collect collecting) (*list, *recourse.Error) {
	if w.server.InOrder {
		return collect(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	again := make(chan *list, 1)
	timer := time.AfterFunc(lookAgain, func() {
		c.work.Go(func(context.Context) {
			if l := w.flight.lookAgain(ctx, collect); l != nil {
				again <- l
				cancel()
			}
		})
	})
	defer timer.Stop()
	l, fail := collect(ctx)
	select {
	case l = <-again:
		return l, nil
	default:
		return l, fail
	}
}

// lookAgain asks until ctx ends, one question at a time, and returns what it has found.
func (f *flight) lookAgain(ctx context.Context, collect collecting) *list {
	for wait := lookAgain; ctx.Err() == nil; wait *= 2 {
		asked, cancel := context.WithTimeout(ctx, lookTime)
		l, fail := collect(asked)
		cancel()
		if fail == nil {
			return l
		}
		if !pause.For(ctx, lookRest) {
			return nil
		}
		select {
		case <-f.soon:
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return nil
}

// land ends a flight.
func (c *Conn) land(at listKey, w want, k *listKind) {
	f := w.flight
	changed := f.list != nil && c.kept.put(at, w.slot, w.server, f.list)
	if f.fail == nil || f.fail.Kind != recourse.KindTimeout {
		c.hangs(w.server, false)
	}
	w.slot.mu.Lock()
	if w.slot.flight == f {
		w.slot.flight = nil
	}
	f.landed = true
	late := f.late
	w.slot.mu.Unlock()
	close(f.done)
	if changed && late && k.changed != "" {
		c.listeners.announce(k.changed)
	}
}

// await waits for the list until ctx ends.
func (w want) await(ctx context.Context) fetched {
	f := w.flight
	if f == nil {
		return fetched{server: w.server, list: w.list}
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		if last, late := w.slot.leave(f); late {
			return fetched{server: w.server, list: last, late: true}
		}
		<-f.done // it is ending right now
	}
	if f.fail != nil {
		return fetched{server: w.server, list: w.slot.last(), fail: f.fail}
	}
	return fetched{server: w.server, list: f.list}
}

// awaitUntil is await with a time.
func (w want) awaitUntil(ctx context.Context, until time.Time) fetched {
	if w.flight == nil {
		return w.await(ctx)
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return w.await(ctx)
}

// leave records that somebody has stopped waiting for a flight, and returns the last list. It reports
// false if the flight has ended.
func (s *slot) leave(f *flight) (last *list, late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.landed {
		return nil, false
	}
	f.late = true
	return s.good, true
}

// askAll asks servers for a list, all at once, and waits no longer than the deadline. For a server that is known to hang, nobody
// waits longer than for the others.
func (c *Conn) askAll(ctx context.Context, r *upstream.Request, servers []*Source, k *listKind) []fetched {
	began, deadline := time.Now(), c.options.Load().Deadline
	wants, outcomes := make([]want, len(servers)), make([]fetched, len(servers))
	for i, s := range servers {
		wants[i] = c.want(r, s, k, time.Time{})
	}
	var hung []int
	for i, w := range wants {
		if w.flight != nil && c.isHung(w.server) {
			hung = append(hung, i)
			continue
		}
		if outcomes[i] = w.awaitUntil(ctx, began.Add(deadline)); outcomes[i].late && ctx.Err() == nil {
			c.hangs(w.server, true)
		}
	}
	until := time.Now().Add(time.Since(began))
	for _, i := range hung {
		select {
		case wants[i].flight.soon <- struct{}{}:
		default: // it has been told
		}
		outcomes[i] = wants[i].awaitUntil(ctx, until)
	}
	return outcomes
}

// hangs records whether a server does not answer in time.
func (c *Conn) hangs(s *Source, does bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if does {
		c.hung[s] = true
	} else {
		delete(c.hung, s)
	}
}

func (c *Conn) isHung(s *Source) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hung[s]
}
