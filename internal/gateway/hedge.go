package gateway

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/hedge"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/policy/bulkhead"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// A runner is one of a call's two attempts.
type runner struct {
	*hedge.Copy

	up     upstream.Connection
	caller upstream.Caller
	id     wire.ID // toward the server: ids in a session must differ
	header http.Header
	tried  attempt
}

// hedge sends a call that only reads, and sends it again if the answer does not begin in time. Both attempts
// may outlive the call, so they share nothing with it.
func (c *call) hedge(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	spare, own := r.Clone(), *r.Message
	r.Message = &own
	one := c.to.start(ctx, r, c.req.msg.ID, &c.out.last)
	if one.Within(c.to.entry.Hedge.After) {
		return one.Resp, one.Err
	}
	leave, ok := c.to.mayHedge(c.rule.lane(&c.req), c.rule.Concurrency)
	if !ok {
		one.Wait()
		return one.Resp, one.Err
	}
	one.tried.Reason = "its answer had not begun, and the tool only reads"
	c.out.attempt()
	c.out.last.session, c.out.last.generation = one.tried.session, one.tried.generation
	id := wire.ID(fmt.Sprintf("%q", c.req.id+"-hedge"))
	m, span := c.trace.continued(c.req.msg, spare.Header)
	c.out.last.Span = span
	spare.Message, spare.Body = nil, wire.SpliceID(nil, m.Raw, m.IDAt, id)
	two := c.to.start(ctx, spare, id, &c.out.last)

	winner, loser, legacy := one, two, c.req.era == wire.Legacy
	if !one.Outruns(two.Copy) {
		winner, loser = two, one
	}
	if winner.Answered {
		c.out.Attempts = append(c.out.Attempts, loser.ended(true))
		loser.Cancel()
		c.g.background(cancelTime, func(ctx context.Context) {
			defer leave()
			loser.end(ctx, legacy)
		})
	} else { // only the other one is left
		winner, loser = loser, winner
		c.out.Attempts = append(c.out.Attempts, loser.ended(false))
		if !c.left() { // else it was ended on the client's behalf
			status, e := c.to.endOf(ctx, loser)
			winner.tried.outlived = verdictOf(status, e, true)
		}
		loser.Drop()
		winner.Wait()
		leave()
	}
	c.out.last, c.in.id = winner.tried, winner.id
	return winner.Resp, winner.Err
}

// start makes an attempt with that request, whose message is its own and has that id.
func (to *target) start(ctx context.Context, r *upstream.Request, id wire.ID, tried *attempt) *runner {
	run := &runner{up: to.up, caller: r.Caller, id: id, header: r.Header.Clone(), tried: *tried}
	run.Copy = hedge.Start(ctx, func(ctx context.Context) (*wire.Answer, error) { return run.up.Do(ctx, r) })
	return run
}

// mayHedge reports whether another attempt is possible: a place in each bulkhead, which leave gives back, a
// closed breaker, and a repetition left in the budget.
func (to *target) mayHedge(lane string, ofTool *config.Concurrency) (leave func(), ok bool) {
	if to.guard.breaker != nil && !to.guard.breaker.Closed(lane) {
		return nil, false
	}
	var places []*bulkhead.Bulkhead
	leave = func() {
		for _, b := range places {
			b.Leave()
		}
	}
	for _, b := range []*bulkhead.Bulkhead{to.guard.toolBulkheads[ofTool], to.guard.bulkhead} {
		if b == nil {
			continue
		}
		if !b.Try() {
			leave()
			return nil, false
		}
		places = append(places, b)
	}
	if !to.backend.Budget.Take() {
		leave()
		return nil, false
	}
	return leave, true
}

// cancelTime limits the time for telling a server that an attempt is no longer wanted.
const cancelTime = 5 * time.Second

// end ends the attempt that was not answered first. A legacy server needs a notification (MCP 2025-11-25,
// basic/utilities/cancellation); a modern one notices that nobody is listening.
func (r *runner) end(ctx context.Context, legacy bool) {
	if legacy {
		params := fmt.Appendf(nil, `{"requestId":%s,"reason":%q}`, r.id, hedge.ErrOutrun)
		body := wire.AppendRequest(nil, nil, wire.MethodCancelled, params)
		resp, err := r.up.Do(ctx, &upstream.Request{Header: r.header, Body: body, Caller: r.caller})
		if err == nil {
			_ = resp.Close() // it is a notification
		}
	}
	r.Drop()
}

// endOf returns how an attempt ended whose answer has not begun: the status, 0 if there was none, and the
// error.
func (to *target) endOf(ctx context.Context, r *runner) (status int, e *recourse.Error) {
	switch {
	case r.Err != nil:
		return 0, recourse.From(r.Err)
	case r.Resp.Status != http.StatusOK:
		return r.Resp.Status, to.reader.HTTP(r.Resp.Status, r.Resp.Header, nil, "").Error()
	}
	if r.Broken != nil {
		e = to.broken(ctx, r.Broken)
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
		tried.Status = r.Resp.Status
		tried.Failure = recourse.FromStatus("", tried.Status).Kind
	}
	return tried
}
