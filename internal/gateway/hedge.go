package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/bulkhead"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
	"github.com/recoursehq/recourse/retry"
)

// A runner is one of a call's two attempts. The first to be answered counts.
type runner struct {
	id     wire.ID // toward the server: ids in a session must differ
	header http.Header
	tried  attempt
	cancel context.CancelCauseFunc

	// Set once it has ended, or its answer has begun:
	resp *http.Response
	err  error
	good bool // an answer has begun
}

var errOutrun = errors.New("the other attempt was answered first")

// hedges reports whether the call may be sent twice.
func (c *call) hedges() bool {
	return c.to.Hedge != nil && c.req.isCall() && c.rule.nature == retry.Reads && c.on.Mode == config.ModeEnforce
}

// hedge sends a call that only reads, and sends it again if the answer does not begin in time. Both attempts
// may outlive the call, so they share nothing with it.
func (c *call) hedge(ctx context.Context, r *upstream.Request) (*http.Response, error) {
	raw, spare := r.Message.Raw, r.Clone()
	done := make(chan *runner, 2)
	one := c.start(ctx, r, raw, c.req.msg.ID, done)
	timer := time.NewTimer(c.to.Hedge.After)
	defer timer.Stop()
	select {
	case <-done:
		return one.resp, one.err
	case <-timer.C:
	}
	leave, ok := c.mayHedge()
	if !ok {
		<-done
		return one.resp, one.err
	}
	one.tried.Reason = "its answer had not begun, and the tool only reads"
	c.out.attempt()
	c.out.last.session, c.out.last.generation = one.tried.session, one.tried.generation
	id := wire.ID(fmt.Sprintf("%q", c.req.id+"-hedge"))
	m := c.continueTrace(spare.Header)
	two := c.start(ctx, spare, wire.Splice(nil, m.Raw, wire.Edit{At: m.IDAt, With: id}), id, done)

	winner := <-done
	loser := two
	if winner == two {
		loser = one
	}
	if winner.good {
		c.out.tries = append(c.out.tries, loser.ended(true))
		c.outrun(loser, done, leave)
	} else { // only the other one is left
		winner, loser = loser, winner
		c.out.tries = append(c.out.tries, loser.ended(false))
		winner.tried.outlived = c.verdictOf(c.endOf(loser))
		loser.drop()
		<-done
		leave()
	}
	c.out.last, c.in.id = winner.tried, winner.id
	return winner.resp, winner.err
}

// start makes an attempt, and signals done when it is over or its answer has begun.
func (c *call) start(ctx context.Context, r *upstream.Request, message []byte, id wire.ID, done chan<- *runner) *runner {
	ctx, cancel := context.WithCancelCause(ctx)
	run := &runner{id: id, header: r.Header.Clone(), tried: c.out.last, cancel: cancel}
	r.Message, r.Body = nil, message
	up := c.to.up
	go func() {
		if run.resp, run.err = up.Do(ctx, r); run.err == nil { //nolint:bodyclose // by the receiver of done
			run.good = run.resp.StatusCode == http.StatusOK && begins(run.resp)
		}
		done <- run
	}()
	return run
}

// begins waits for the first byte of an answer, which whoever reads it still gets: a server that streams
// sends the head at once, whatever its tool does.
func begins(resp *http.Response) bool {
	var first [1]byte
	n, err := resp.Body.Read(first[:])
	for n == 0 && err == nil {
		n, err = resp.Body.Read(first[:])
	}
	resp.Body = &begun{ReadCloser: resp.Body, first: first[:n], err: err}
	return n > 0
}

// begun is an answer whose first byte, or an error, has been read.
type begun struct {
	io.ReadCloser

	first []byte
	err   error
}

// Read implements io.Reader.
func (b *begun) Read(p []byte) (int, error) {
	switch {
	case len(b.first) > 0 && len(p) > 0:
		n := copy(p, b.first)
		b.first = nil
		return n, nil
	case b.err != nil:
		return 0, b.err
	}
	return b.ReadCloser.Read(p)
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
	if !c.to.budget.Take() {
		leave()
		return nil, false
	}
	return leave, true
}

// cancelTime limits the time for telling a server that an attempt is no longer wanted.
const cancelTime = 5 * time.Second

// outrun ends the attempt that was not answered first. A legacy server needs a notification (MCP 2025-11-25,
// basic/utilities/cancellation); a modern one notices that nobody is listening.
func (c *call) outrun(loser *runner, done <-chan *runner, leave func()) {
	loser.cancel(errOutrun)
	up, caller, legacy := c.to.up, c.who.server, c.req.era == wire.Legacy
	c.g.background(cancelTime, func(ctx context.Context) {
		defer leave()
		if legacy {
			params := fmt.Appendf(nil, `{"requestId":%s,"reason":%q}`, loser.id, errOutrun)
			body := wire.AppendRequest(nil, nil, wire.MethodCancelled, params)
			resp, err := up.Do(ctx, &upstream.Request{Header: loser.header, Body: body, Caller: caller})
			if err == nil {
				_ = resp.Body.Close() // it is a notification
			}
		}
		<-done
		loser.drop()
	})
}

// drop ends an attempt whose answer is not needed.
func (r *runner) drop() {
	if r.resp != nil {
		_ = r.resp.Body.Close()
	}
	r.cancel(errOutrun)
}

// endOf returns how an attempt ended whose answer has not begun: the status, 0 if there was none, and the
// error.
func (c *call) endOf(r *runner) (status int, e *recourse.Error) {
	if r.err != nil {
		return 0, recourse.From(r.err)
	}
	if status = r.resp.StatusCode; status != http.StatusOK {
		return status, c.to.reader.HTTP(status, r.resp.Header, nil, "").Error()
	}
	if body, ok := r.resp.Body.(*begun); ok && !errors.Is(body.err, io.EOF) {
		e = c.to.broken(c.ctx, body.err)
	}
	return status, e
}

// ended returns the record of an attempt that does not count, because it was outrun or has failed.
func (r *runner) ended(outrun bool) observe.Attempt {
	tried := r.tried.Attempt
	tried.Took = time.Since(tried.Began)
	switch {
	case outrun:
		tried.Failure = recourse.KindCancelled
	case r.err != nil:
		tried.Failure = recourse.From(r.err).Kind
	default:
		tried.Status = r.resp.StatusCode
		tried.Failure = recourse.FromStatus("", tried.Status).Kind
	}
	return tried
}
