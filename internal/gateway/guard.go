package gateway

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/breaker"
	"github.com/recoursehq/recourse/internal/bulkhead"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/wire"
)

// A guard stands between the calls and one server. Like the backend, it survives a reload.
type guard struct {
	breaker       *breaker.Breaker                           // nil: there is none
	bulkhead      *bulkhead.Bulkhead                         // nil: there is none
	toolBulkheads map[*config.Concurrency]*bulkhead.Bulkhead // by the entry of a tool or pattern
}

// newGuard returns an entry's guard. It takes over the state of the previous target's, which may be nil.
func newGuard(entry *config.Server, old *target) guard {
	var before guard
	toolsBefore := map[string]*bulkhead.Bulkhead{}
	if old != nil {
		before = old.guard
		for _, tool := range old.Tools {
			toolsBefore[tool.Key] = before.toolBulkheads[tool.Value.Concurrency]
		}
	}
	g := guard{bulkhead: bulkheadFor(entry.Concurrency, before.bulkhead), toolBulkheads: map[*config.Concurrency]*bulkhead.Bulkhead{}}
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
func bulkheadFor(rule *config.Concurrency, before *bulkhead.Bulkhead) *bulkhead.Bulkhead {
	switch {
	case rule == nil:
		return nil
	case before != nil:
		return before
	default:
		return bulkhead.New(rule.Max, rule.Queue)
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

// inBulkhead holds an attempt back while too many calls to the tool or the server are in progress. In observe
// mode it holds nothing back.
func inBulkhead(c *call, next next) error {
	if c.to.bulkhead == nil && c.rule.Concurrency == nil || !c.isBounded() || !c.on.manner.acts() {
		return next(c)
	}
	if rule := c.rule.Concurrency; rule != nil { // taken first, so that calls waiting for the tool do not occupy the server's places
		b := c.to.toolBulkheads[rule]
		if e := c.takePlace(b, rule); e != nil {
			return e
		}
		defer b.Leave()
	}
	if b := c.to.bulkhead; b != nil {
		if e := c.takePlace(b, c.to.Concurrency); e != nil {
			return e
		}
		defer b.Leave()
	}
	return next(c)
}

// takePlace waits for a place, or returns why the call does not get one.
func (c *call) takePlace(b *bulkhead.Bulkhead, rule *config.Concurrency) *recourse.Error {
	if b.Try() {
		return nil
	}
	if e := c.isHeldBack(); e != nil { // the calls ahead are waiting for a server that does not answer
		return e
	}
	began, waited := time.Now(), c.Waits()
	err := b.Enter(c.ctx, rule.Wait)
	waited()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bulkhead.ErrFull):
		return c.heldBackFor(busyWait).
			WithMessage("%s is busy with other calls, and no more of them can wait. This one was not sent.", c.to.Title)
	default:
		return c.heldBackFor(busyWait).WithMessage("%s is busy with other calls. This one waited for %s, and was not sent.",
			c.to.Title, recourse.FormatWait(time.Since(began)))
	}
}

// errHeldBack is the cause in a failure that says that the gateway did not send the call, to protect the
// server.
var errHeldBack = errors.New("the gateway holds calls back")

// holdBack refuses an attempt while the breaker is open, and reports the result of every other attempt to the
// breaker. In observe mode nothing is refused.
func holdBack(c *call, next next) error {
	b := c.to.breaker
	if b == nil || !c.isBounded() {
		return next(c)
	}
	pass, refusal := b.Admit(time.Now(), c.lane())
	if refusal != nil {
		e := c.heldBack(refusal)
		if c.reply.manner.object(c, e) != nil {
			return e // not object's failure: repeat must still see an error that it may act on
		}
		return next(c)
	}
	err := next(c)
	if outlived := c.out.last.outlived; outlived.outcome != breaker.Nothing {
		c.tellBreaker(pass, outlived)
	}
	told := c.toldOf(err)
	if told.outcome == breaker.Answered && !wire.Named(c.req.msg.Method) {
		told.outcome = breaker.Nothing // it may have been answered from memory, as a list or a shared program's initialize is
	}
	c.tellBreaker(pass, told)
	return err
}

func (c *call) tellBreaker(pass breaker.Pass, v verdict) {
	for _, change := range c.to.breaker.Done(time.Now(), pass, v.outcome, v.stated) {
		c.logCircuit(&change)
	}
}

// isBounded reports whether the request ends with its answer, unlike a subscription, which lasts, or a
// message without an answer.
func (c *call) isBounded() bool { return c.req.asks() && c.req.msg.Method != wire.MethodListen }

// lane returns the tool that is called. It is "" if the server does not list the tool, or has no list and the
// name is too long to be one, since clients can write any name.
func (c *call) lane() string {
	const longest = 128
	switch name := c.req.msg.Name; {
	case !c.req.isCall():
		return ""
	case c.rule.listed.Tool != nil, c.rule.list == nil && len(name) <= longest:
		return name
	default:
		return ""
	}
}

// isHeldBack returns why the breaker would refuse the call now, or nil.
func (c *call) isHeldBack() *recourse.Error {
	if c.to.breaker == nil {
		return nil
	}
	refusal := c.to.breaker.Refuses(time.Now(), c.lane())
	if refusal == nil {
		return nil
	}
	return c.heldBack(refusal)
}

func (c *call) heldBack(r *breaker.Refusal) *recourse.Error {
	e := c.heldBackFor(r.Wait.Truncate(time.Millisecond) + time.Millisecond)
	if r.Tool != "" {
		return e.WithMessage("Calls of %s at %s keep failing, so they are not sent for now. This one was not sent.", r.Tool, c.to.Title)
	}
	return e.WithMessage("%s keeps failing, so calls to it are not sent for now. This one was not sent.", c.to.Title)
}

// heldBackFor is the failure for a call that the gateway holds back.
func (c *call) heldBackFor(wait time.Duration) *recourse.Error {
	return recourse.Unavailable(c.to.Title).WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).
		WithRetry(recourse.RetrySameCall).WithRetryAfter(wait).CausedBy(errHeldBack)
}

