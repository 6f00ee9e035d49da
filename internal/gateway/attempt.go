package gateway

import (
	"context"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// An attempt is one request to the server, on its way through the stages that repeat has made for each.
type attempt struct {
	of      *call
	ctx     context.Context
	half    *half             // of a call that may be hedged; nil: it is the only attempt at the time
	request *upstream.Request // prepare and spread
	report  observe.Attempt   // spread and send

	id         wire.ID // the request's id at the server; nil: the client's own
	session    string  // its id at the server
	generation int     // of the client's session
}

// attempt returns the next attempt, in memory of the call's.
func (c *call) attempt() *attempt {
	c.sent = attempt{of: c, ctx: c.ctx}
	return &c.sent
}

// isSpare reports whether it is the second one of two: it waits for nothing.
func (a *attempt) isSpare() bool { return a.half != nil && a.half.spare }

// begin counts an attempt that is sent now.
func (a *attempt) begin() {
	o := &a.of.out
	o.counted++
	o.Sent++
	a.report.Wait, a.report.Began = o.wait, time.Now()
	o.wait = 0
}

// note tells observers how an attempt has ended: in e, or without a failure.
func (a *attempt) note(status int, e *recourse.Error) {
	a.report.Took, a.report.Status = time.Since(a.report.Began), status
	if e != nil {
		a.report.Failure = e.Kind
	}
	if o := &a.of.out; len(o.Attempts) < maxTries {
		o.Attempts = append(o.Attempts, a.report)
	}
}
