package gateway

import (
	"slices"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/gateway/observe"
)

// An outcome is how a call is going, and how it ended. Every call has one.
type outcome struct {
	began time.Time
	took  time.Duration
	end   string // as package observe names it

	attempts int               // attempts that the server may have acted on
	sent     int               // attempts of any kind
	last     attempt           // the last one sent
	tries    []observe.Attempt // all of them, or the first maxTries
	wait     time.Duration     // before the next attempt
	queued   time.Duration     // for a place
	renewed  bool              // the session was renewed for it
	reason   string            // why the call was not repeated
	key      string            // the key by which an HTTP API's provider recognises repetitions

	form      string           // the form in which the client got the failure: see [observe.Outcome]
	allowance limits.Allowance // what the call takes of the limits

	record *recourse.Error   // the failure with its effect, as the client got it; nil: none
	told   []observe.Failure // all that is known about the failure
}

// maxTries limits the attempts in an outcome: a stream that is held open makes more.
const maxTries = 16

// An attempt is one request to the server, with details that only the stages need.
type attempt struct {
	observe.Attempt

	session    string // the session's id at the server
	generation int    // the generation of the client's session

	answered bool // the server has begun to answer in full
	lost     bool // the server does not know the session
	refused  bool // the server rejects the caller's account

	outlived verdict // about the other of two attempts, which failed first
}

// finish tells every observer the outcome, once.
func finish(c *call, next next) error {
	c.out.end = observe.Failed // about the gateway itself, if a stage panics
	defer func() {
		c.out.took = time.Since(c.out.began)
		if c.relayed() {
			c.closeAnswer()
			return
		}
		if c.g.observed || c.table.config.AccessLog || len(c.out.told) > 0 { // else the log has nothing to say
			o := c.outcome()
			for _, each := range c.g.observers {
				each.Ended(o)
			}
		}
		c.closeAnswer()
	}()
	err := next(c)
	switch {
	case c.reply.broken:
		c.out.end = observe.BrokenOff
	case c.reply.gone, c.left():
		c.out.end = observe.Left
	case c.out.record == nil:
		c.out.end = observe.Succeeded
	}
	return err
}

// attempt starts another attempt.
func (o *outcome) attempt() {
	o.attempts++
	o.sent++
	o.last = attempt{Attempt: observe.Attempt{Wait: o.wait, Began: time.Now()}}
	o.wait = 0
}

// ended ends the last attempt.
func (o *outcome) ended(e *recourse.Error) {
	o.last.Took = time.Since(o.last.Began)
	if e != nil {
		o.last.Failure = e.Kind
	}
	if len(o.tries) < maxTries {
		o.tries = append(o.tries, o.last.Attempt)
	}
}

// decided records why the call is sent again after the last attempt, and after what wait, or why it is not.
func (o *outcome) decided(reason string, wait time.Duration) {
	o.wait = wait
	if o.sent > 0 && o.sent == len(o.tries) {
		o.tries[o.sent-1].Reason = reason
	}
}

// record stores the failure of the call. note says what is special about it.
func (c *call) record(e *recourse.Error, note string) {
	c.out.record = e
	c.out.told = append(c.out.told, c.failureOf(e, note))
}

func (c *call) failureOf(e *recourse.Error, note string) observe.Failure {
	return observe.Failure{
		Message: "failure", Error: e, Cause: e.Cause(), Note: note, Attempts: c.out.attempts, Reason: c.out.reason,
	}
}

// Observe makes o an observer of every call. It must be called before the first one.
func (g *Gateway) Observe(o observe.Observer) { g.observers, g.observed = append(g.observers, o), true }

// outcome returns how the call ended, for observers. It is in the call's own memory.
func (c *call) outcome() *observe.Outcome {
	o := &c.told
	*o = observe.Outcome{
		ID: c.req.id, Caller: c.who.verified, User: c.req.user, Peer: c.req.http.RemoteAddr,
		Method: observe.MethodName(c.req.msg.Method), Nature: c.rule.nature, End: c.out.end, Record: c.out.record,
		Began: c.out.began, Took: c.out.took, Status: c.reply.status, Bytes: c.reply.bytes,
		Queued: c.out.queued, Limit: c.out.allowance.Refused,
		Sent: c.out.sent, Attempts: append(o.Attempts[:0], c.out.tries...), Reason: c.out.reason,
		Form: c.out.form, Span: c.trace.Span,
		Name: c.req.msg.Name, Failures: c.out.told, Private: c.private(), Logged: c.table.config.AccessLog,
		Request: observe.Request{
			HTTPMethod: c.req.http.Method, Method: c.req.msg.Method, Meta: c.req.msg.Meta,
			Bytes: len(c.req.body), Held: cap(c.req.body),
		},
	}
	if c.on != nil {
		o.Server, o.Contract = c.on.Name, c.on.contract.Name
		_, o.Observed = c.on.manner.(observing)
	} else {
		o.Request.Path = c.req.http.URL.Path
	}
	if c.member != nil {
		o.Request.Endpoint = outerOf(c.req.http.Context()).name
	}
	if c.rule.listed.Tool != nil {
		o.Tool = c.req.msg.Name
	}
	if values := c.req.http.Header["Traceparent"]; len(values) == 1 {
		o.Request.TraceParent = values[0]
	}
	slices.SortStableFunc(o.Attempts, func(a, b observe.Attempt) int { return a.Began.Compare(b.Began) }) // two may run at once
	return o
}

// private returns what it takes to mask what is told of the call. It may be used after the call has ended.
func (c *call) private() observe.Private {
	p := observe.Private{Tool: c.rule.listed.Tool, Arguments: c.req.msg.Arguments}
	if c.on != nil {
		p.Contract, p.Entry = c.on.contract, c.on.secrets
	}
	return p
}
