package gateway

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/bulkhead"
	"github.com/recoursehq/recourse/internal/gateway/hedge"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
	"github.com/recoursehq/recourse/retry"
)

// A runner is one of a call's two attempts.
type runner struct {
	*hedge.Attempt

	id     wire.ID // toward the server: ids in a session must differ
	header http.Header
	tried  attempt
}

func (c *call) hedges() bool {
	return c.to.Hedge != nil && c.req.isCall() && c.rule.nature == retry.Reads && c.on.manner.acts()
}

// hedge sends a call that only reads, and sends it again if the answer does not begin in time. Both attempts
// may outlive the call, so they share nothing with it.
func (c *call) hedge(ctx context.Context, r *upstream.Request) (*http.Response, error) {
	raw, spare := r.Message.Raw, r.Clone()
	one := c.start(ctx, r, raw, c.req.msg.ID)
	if one.Within(c.to.Hedge.After) {
		return one.Resp, one.Err
	}
	leave, ok := c.mayHedge()
	if !ok {
		one.Wait()
		return one.Resp, one.Err
	}
	one.tried.Reason = "its answer had not begun, and the tool only reads"
	c.out.attempt()
	c.out.last.session, c.out.last.generation = one.tried.session, one.tried.generation
	id := wire.ID(fmt.Sprintf("%q", c.req.id+"-hedge"))
	m := c.continueTrace(spare.Header)
	two := c.start(ctx, spare, wire.Splice(nil, m.Raw, wire.Edit{At: m.IDAt, With: id}), id)

	winner, loser := one, two
	if !one.Outruns(two.Attempt) {
		winner, loser = two, one
	}
	if winner.Answered {
		c.out.Attempts = append(c.out.Attempts, loser.ended(true))
		c.outrun(loser, leave)
	} else { // only the other one is left
		winner, loser = loser, winner
		c.out.Attempts = append(c.out.Attempts, loser.ended(false))
		winner.tried.outlived = c.verdictOf(c.endOf(loser))
		loser.Drop()
		winner.Wait()
		leave()
	}
	c.out.last, c.in.id = winner.tried, winner.id
	return winner.Resp, winner.Err
}

func (c *call) start(ctx context.Context, r *upstream.Request, message []byte, id wire.ID) *runner {
	run := &runner{id: id, header: r.Header.Clone(), tried: c.out.last}
	r.Message, r.Body = nil, message
	up := c.to.up
	run.Attempt = hedge.Start(ctx, func(ctx context.Context) (*http.Response, error) { return up.Do(ctx, r) })
	return run
}

// mayHedge reports whether another attempt is possible: a place in each bulkhead, which leave gives back, a
// closed breaker, and a repetition left in the budget.
func (c *call) mayHedge() (leave func(), ok bool) {
	if c.to.breaker != nil && !c.to.breaker.Closed(c.lane()) {
		return nil, false
	}
	var places []*bulkhead.Bulkhead
	leave = func() {
		for _, b := range places {
			b.Leave()
		}
	}
	for _, b := range []*bulkhead.Bulkhead{c.to.toolBulkheads[c.rule.Concurrency], c.to.bulkhead} {
		if b == nil {
			continue
		}
		if !b.Try() {
			leave()
			return nil, false
		}
		places = append(places, b)
	}
	if !c.to.Budget.Take() {
		leave()
		return nil, false
	}
	return leave, true
}

// cancelTime limits the time for telling a server that an attempt is no longer wanted.
const cancelTime = 5 * time.Second

// outrun ends the attempt that was not answered first. A legacy server needs a notification (MCP 2025-11-25,
// basic/utilities/cancellation); a modern one notices that nobody is listening.
func (c *call) outrun(loser *runner, leave func()) {
	loser.Cancel()
	up, caller, legacy := c.to.up, c.who.server, c.req.era == wire.Legacy
	c.g.background(cancelTime, func(ctx context.Context) {
		defer leave()
		if legacy {
			params := fmt.Appendf(nil, `{"requestId":%s,"reason":%q}`, loser.id, hedge.ErrOutrun)
			body := wire.AppendRequest(nil, nil, wire.MethodCancelled, params)
			resp, err := up.Do(ctx, &upstream.Request{Header: loser.header, Body: body, Caller: caller})
			if err == nil {
				_ = resp.Body.Close() // it is a notification
			}
		}
		loser.Drop()
	})
}

// endOf returns how an attempt ended whose answer has not begun: the status, 0 if there was none, and the
// error.
func (c *call) endOf(r *runner) (status int, e *recourse.Error) {
	switch {
	case r.Err != nil:
		return 0, recourse.From(r.Err)
	case r.Resp.StatusCode != http.StatusOK:
		return r.Resp.StatusCode, c.to.reader.HTTP(r.Resp.StatusCode, r.Resp.Header, nil, "").Error()
	}
	if r.Broken != nil {
		e = c.to.broken(c.ctx, r.Broken)
	}
	return http.StatusOK, e
}

// ended returns the record of an attempt that does not count, because it was outrun or has failed.
func (r *runner) ended(outrun bool) observe.Attempt {
	tried := r.tried.Attempt
	tried.Took = time.Since(tried.Began)
	switch {
	case outrun:
		tried.Failure = recourse.KindCancelled
	case r.Err != nil:
		tried.Failure = recourse.From(r.Err).Kind
	default:
		tried.Status = r.Resp.StatusCode
		tried.Failure = recourse.FromStatus("", tried.Status).Kind
	}
	return tried
}
