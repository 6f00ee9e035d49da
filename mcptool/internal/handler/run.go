package handler

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/retry"
)

// A handling is what is done about one request.
type handling struct {
	s         *AuthorServer
	req       *Incoming
	rule      toolFacts
	start     time.Time
	requestID string
	listed    toolcall.Listed
	fresh     bool        // the list was fetched for this request
	ran       bool        // the handler was called
	once      string      // what a repetition of a call got; "": it is none
	wrote     atomic.Bool // something was changed on its behalf
}

// Func runs the SDK's own handling of a request. A result that comes with an error is the SDK's. An error is the tool's
// failure: any Go error, a *ResultError or an *RPCError.
type Func func(ctx context.Context) (result any, err error)

// Passed is a result in the place of an error that the SDK writes.
type Passed struct{ Err error }

// Do handles a request. It returns the result of handler unchanged, or the answer that replaces it.
func (s *AuthorServer) Do(ctx context.Context, req *Incoming, handler Func) (result any, answer *contract.Answer) {
	x := &handling{s: s, req: req, rule: s.ruleOf(req.Tool), start: time.Now()}
	x.requestID = wire.RequestID(cmp.Or(req.Header.Get(wire.HeaderRequestID), req.RequestID))
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	if e := x.admit(ctx); e != nil {
		return nil, x.fail(ctx, e)
	}
	x.ran = true
	result, err := x.runOnce(ctx, handler)
	if before, ok := result.(*contract.Answer); ok && err == nil {
		return nil, before
	}
	if err == nil {
		err = x.weakFailure(result)
	}
	if err != nil {
		return nil, x.fail(ctx, err)
	}
	return result, nil
}

type exchangeKey struct{}

// RequestID returns the id of the request that ctx belongs to, or "".
func RequestID(ctx context.Context) string {
	if x, ok := ctx.Value(exchangeKey{}).(*handling); ok {
		return x.requestID
	}
	return ""
}

func (x *handling) isCall() bool { return x.req.Method == wire.MethodToolsCall }

// admit returns why a call cannot run: there is no such tool, its arguments are not valid, or there were too many
// calls.
func (x *handling) admit(ctx context.Context) error {
	if !x.isCall() {
		return nil
	}
	anew := func() *toolcall.List { return x.relist(ctx) }
	x.listed = x.s.list(ctx, x.req).In(x.req.Tool)
	if e := x.listed.Find(x.req.Tool, anew); e != nil {
		return e
	}
	refuse := func(t *toolcall.Entry) *recourse.Error { return t.Refuse(ctx, x.req.Arguments) }
	if e := x.listed.Check(refuse, anew); e != nil {
		return e
	}
	return x.take(ctx)
}

// relist fetches the list again, once per call.
func (x *handling) relist(ctx context.Context) *toolcall.List {
	if x.fresh || !x.isCall() {
		return nil
	}
	x.fresh = true
	return x.s.relist(ctx, x.req)
}

// nature returns what the request does to the world. The annotations are trusted, since they are the author's own.
func (x *handling) nature() retry.Nature {
	if !x.isCall() {
		return retry.Reads
	}
	return toolcall.Claims{
		ReadOnly: x.rule.readOnly, Idempotent: x.rule.idempotent, Verified: x.rule.verify != nil,
		Reads: x.rule.contract.Reads(x.req.Tool), Annotated: x.listed.Tool,
	}.Nature()
}

// grace is how long a handler that respects its context may take after the deadline to return its own error.
const grace = 250 * time.Millisecond

// run runs the handler within its deadline. One that ignores its context is left behind, and ends on its own.
func (x *handling) run(ctx context.Context, handler Func) (any, error) {
	within := x.rule.timeout
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
func (x *handling) expired() bool {
	return x.rule.timeout > 0 && time.Since(x.start) >= x.rule.timeout
}

// late logs that a handler has ended after its call was answered.
func (x *handling) late(ctx context.Context, err error) {
	attrs := append(x.attrs(), slog.Int64("ms", time.Since(x.start).Milliseconds()))
	if err != nil {
		attrs = append(attrs, slog.Any("cause", cause{err}))
	}
	x.s.log.LogAttrs(ctx, slog.LevelWarn, "a handler has ended after its call was answered: it does not heed its context", attrs...)
}

// guard runs the handler and turns a panic into an error.
func (x *handling) guard(ctx context.Context, handler Func) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, NewPanic(p)
		}
	}()
	return handler(ctx)
}

// NewPanic returns the error for a panic. Call it while the panic is being recovered.
func NewPanic(value any) *PanicError { return &PanicError{value: value, stack: debug.Stack()} }

// PanicError is a panic in the author's code.
type PanicError struct {
	value any
	stack []byte
}

// Error returns the value of the panic.
func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }
