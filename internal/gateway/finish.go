package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// An outcome is how a call is going, and how it ended. Every call has one. Observers are told the exported part.
type outcome struct {
	observe.Outcome

	counted int           // attempts that the server may have acted on
	doubt   bool          // one of them, which failed, may have changed something
	before  bool          // the call may have been made before
	wait    time.Duration // before the next attempt
	told    func()        // what is to be done after observers know of the call; nil: nothing
	renewed bool          // the session was renewed for a message without an answer of its own
	key     string        // the key by which an HTTP API's provider recognises repetitions

	allowance limits.Allowance // what the call takes of the limits
}

// maxTries limits the attempts in an outcome: a stream that is held open makes more.
const maxTries = 16

// finish ends the call, and tells every observer the outcome, once. It never panics.
func finish(c *call, next next) *failure {
	f := c.caught(next)
	if c.later != nil && f == nil && !c.reply.Broken {
		c.sent = attempt{}
		f = c.caught(c.later) // it may take hours, which here need little of the stack
		_ = c.in.Resp.Close() // either side has ended it
	}
	c.ended(f)
	return nil
}

// ended says how the call has ended. f is a panic after which nothing more can be written.
func (c *call) ended(f *failure) {
	if f != nil {
		c.out.record(f.Err, "answer broken off")
		c.reply.Broken = true
	}
	c.out.End = observe.Failed
	switch {
	case c.reply.Broken:
		c.out.End = observe.BrokenOff
	case c.reply.Gone, c.req.left() && (!c.reply.Started || c.req.lasts() || c.out.cancelled()):
		c.out.End = observe.Left
	case c.out.Record == nil && c.out.Seeming != nil:
		c.out.End = observe.Seems
	case c.out.Record == nil:
		c.out.End = observe.Succeeded
	}
	if c.who.outer != nil {
		c.who.outer.read(c.reply.Arrived() && !c.req.left())
	}
	c.out.Took = time.Since(c.out.Began)
	_ = c.caught(tell) // the client has its answer, whatever observers do
}

// lasts reports whether the answer is a stream without an end of its own. With any other the client may well have gone.
func (r *request) lasts() bool {
	return r.method == http.MethodGet || r.msg.Method == wire.MethodListen
}

// cancelled reports whether the client has left before there was an answer.
func (o *outcome) cancelled() bool { return o.Record != nil && o.Record.Kind == recourse.KindCancelled }

// tell tells every observer how the call has ended.
func tell(c *call) *failure {
	defer c.in.Close()
	if c.out.told != nil {
		defer c.out.told()
	}
	fine := c.out.Record == nil && c.out.Seeming == nil
	relayed := c.who.outer.isRelayed() && fine
	silent := len(c.g.observers) == 1 && !c.table.config.AccessLog && len(c.out.Failures) == 0 && fine // only the log, and nothing for it
	if (relayed || silent) && !c.out.Early {
		return nil
	}
	o := c.outcome()
	for _, each := range c.g.observers {
		each.Ended(o)
	}
	return nil
}

// Answering implements [answer.Call]: observers that ask for it are told that the client is about to have its answer.
func (c *call) Answering() {
	if c.who.outer.isRelayed() && c.out.Record == nil {
		return // the server's own call is told of
	}
	c.out.Method = observe.MethodName(c.req.msg.Method)
	for _, each := range c.g.observers {
		if each, ok := each.(observe.AnsweringObserver); ok && each.Answering(&c.out.Outcome) {
			c.out.Early = true
		}
	}
}

// decided records why the call is sent again after the last attempt, and after what wait, or why it is not.
func (o *outcome) decided(reason string, wait time.Duration) {
	o.wait = wait
	if o.Sent > 0 && o.Sent == len(o.Attempts) {
		o.Attempts[o.Sent-1].Reason = reason
	}
}

// record stores the failure of the call. note says what is special about it.
func (o *outcome) record(e *recourse.Error, note string) {
	o.Record = e
	o.Failures = append(o.Failures, o.failureOf(e, note))
}

// survive logs a failure that the call survives, at once: the call may last for hours.
func (c *call) survive(e *recourse.Error, note string) {
	o, f := c.outcome(), c.out.failureOf(e, note)
	o.Took = time.Since(o.Began)
	observe.Log{To: c.g.log}.Failure(o, &f)
}

