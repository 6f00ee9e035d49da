package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/intake"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/policy/breaker"
	"github.com/recoursehq/recourse/internal/policy/limit"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A guard stands between the calls and one server. Like the backend, it survives a reload.
type guard struct {
	breaker       *breaker.Breaker                        // nil: there is none
	bulkhead      *limit.Bulkhead                         // nil: there is none
	toolBulkheads map[*config.Concurrency]*limit.Bulkhead // by the entry of a tool or pattern
}

// newGuard returns an entry's guard. It takes over the state of the previous endpoint's, which may be nil.
func newGuard(entry *config.Server, old *endpoint) guard {
	var before guard
	toolsBefore := map[string]*limit.Bulkhead{}
	if old != nil {
		before = old.guard
		for _, tool := range old.entry.Tools {
			toolsBefore[tool.Key] = before.toolBulkheads[tool.Value.Concurrency]
		}
	}
	g := guard{bulkhead: bulkheadFor(entry.Concurrency, before.bulkhead), toolBulkheads: map[*config.Concurrency]*limit.Bulkhead{}}
	if entry.Breaker != nil {
		if g.breaker = before.breaker; g.breaker == nil {
			g.breaker = breaker.New(breakerRule(entry.Breaker))
		}
	}
	for _, tool := range entry.Tools {
		if rule := tool.Value.Concurrency; rule != nil {
			g.toolBulkheads[rule] = bulkheadFor(rule, toolsBefore[tool.Key])
		}
	}
	return g
}

// bulkheadFor returns the bulkhead for a rule: the previous one, if there is one.
func bulkheadFor(rule *config.Concurrency, before *limit.Bulkhead) *limit.Bulkhead {
	switch {
	case rule == nil:
		return nil
	case before != nil:
		return before
	default:
		return limit.NewBulkhead(rule.Max, rule.Queue)
	}
}

// apply makes what the guard shares with the previous one follow the entry's rules.
func (g *guard) apply(entry *config.Server) {
	if g.breaker != nil {
		g.breaker.Set(breakerRule(entry.Breaker))
	}
	if g.bulkhead != nil {
		g.bulkhead.Set(entry.Concurrency.Max, entry.Concurrency.Queue)
	}
	for rule, b := range g.toolBulkheads {
		b.Set(rule.Max, rule.Queue)
	}
}

func breakerRule(entry *config.Breaker) breaker.Settings {
	return breaker.Settings{
		FailureRate: entry.FailureRate, Window: entry.Window, MinCalls: entry.MinCalls,
		OpenFor: entry.OpenFor, MaxOpen: entry.MaxOpen,
	}
}

// queue holds an attempt back while too many calls to the tool or the server are in progress.
func queue(a *attempt, try try) end {
	c := a.of
	if c.on.guard.bulkhead == nil && c.rule.Concurrency == nil || !c.req.isBounded() {
		return try(a)
	}
	if rule := c.rule.Concurrency; rule != nil { // taken first, so that calls waiting for the tool do not occupy the server's places
		b := c.on.guard.toolBulkheads[rule]
		if e := a.takePlace(b, rule); e != nil {
			return answer.NotSent(e)
		}
		defer b.Leave()
	}
	if b := c.on.guard.bulkhead; b != nil {
		if e := a.takePlace(b, c.on.entry.Concurrency); e != nil {
			return answer.NotSent(e)
		}
		defer b.Leave()
	}
	return try(a)
}

// takePlace waits for a place, or returns why the call does not get one.
func (a *attempt) takePlace(b *limit.Bulkhead, rule *config.Concurrency) *recourse.Error {
	c := a.of
	switch {
	case b.Try():
		return nil
	case a.isSpare():
		return c.on.heldBackFor(intake.BusyWait)
	}
	if e := c.on.holdsBack(c.rule.lane(&c.req)); e != nil { // the calls ahead are waiting for a server that does not answer
		return e
	}
	began, waited := time.Now(), c.pauseDeadline()
	err := b.Enter(c.ctx, rule.Wait)
	waited()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, limit.ErrFull):
		return c.on.heldBackFor(intake.BusyWait).
			WithMessage("%s is busy with other calls, and no more of them can wait. This one was not sent.", c.on.entry.Title)
	default:
		return c.on.heldBackFor(intake.BusyWait).WithMessage("%s is busy with other calls. This one waited for %s, and was not sent.",
			c.on.entry.Title, recourse.FormatWait(time.Since(began)))
	}
}

// holdBack refuses an attempt while the breaker is open, and reports the result of every other attempt to the
// breaker. In observe mode nothing is refused.
func holdBack(a *attempt, try try) end {
	c, b := a.of, a.of.on.guard.breaker
	if a.isSpare() && !c.on.spares(c.rule.lane(&c.req)) {
		return end{Why: answer.HeldBack}
	}
	if b == nil || !c.req.isBounded() {
		return try(a)
	}
	pass, refusal := b.Admit(time.Now(), c.rule.lane(&c.req))
	if refusal != nil {
		e := c.on.heldBack(refusal)
		if c.on.mode.object(c, e) != nil {
			return answer.NotSent(e) // not object's failure: repeat may still act on it
		}
		return try(a)
	}
	end := try(a)
	told := verdict{}
	if end.Why != answer.Outrun && !c.req.left() { // else it was ended on the client's behalf
		told = toldOf(&end, c.req.isCall(), c.reply.Broken)
	}
	if told.outcome == breaker.Answered && !wire.Named(c.req.msg.Method) {
		told.outcome = breaker.Nothing // it may have been answered from memory, as a list or a shared program's initialize is
	}
	c.on.tellBreaker(c.g.log, pass, told)
	return end
}

