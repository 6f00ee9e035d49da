package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/policy/breaker"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// holdBack refuses an attempt while the breaker is open, and reports the result of every other attempt to the
// breaker. In observe mode nothing is refused.
func holdBack(a *attempt, try try) end {
	c, b := a.of, a.of.on.to.guard.breaker
	if a.isSpare() && !c.on.to.spares(c.rule.lane(&c.req)) {
		return end{why: heldBack}
	}
	if b == nil || !c.req.isBounded() {
		return try(a)
	}
	pass, refusal := b.Admit(time.Now(), c.rule.lane(&c.req))
	if refusal != nil {
		e := c.on.to.heldBack(refusal)
		if c.on.mode.object(c, e) != nil {
			return notSent(e) // not object's failure: repeat may still act on it
		}
		return try(a)
	}
	end := try(a)
	told := c.toldOf(&end)
	if told.outcome == breaker.Answered && !wire.Named(c.req.msg.Method) {
		told.outcome = breaker.Nothing // it may have been answered from memory, as a list or a shared program's initialize is
	}
	c.on.to.tellBreaker(c.g.log, pass, told)
	return end
}

// spares reports whether there may be a second attempt beside the first: the server is not even probed, and there is a
// repetition left in the budget.
func (to *target) spares(lane string) bool {
	return (to.guard.breaker == nil || to.guard.breaker.Closed(lane)) && to.backend.Budget.Take()
}

// errHeldBack is the cause of a failure that says that the gateway did not send the call, to protect the server.
var errHeldBack = errors.New("the gateway holds calls back")

// tellBreaker reports what an attempt has shown, and logs whether the breaker has opened or closed.
func (to *target) tellBreaker(log *slog.Logger, pass breaker.Pass, v verdict) {
	for _, change := range to.guard.breaker.Done(time.Now(), pass, v.outcome, v.stated) {
		to.logCircuit(log, &change)
	}
}

// isBounded reports whether the request ends with its answer, unlike a subscription, which lasts, or a
// message without an answer.
func (r *request) isBounded() bool { return r.asks() && r.msg.Method != wire.MethodListen }

// lane returns the tool that is called. It is "" if the server does not list the tool, or has no list and the
// name is too long to be one, since clients can write any name.
func (r *rule) lane(of *request) string {
	const longest = 128
	switch name := of.msg.Name; {
	case !of.isCall():
		return ""
	case r.listed.Tool != nil, r.list == nil && len(name) <= longest:
		return name
	default:
		return ""
	}
}

// holdsBack returns why the breaker would refuse a call in that lane now, or nil.
func (to *target) holdsBack(lane string) *recourse.Error {
	if to.guard.breaker == nil {
		return nil
	}
	refusal := to.guard.breaker.Refuses(time.Now(), lane)
	if refusal == nil {
		return nil
	}
	return to.heldBack(refusal)
}

func (to *target) heldBack(r *breaker.Refusal) *recourse.Error {
	e := to.heldBackFor(r.Wait.Truncate(time.Millisecond) + time.Millisecond)
	if r.Tool != "" {
		return e.WithMessage("Calls of %s at %s keep failing, so they are not sent for now. This one was not sent.",
			r.Tool, to.entry.Title)
	}
	return e.WithMessage("%s keeps failing, so calls to it are not sent for now. This one was not sent.", to.entry.Title)
}

// heldBackFor is the failure for a call that the gateway holds back.
func (to *target) heldBackFor(wait time.Duration) *recourse.Error {
	return recourse.Unavailable(to.entry.Title).WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).
		WithRetry(recourse.RetrySameCall).WithRetryAfter(wait).CausedBy(errHeldBack)
}

// A verdict is what an attempt shows about the server.
type verdict struct {
	outcome breaker.Sign
	stated  time.Duration // how long the server asked to be left alone
}

// toldOf returns what an attempt shows about the server.
func (c *call) toldOf(end *end) verdict {
	if end.why == outrun || c.req.left() { // it was ended on the client's behalf
		return verdict{}
	}
	e := end.e
	if end.why == failed && end.failure.off {
		e = end.failure.e
	}
	v := verdictOf(end.status, e, c.req.isCall())
	if e == nil && c.reply.broken && v.outcome == breaker.Answered && end.status <= http.StatusOK {
		v.outcome = breaker.Failed
	}
	return v
}

// verdictOf returns what an attempt shows about the server; status is 0 and e nil if there was none. Only the
// transport counts: anything that the server answered is an answer. What does not answer in time may be the
// fault of the tool that is called, if one is.
func verdictOf(status int, e *recourse.Error, ofTool bool) verdict {
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		v := verdict{outcome: breaker.Failed}
		if e != nil {
			v.stated = e.RetryAfter
		}
		return v
	case 0, http.StatusOK:
	default:
		return verdict{outcome: breaker.Answered}
	}
	switch {
	case e == nil, e.Origin != recourse.OriginGateway:
		return verdict{outcome: breaker.Answered}
	case e.Kind == recourse.KindTimeout && ofTool:
		return verdict{outcome: breaker.TimedOut}
	case e.Kind == recourse.KindTimeout:
		return verdict{outcome: breaker.Failed}
	case e.Kind != recourse.KindUnreachable && e.Kind != recourse.KindUnavailable:
		return verdict{}
	case e.Effect == recourse.EffectNone:
		return verdict{outcome: breaker.Missed}
	default:
		return verdict{outcome: breaker.Failed}
	}
}

func (to *target) logCircuit(log *slog.Logger, s *breaker.State) {
	level, attrs := slog.LevelInfo, []slog.Attr{slog.String("server", to.entry.Name)}
	if s.Tool != "" {
		attrs = append(attrs, slog.String("tool", s.Tool))
	}
	message := "breaker closed: calls are sent again"
	if s.Status != breaker.StatusClosed {
		level, message = slog.LevelWarn, "breaker open: calls are refused"
		attrs = append(attrs, slog.String("for", recourse.FormatWait(s.Wait)))
	}
	log.LogAttrs(context.Background(), level, message, attrs...)
}
