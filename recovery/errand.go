package recovery

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/retry"
)

// send makes one call of a tool with an idempotency key, if there is one, and returns the member "result" of its answer as JSON.
type send func(ctx context.Context, tool string, arguments json.RawMessage, key string) (json.RawMessage, error)

// An engine recovers, independent of the SDK.
type engine struct {
	contract *contract.Contract
	options  *options
	reader   contract.Reader
	policy   retry.Policy
}

func newEngine(c *contract.Contract, list []Option) *engine {
	g := &engine{contract: c, options: newOptions(list), policy: Policy(c)}
	g.policy.Random = g.options.random
	g.reader = *contract.NewReader(c)
	g.reader.Trusted = !g.options.untrusted
	return g
}

// An errand is one of the caller's calls, with everything that is done for it.
type errand struct {
	*engine

	ctx       context.Context
	send      send
	tool      string
	arguments json.RawMessage
	key       string // of the caller
	report    *Report

	attempt   int  // that was sent
	withheld  bool // the last call was not sent
	refused   bool // the last attempt, by an HTTP answer: before the server looked at the arguments
	told      bool // by the server, what the last attempt has failed with
	status    int  // of the HTTP answer that the last attempt has failed with; 0: none
	ends      time.Time
	connected bool // the account was connected
	answers   int  // to questions
}

// call calls a tool, and does everything that the contract asks of a client.
func (g *engine) call(ctx context.Context, s send, tool string, arguments json.RawMessage) (json.RawMessage, error) {
	report, _ := ctx.Value(reportKey{}).(*Report)
	key, _ := ctx.Value(keyKey{}).(string)
	left := g.options.timeLeft(ctx)
	ctx = context.WithValue(context.WithValue(ctx, reportKey{}, (*Report)(nil)), keyKey{}, nil) // both are for this call alone
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	x := &errand{
		engine: g, ctx: ctx, send: s, tool: tool, arguments: g.withFormat(tool, arguments), key: key, report: report,
		ends: g.options.clock.Now().Add(left),
	}
	return x.run()
}

// timeLeft returns how long a call may take. The context may use a different clock.
func (o *options) timeLeft(ctx context.Context) time.Duration {
	if ends, ok := ctx.Deadline(); ok {
		return min(time.Until(ends), o.timeout)
	}
	return o.timeout
}

// run makes attempts until one succeeds or no more are allowed.
func (x *errand) run() (json.RawMessage, error) {
	if e := x.options.server.mistake(x.now(), x.fingerprint()); e != nil {
		x.note(Step{Action: ActionDecide, Began: x.now(), Failure: e, Reason: "the same call was a mistake before: it is not sent"})
		return nil, e
	}
	var before *recourse.Error // what the call has failed with before
	for {
		result, failure := x.try(ActionCall, x.tool, x.arguments)
		if failure == nil {
			return x.succeeded(result)
		}
		e, ok := failure.(*recourse.Error)
		if ok && x.withheld {
			return nil, x.given(cmp.Or(before, e))
		}
		if !ok {
			if !x.ask(failure) {
				return nil, failure
			}
			continue
		}
		e = x.settled(e, x.tool)
		returned := x.contract.Returns(x.tool) && result != nil && string(lookup(result, "/isError")) != "true"
		if e.Kind.Class() == recourse.ClassInput && e.Kind != recourse.KindUnknownTool && !x.refused && !returned {
			x.options.server.remember(x.now(), x.fingerprint(), e)
		}
		if e.Kind == recourse.KindPartial || x.tellsItems(e) {
			return x.repeatItems(result, e)
		}
		if x.connect(e) {
			continue
		}
		if returned && !x.contract.Retryable(e.WithEffect(recourse.EffectNone), x.contractCall()) {
			return result, nil
		}
		var landed json.RawMessage
		if e, landed = x.verify(e); landed != nil {
			return landed, nil
		}
		switch again := x.again(e, x.natureOf(x.tool)); {
		case !again && returned:
			return result, nil
		case !again:
			return nil, x.given(e)
		}
		before = e
	}
}