// spares reports whether there may be a second attempt beside the first: the server is not even probed, and there is a
// repetition left in the budget.
func (on *endpoint) spares(lane string) bool {
	return (on.guard.breaker == nil || on.guard.breaker.Closed(lane)) && on.backend.Budget.Take()
}

// errHeldBack is the cause of a failure that says that the gateway did not send the call, to protect the server.
var errHeldBack = errors.New("the gateway holds calls back")

// tellBreaker reports what an attempt has shown, and logs whether the breaker has opened or closed.
func (on *endpoint) tellBreaker(log *slog.Logger, pass breaker.Pass, v verdict) {
	for _, change := range on.guard.breaker.Done(time.Now(), pass, v.outcome, v.stated) {
		on.logCircuit(log, &change)
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
func (on *endpoint) holdsBack(lane string) *recourse.Error {
	if on.guard.breaker == nil {
		return nil
	}
	refusal := on.guard.breaker.Refuses(time.Now(), lane)
	if refusal == nil {
		return nil
	}
	return on.heldBack(refusal)
}

func (on *endpoint) heldBack(r *breaker.Refusal) *recourse.Error {
	e := on.heldBackFor(r.Wait.Truncate(time.Millisecond) + time.Millisecond)
	if r.Tool != "" {
		return e.WithMessage("Calls of %s at %s keep failing, so they are not sent for now. This one was not sent.",
			r.Tool, on.entry.Title)
	}
	return e.WithMessage("%s keeps failing, so calls to it are not sent for now. This one was not sent.", on.entry.Title)
}

// heldBackFor is the failure for a call that the gateway holds back.
func (on *endpoint) heldBackFor(wait time.Duration) *recourse.Error {
	return recourse.Unavailable(on.entry.Title).WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).
		WithRetry(recourse.RetrySameCall).WithRetryAfter(wait).CausedBy(errHeldBack)
}

// A verdict is what an attempt shows about the server.
type verdict struct {
	outcome breaker.Sign
	stated  time.Duration // how long the server asked to be left alone
}

// toldOf returns what an attempt shows about the server, whose answer may have been broken off.
func toldOf(end *end, isCall, broken bool) verdict {
	e := end.Err
	if end.Why == answer.Failed && end.Failure.Off {
		e = end.Failure.Err
	}
	v := verdictOf(end.Status, e, isCall)
	if e == nil && broken && v.outcome == breaker.Answered && end.Status <= http.StatusOK {
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

func (on *endpoint) logCircuit(log *slog.Logger, s *breaker.State) {
	level, attrs := slog.LevelInfo, []slog.Attr{slog.String("server", on.entry.Name)}
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

// enter lets the call of a tool wait while as many calls are in progress as the endpoint's limits allow at once.
func enter(c *call, next next) *failure {
	l := c.on.limitsOf(&c.req)
	if l == nil || !l.Wait() {
		return next(c)
	}
	a, counted := &c.out.allowance, limits.Counted{Tool: c.req.msg.Name, Payer: c.who.counted()}
	defer a.Leave(c.g.counting)
	if e := a.Enter(c.ctx, c.g.counting, l, &counted, c.pauseDeadline); e != nil {
		return c.exceeded(e, time.Now())
	}
	return next(c)
}

// throttle lets the call of a tool pass unless one of the endpoint's limits is exceeded. The server never
// sees a call that is refused, and no limit counts it.
//
// A call that has passed counts in all windows, whatever becomes of it, with two exceptions: a call that was
// never sent, and one that failed through the caller's own mistake.
func throttle(c *call, next next) *failure {
	l := c.on.limitsOf(&c.req)
	if l == nil {
		return next(c)
	}
	a, counted := &c.out.allowance, limits.Counted{Tool: c.req.msg.Name, Payer: c.who.counted()}
	now := time.Now() // also the time in the headers of a refusal
	if e := a.Charge(c.ctx, c.table.counter, l, &counted, now); e != nil {
		if f := c.exceeded(e, now); f != nil {
			return f
		}
		return next(c)
	}
	if !a.Counts() {
		return next(c)
	}
	if l.Headers {
		a.TellRemaining(c.reply.Header())
		c.reply.Limits = true
	}
	f := next(c)
	if f != nil && c.out.notCharged(f) {
		c.giveBack()
	}
	return f
}

// limitsOf returns what limits a request, or nil.
func (on *endpoint) limitsOf(r *request) *limits.Limits {
	if !r.isCall() || !r.asks() || r.inquires {
		return nil
	}
	return on.limits
}

// exceeded returns the failure of a call that exceeds a limit.
func (c *call) exceeded(e *recourse.Error, now time.Time) *failure {
	f := c.on.mode.object(c, e)
	if f != nil {
		limits.TellRefusal(c.reply.Header(), e, now)
	}
	return f
}

// notCharged reports whether a call that ended with f is not counted. The server is believed if it says that
// the caller made a mistake: limits protect the server itself.
func (o *outcome) notCharged(f *failure) bool {
	class := f.Err.Kind.Class()
	return o.Sent == 0 || class == recourse.ClassInput || class == recourse.ClassProtocol
}

// giveBack takes the call out of all windows, once.
func (c *call) giveBack() {
	a := &c.out.allowance
	if a.GiveBack(c.ctx, c.table.counter) && c.on.limits.Headers && !c.reply.Started {
		a.TellRemaining(c.reply.Header())
	}
}