// A verdict is what an attempt shows about the server.
type verdict struct {
	outcome breaker.Outcome
	stated  time.Duration // how long the server asked to be left alone
}

// toldOf returns what the last attempt, which ended with err, shows about the server.
func (c *call) toldOf(err error) verdict {
	e, _ := err.(*recourse.Error)             //nolint:errorlint // stages return it unwrapped
	if f, ok := err.(*failure); ok && f.off { //nolint:errorlint // stages return it unwrapped
		e = f.e
	}
	v := c.verdictOf(c.out.last.Status, e)
	if e == nil && c.reply.broken && v.outcome == breaker.Answered && c.out.last.Status <= http.StatusOK {
		v.outcome = breaker.Failed
	}
	return v
}

// verdictOf returns what an attempt shows about the server; status is 0 and err nil if there was none. Only
// the transport counts: anything that the server answered is an answer.
func (c *call) verdictOf(status int, e *recourse.Error) verdict {
	if c.left() { // it was ended on the client's behalf
		return verdict{}
	}
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
	case e.Kind == recourse.KindTimeout && c.req.isCall():
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

func (c *call) logCircuit(s *breaker.State) {
	level, attrs := slog.LevelInfo, []slog.Attr{slog.String("server", c.to.Name)}
	if s.Tool != "" {
		attrs = append(attrs, slog.String("tool", s.Tool))
	}
	message := "breaker closed: calls are sent again"
	if s.Status != breaker.StatusClosed {
		level, message = slog.LevelWarn, "breaker open: calls are refused"
		attrs = append(attrs, slog.String("for", recourse.FormatWait(s.Wait)))
	}
	c.g.log.LogAttrs(c.req.http.Context(), level, message, attrs...)
}