// succeeded ends the errand with a result.
func (x *errand) succeeded(result json.RawMessage) (json.RawMessage, error) {
	if x.natureOf(x.tool) != retry.Reads {
		x.options.server.forget()
	}
	return x.follow(result)
}

// given returns the failure for the caller. If its context has ended, errors.Is finds that, too.
func (x *errand) given(e *recourse.Error) error {
	if err := context.Cause(x.ctx); err != nil && !errors.Is(e, err) {
		return e.CausedBy(errors.Join(e.Cause(), err))
	}
	return e
}

// again waits for the next attempt of a call of that nature, and reports false if there is none.
func (x *errand) again(e *recourse.Error, nature retry.Nature) bool {
	left := x.left()
	d := x.policy.Decide(e, nature, x.attempt, left)
	if d.Repeat && !x.options.server.budget.Take() {
		d = retry.Decision{Reason: "the budget of repetitions is spent"}
	}
	if d.Repeat {
		if d.Wait = x.options.server.turnAfter(x.now(), d.Wait); d.Wait >= left {
			d = retry.Decision{Reason: fmt.Sprintf("the turn after the limit comes in %s, and %s are left",
				recourse.FormatWait(d.Wait), recourse.FormatWait(max(left, 0)))}
		}
	}
	x.note(Step{Action: ActionDecide, Began: x.now(), Failure: e, Repeat: d.Repeat, Reason: d.Reason})
	return d.Repeat && x.wait(d.Wait, d.Reason)
}

// wait waits, and reports false if the call ends first.
func (x *errand) wait(d time.Duration, reason string) bool {
	if d <= 0 {
		return x.ctx.Err() == nil
	}
	x.note(Step{Action: ActionWait, Began: x.now(), Took: d, Reason: reason})
	return x.options.clock.Sleep(x.ctx, d) == nil
}

// try makes one call, of the tool or of another one on its behalf. It returns both a result and a failure if the
// result holds one.
func (x *errand) try(action Action, tool string, arguments json.RawMessage) (json.RawMessage, recourse.Failure) {
	server := x.options.server
	e := x.admitted(tool)
	if x.withheld = e != nil; x.withheld {
		x.note(Step{Action: ActionDecide, Tool: tool, Began: x.now(), Failure: e, Reason: "it is not sent"})
		return nil, e
	}
	if action == ActionCall {
		x.attempt++
	}
	if x.attempt == 1 && action == ActionCall {
		server.budget.Call()
	}
	began := x.now()
	ctx, cancel := context.WithTimeout(x.ctx, x.attemptTime(tool))
	said, key := new(httpAnswer), x.key
	if action != ActionCall || string(arguments) != string(x.arguments) { // what remains of a batch is another call
		key = ""
	}
	result, err := x.send(context.WithValue(ctx, httpAnswerKey{}, said), tool, arguments, key)
	cancel()
	failure, lost := x.read(result, err, said)
	if e := x.contract.Unmet(&contract.Call{Tool: tool, Arguments: arguments}, "", result); err == nil && failure == nil && e != nil {
		failure = e
	}
	x.refused, x.status = false, 0
	if answer := said.get(); answer != nil {
		x.refused, x.status = !isRPCAnswer(answer.body), answer.status
	}
	e, _ = failure.(*recourse.Error)
	server.learn(x.now(), tool, x.outcome(e, lost, tool), e, x.since(began))
	x.note(Step{Action: action, Tool: tool, Began: began, Took: x.since(began), Failure: e})
	return result, failure
}

// reserve is the time, at most, that an attempt that hangs leaves for what comes after it.
const reserve = 15 * time.Second

// attemptTime returns how long one attempt may take: the option's value, or else the call's time, minus a reserve if
// something could be done afterwards.
func (x *errand) attemptTime(tool string) time.Duration {
	left := x.left()
	switch {
	case x.options.attempt > 0:
		return x.options.attempt
	case x.natureOf(tool) == retry.Writes && x.contract.VerifyFor(x.contractCall()) == nil:
		return left
	}
	return left - min(left/4, reserve)
}