// tellsLate returns the function by which observers are told, once they know of the call, what came of it after its end.
func (o *outcome) tellsLate(g *Gateway, l observe.Late) func(answer string) {
	var ready atomic.Int32
	o.told = func() {
		if ready.Add(1) < 2 {
			return
		}
		for _, each := range g.observers {
			if each, ok := each.(observe.LateObserver); ok {
				each.Late(&l)
			}
		}
	}
	told := o.told
	return func(answer string) {
		l.Answer = answer
		told()
	}
}

func (o *outcome) failureOf(e *recourse.Error, note string) observe.Failure {
	return observe.Failure{
		Message: "failure", Error: e, Cause: e.Cause(), Note: note, Attempts: o.counted, Reason: o.Reason,
	}
}

// Observe makes o an observer of every call. It must be called before the first one.
func (g *Gateway) Observe(o observe.Observer) { g.observers = append(g.observers, o) }

// outcome returns how the call ended, for observers. It is in the call's own memory.
func (c *call) outcome() *observe.Outcome {
	o := &c.out.Outcome
	o.ID, o.Caller, o.User, o.Peer = c.req.id, c.who.verified, c.req.user, c.req.from.RemoteAddr
	o.Method, o.Name, o.Nature = observe.MethodName(c.req.msg.Method), c.req.msg.Name, c.rule.nature
	o.Assumed = c.rule.assumed
	o.Status, o.Bytes, o.Limit, o.Span = c.reply.Status, c.reply.Bytes, c.out.allowance.Refused, c.trace.Span
	o.Private, o.Logged = c.private(), c.table.config.AccessLog
	o.Request = observe.Sent{
		HTTPMethod: c.req.method, Method: c.req.msg.Method, Meta: c.req.msg.Meta, Bytes: len(c.req.body), Held: cap(c.req.body),
		TraceParent: c.req.only(wire.HeaderTraceParent),
	}
	if c.on != nil {
		o.Server, o.Contract = c.on.entry.Name, c.on.contract.Name
		o.Observed = c.on.entry.Mode == config.ModeObserve
	} else {
		o.Request.Path = c.req.from.URL.Path
	}
	if c.member != nil {
		o.Request.Endpoint = c.of.name
	}
	if c.rule.listed.Tool != nil {
		o.Tool = c.req.msg.Name
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

// caught continues with the next stages. A panic in one of them becomes the failure of this call, and ends no other.
func (c *call) caught(next next) (f *failure) {
	defer func() {
		switch fault := recover(); fault {
		case nil:
		case http.ErrAbortHandler: // net/http's way to break an answer off without a word
			c.reply.Broken, f = true, nil
		default:
			f = c.panicked(fault)
		}
	}()
	return next(c)
}

// panicked logs a panic, which is a bug, and returns the failure of its call: written if nothing has been sent yet,
// else the answer is broken off.
func (c *call) panicked(fault any) *failure {
	cause := c.g.logPanic(c.req.id, fault)
	c.tainted = true
	e := internal(cause)
	if c.out.counted > 0 || c.out.before {
		e = e.WithEffect(recourse.EffectUnknown)
	}
	switch {
	case c.reply.Started:
		return &failure{Err: e, Off: true}
	case c.on == nil || !c.req.asks():
		return answer.Refuse(http.StatusInternalServerError, e)
	default:
		return answer.Settled(e)
	}
}

// A thrown is a panic in another goroutine, on its way to the call that it belongs to.
type thrown struct {
	fault any
	stack []byte
}

// throw returns what a goroutine has recovered from, to be thrown again; nil: nothing.
func throw(fault any) any {
	switch fault {
	case nil, http.ErrAbortHandler:
		return fault
	default:
		return thrown{fault, debug.Stack()}
	}
}

// logPanic logs a panic in a call, and returns it as an error.
func (g *Gateway) logPanic(id string, fault any) error {
	from, elsewhere := fault.(thrown)
	if !elsewhere {
		from = thrown{fault, debug.Stack()}
	}
	cause := fmt.Errorf("panic: %v", from.fault)
	g.log.LogAttrs(context.Background(), slog.LevelError, "panic", slog.String("request_id", id),
		slog.Any("cause", observe.Private{}.Mask(cause)), slog.String("stack", string(from.stack)))
	return cause
}
