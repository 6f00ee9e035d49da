package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/retry"
)

// A half is what an attempt needs that may become one of two. Its steps run beside the call. They use the call's own state
// only before the request is sent, and once it is their turn: never both at once, nor after the call.
type half struct {
	spare  bool // it is the second one
	cancel context.CancelCauseFunc
	sent   chan struct{} // closed once the request is under way, or is not sent
	begun  chan struct{} // closed once the answer has begun, or there is none
	turn   chan bool     // whether the attempt goes on with its answer; otherwise the other one does
	done   chan struct{} // closed once it has ended

	header   http.Header // of the request; nil: it was not sent
	answered bool        // an answer with status 200 has begun
	broken   error       // why one has not begun; nil: it is empty

	end   end
	fault any // a panic
}

// hedge makes a second attempt of a call that only reads if the answer to the first does not begin in time. The one that is
// answered first goes on, and the other one is given up.
func hedge(a *attempt, try try) end {
	c := a.of
	if c.on.entry.Hedge == nil || !c.req.isCall() || c.rule.nature != retry.Reads {
		return try(a)
	}
	one := &attempt{of: c, ctx: c.ctx} // it may outlive the call
	one.start(try, false)
	if !c.rule.patient {
		return one.race(try).finish(true)
	}
	winner := one
	c.during(func() { winner = one.race(try) })
	return winner.finish(true)
}

// race waits for the beginning of an answer, of another attempt if that takes too long, and returns the attempt whose turn
// it is.
func (a *attempt) race(try try) *attempt {
	c := a.of
	if pause.Until(a.half.begun, c.on.entry.Hedge.After) {
		return a
	}
	two := &attempt{of: c, ctx: c.ctx, id: wire.ID(fmt.Sprintf("%q", c.req.id+"-hedge"))} // ids in a session must differ
	two.start(try, true)
	if two.half.header == nil {
		two.finish(false)
		<-a.half.begun
		return a
	}
	a.report.Reason = "its answer had not begun, and the tool only reads"
	first, other := a, two
	select {
	case <-a.half.begun:
	case <-two.half.begun:
		first, other = two, a
	}
	if first.half.answered {
		other.giveUp()
		return first
	}
	end := first.finish(false) // only the other one is left
	first.note(end.Status, end.Err)
	<-other.half.begun
	return other
}

// start takes an attempt through the other steps, and returns when its request is under way, or is not sent.
func (a *attempt) start(try try, spare bool) {
	h := &half{
		spare: spare, sent: make(chan struct{}), begun: make(chan struct{}), turn: make(chan bool, 1), done: make(chan struct{}),
	}
	a.half = h
	a.ctx, h.cancel = context.WithCancelCause(a.ctx)
	go func() {
		defer close(h.done)
		defer func() {
			if h.fault = throw(recover()); h.header == nil {
				close(h.sent)
				close(h.begun)
			}
		}()
		h.end = try(a)
	}()
	<-h.sent
}

// do makes the request, and waits for the beginning of the answer.
func (h *half) do(ctx context.Context, up upstream.Connection, r *upstream.Request) (*wire.Answer, error) {
	h.header = r.Header.Clone()
	close(h.sent)
	defer close(h.begun)
	resp, err := up.Do(ctx, r)
	if err == nil && resp.Status == http.StatusOK {
		// The head alone says nothing: a server that streams sends it at once, whatever its tool does.
		first, broken := resp.Peek(1)
		h.answered, h.broken = len(first) > 0, broken
	}
	return resp, err
}

// finish waits for the end of an attempt, whose turn it is or not. A panic belongs to the call.
func (a *attempt) finish(turn bool) end {
	a.half.turn <- turn
	<-a.half.done
	if a.half.fault != nil {
		panic(a.half.fault)
	}
	return a.half.end
}

// errOutrun is why an attempt ends when the other one was answered first.
var errOutrun = errors.New("the other attempt was answered first")

// cancelTime limits the time for telling a server that an attempt is no longer wanted.
const cancelTime = 5 * time.Second

// giveUp ends the attempt that was not answered first.
func (a *attempt) giveUp() {
	c, given := a.of, *a
	given.note(0, recourse.Cancelled())
	c.tainted = true
	a.half.cancel(errOutrun)
	legacy := c.req.era == wire.Legacy
	c.g.background(cancelTime, func(ctx context.Context) {
		if legacy {
			a.tellCancelled(ctx)
		}
		a.half.turn <- false
		<-a.half.done
		if a.half.fault != nil {
			_ = c.g.logPanic(c.req.id, a.half.fault)
		}
	})
}

// tellCancelled tells a legacy server that an attempt is no longer wanted (MCP 2025-11-25, basic/utilities/cancellation). A
// modern one notices that nobody is listening.
func (a *attempt) tellCancelled(ctx context.Context) {
	id := a.id
	if id == nil {
		id = a.of.req.msg.ID
	}
	params := fmt.Appendf(nil, `{"requestId":%s,"reason":%q}`, id, errOutrun)
	body := wire.AppendRequest(nil, nil, wire.MethodCancelled, params)
	if resp, err := a.of.on.up.Do(ctx, a.of.who.request(a.half.header, body)); err == nil {
		_ = resp.Close() // it is a notification
	}
}

// yielded returns how an attempt has ended that makes way for the other one.
func (a *attempt) yielded(resp *wire.Answer, err error) end {
	on := a.of.on
	switch {
	case errors.Is(context.Cause(a.ctx), errOutrun):
		if err == nil {
			_ = resp.Close()
		}
		return end{Why: answer.Outrun}
	case err != nil:
		return answer.Again(recourse.From(err))
	}
	defer func() { _ = resp.Close() }()
	e := on.reader.BadResponse(answer.ErrNoMessage)
	switch {
	case resp.Status != http.StatusOK:
		e = on.reader.HTTP(resp.Status, resp.Header, nil, "").Error()
	case a.half.broken != nil:
		e = on.broken(a.ctx, a.half.broken)
	}
	return end{Why: answer.Repeatable, Err: e, Status: resp.Status}
}