// outcome returns what an attempt that ended with e says about the server. lost means that the attempt did not reach
// it.
func (x *errand) outcome(e *recourse.Error, lost bool, tool string) health {
	switch {
	case e == nil:
		return answered
	case e.Kind == recourse.KindCancelled, e.Kind == recourse.KindTimeout && (x.ctx.Err() != nil || x.left() <= 0):
		return untold
	case lost:
		return unreached
	case e.Kind.Class() == recourse.ClassUpstream &&
		x.contract.Retryable(e.WithEffect(recourse.EffectNone), &contract.Call{Tool: tool}):
		return down
	}
	return answered
}

// admitted waits until a call of a tool may begin, or returns why it may not.
func (x *errand) admitted(tool string) *recourse.Error {
	if x.ctx.Err() != nil {
		return recourse.From(context.Cause(x.ctx)).WithEffect(recourse.EffectNone)
	}
	last := x.last(tool)
	for {
		wait, why := x.options.server.admit(x.now(), last, tool)
		if why == nil {
			return nil
		}
		reason := "the server has limited its callers"
		if why.Kind != recourse.KindRateLimited {
			reason = "calls before it have failed"
		}
		if wait >= x.left() || !x.wait(wait, reason) {
			return why
		}
	}
}

// last returns the latest time at which a call of a tool can begin and still be answered in time. It is zero if that
// has passed.
func (x *errand) last(tool string) time.Time {
	takes := x.options.server.takes(tool)
	if takes == 0 {
		takes = min(x.left()/4, reserve)
	}
	if last := x.ends.Add(-takes); last.After(x.now()) {
		return last
	}
	return time.Time{}
}

func (x *errand) now() time.Time { return x.options.clock.Now() }

func (x *errand) since(began time.Time) time.Duration { return x.now().Sub(began) }

// left returns the time until the call ends.
func (x *errand) left() time.Duration { return x.ends.Sub(x.now()) }

// natureOf returns what a tool does to the world, by the option, or else by the contract, or else by the annotations of a server that
// is believed.
func (g *engine) natureOf(tool string) retry.Nature {
	if n, ok := g.options.natures[tool]; ok {
		return n
	}
	says := g.options.tools[tool].Annotations
	switch {
	case g.contract.Reads(tool):
		return retry.Reads
	case g.contract.Writes(tool), says == nil, g.options.untrusted:
		return retry.Writes
	case says.ReadOnly:
		return retry.Reads
	case says.Idempotent:
		return retry.Idempotent
	}
	return retry.Writes
}

// settled completes a failure of a tool's call. An untrusted server's word is not enough to repeat a write.
func (x *errand) settled(e *recourse.Error, tool string) *recourse.Error {
	nature := x.natureOf(tool)
	if x.options.untrusted && e.Effect == "" {
		e = e.WithEffect(retry.Effect(e, nature)).WithEffectBasis(recourse.BasisStated)
	}
	e = Settle(x.contract, e, nature)
	isWord := x.told && x.status != http.StatusTooManyRequests && e.RetryAdvice() == recourse.RetrySameCall
	if isWord && x.doubts(tool) && e.KnownEffect() == recourse.EffectNone {
		e = e.WithRetry(recourse.RetryNever)
	}
	return e
}

// doubts reports whether nothing that the server says may make a call of a tool run again. When the protocol refuses a call,
// that proves that nothing was done; that the same call may succeed is a word, unless the status is 429.
func (x *errand) doubts(tool string) bool {
	return x.options.untrusted && x.natureOf(tool) == retry.Writes
}

// fingerprint identifies the call.
func (x *errand) fingerprint() [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %s", x.tool, x.arguments))
}

// contractCall describes the call to the contract.
func (x *errand) contractCall() *contract.Call {
	call := &contract.Call{Method: "tools/call", Tool: x.tool, Arguments: x.arguments}
	if x.options.tools != nil {
		call.HasTool = func(name string) bool { _, ok := x.options.tools[name]; return ok }
	}
	return call
}
