package toolcall

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/args"
	"github.com/recoursehq/recourse/internal/nearest"
	"github.com/recoursehq/recourse/internal/wire"
	"github.com/recoursehq/recourse/retry"
)

// An exchange is one request on its way.
type exchange struct {
	s         *Server
	call      *Call
	rule      rule
	start     time.Time
	requestID string
	list      *toolList // nil: not known
	fresh     bool      // the list was fetched for this request
	tool      *tool     // nil: not known
	ran       bool      // the handler was given the request
	wrote     wrote     // what was done on its behalf
}

// Handler runs the SDK's own handling of a request. What it returns beside an error
// is the SDK's result. An error is what the tool failed with: any Go error, a
// *ResultError or an *RPCError.
type Handler func(ctx context.Context) (result any, err error)

// Do handles a request: the result of handler as it is, or the answer that takes
// its place.
func (s *Server) Do(ctx context.Context, call *Call, handler Handler) (result any, answer *contract.Answer) {
	x := &exchange{s: s, call: call, rule: s.ruleOf(call.Tool), start: time.Now()}
	x.requestID = wire.RequestID(cmp.Or(call.Header.Get(wire.HeaderRequestID), call.RequestID))
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	if e := x.admit(ctx); e != nil {
		return nil, x.fail(ctx, e)
	}
	x.ran = true
	result, err := x.run(ctx, handler)
	if err != nil {
		return nil, x.fail(ctx, err)
	}
	return result, nil
}

type exchangeKey struct{}

// RequestID returns the id of the request that ctx belongs to, or "".
func RequestID(ctx context.Context) string {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return x.requestID
	}
	return ""
}

func (x *exchange) isCall() bool { return x.call.Method == wire.MethodToolsCall }

// admit returns why a call cannot run: there is no such tool, its arguments do not
// fit, or there were too many calls.
func (x *exchange) admit(ctx context.Context) error {
	if !x.isCall() {
		return nil
	}
	x.list = x.s.list(ctx, x.call)
	if x.tool = x.list.get(x.call.Tool); x.tool == nil {
		if x.refresh(ctx); x.list != nil && x.tool == nil {
			return x.unknown()
		}
	}
	if x.tool != nil && len(x.tool.check(ctx, x.call.Arguments)) > 0 {
		if x.refresh(ctx); x.tool == nil {
			return x.unknown()
		}
		if violations := x.tool.check(ctx, x.call.Arguments); len(violations) > 0 {
			return args.Error(x.call.Tool, violations)
		}
	}
	return x.take(ctx)
}

// refresh fetches the list anew, once a request.
func (x *exchange) refresh(ctx context.Context) {
	if x.fresh || !x.isCall() {
		return
	}
	x.fresh = true
	if l := x.s.fetch(ctx, x.call); l != nil {
		x.list, x.tool = l, l.get(x.call.Tool)
	}
}

func (x *exchange) unknown() *recourse.Error {
	e := recourse.UnknownTool(x.call.Tool)
	if name, ok := nearest.Of(x.call.Tool, x.list.names); ok {
		e = e.WithMessage("%s Did you mean %s?", e.Message, name)
	}
	return e
}

// nature returns what the call does to the world, by the first that speaks: the
// author's option, the contract, the tool's annotations, which are the author's own.
func (x *exchange) nature() retry.Nature {
	switch {
	case !x.isCall():
		return retry.Reads
	case x.rule.nature != nil:
		return *x.rule.nature
	case x.rule.verify != nil: // there is something to verify only where something is written
		if x.tool != nil && x.tool.Idempotent {
			return retry.Idempotent
		}
		return retry.Writes
	case x.rule.contract.Reads(x.call.Tool), x.tool != nil && x.tool.ReadOnly:
		return retry.Reads
	case x.tool != nil && x.tool.Idempotent:
		return retry.Idempotent
	default:
		return retry.Writes
	}
}

// grace is how long, at most, a handler that heeds its context may take after the
// deadline to say in its own words what it was waiting for.
const grace = 250 * time.Millisecond

// run runs the handler within its deadline. One that does not heed its context is
// left behind, and ends when it ends.
func (x *exchange) run(ctx context.Context, handler Handler) (any, error) {
	within := x.rule.deadline
	if within <= 0 || !x.isCall() {
		return x.guard(ctx, handler)
	}
	inner, cancel := context.WithTimeout(ctx, within)
	type outcome struct {
		result any
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		defer cancel()
		o := outcome{err: errGone}
		defer func() { done <- o }()
		o.result, o.err = x.guard(inner, handler)
	}()
	timer := time.NewTimer(within + min(grace, within/4))
	defer timer.Stop()
	select {
	case o := <-done:
		return o.result, o.err
	case <-timer.C:
	}
	select {
	case o := <-done:
		return o.result, o.err
	default:
	}
	go func() {
		o := <-done
		x.late(ctx, o.err)
	}()
	return nil, context.DeadlineExceeded
}

// expired reports whether the deadline has passed.
func (x *exchange) expired() bool {
	return x.rule.deadline > 0 && time.Since(x.start) >= x.rule.deadline
}

// late logs that a handler has ended which nobody waited for any longer.
func (x *exchange) late(ctx context.Context, err error) {
	attrs := append(x.attrs(), slog.Int64("ms", time.Since(x.start).Milliseconds()))
	if err != nil {
		attrs = append(attrs, slog.Any("cause", cause{err}))
	}
	x.s.log.LogAttrs(ctx, slog.LevelWarn, "a handler has ended after its call was answered: it does not heed its context", attrs...)
}

// guard runs the handler and makes an error of a panic.
func (x *exchange) guard(ctx context.Context, handler Handler) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, NewPanic(p)
		}
	}()
	return handler(ctx)
}

// NewPanic returns the error for a panic, to be called while it is recovered.
func NewPanic(value any) *PanicError { return &PanicError{value: value, stack: debug.Stack()} }

// PanicError is a panic of the author's.
type PanicError struct {
	value any
	stack []byte
}

// Error returns the value of the panic.
func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }
