package recovery

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/retry"
)

// maxAnswers is how many questions are answered per call.
const maxAnswers = 5

// connect asks the hook to connect an account, once, and reports whether to call again.
func (x *exchange) connect(e *recourse.Error) bool {
	unsafe := e.Effect != recourse.EffectNone || e.KnownEffect() != recourse.EffectNone && x.natureOf(x.tool) == retry.Writes
	if e.Kind.Class() != recourse.ClassAuth || x.options.connect == nil || x.connected || unsafe {
		return false
	}
	x.connected = true
	return x.hook(ActionConnect, e, func(ctx context.Context) error { return x.options.connect(ctx, e) })
}

// ask asks the hook to answer a question, and reports whether to call again.
func (x *exchange) ask(question recourse.Failure) bool {
	n, ok := question.(*recourse.NeedsInput)
	if !ok || x.options.answer == nil || x.answers >= maxAnswers {
		return false
	}
	x.answers++
	var given map[string]any
	if !x.hook(ActionAnswer, nil, func(ctx context.Context) (err error) {
		given, err = x.options.answer(ctx, n)
		return err
	}) {
		return false
	}
	x.arguments = withMembers(x.arguments, given)
	return true
}

// hook runs one of the caller's functions, and reports whether it succeeded.
func (x *exchange) hook(action Action, e *recourse.Error, run func(ctx context.Context) error) bool {
	began := x.now()
	err := x.guard(run)
	reason := ""
	if err != nil {
		reason = "the hook has failed: " + err.Error()
	}
	x.note(Step{Action: action, Began: began, Took: x.since(began), Failure: e, Reason: reason})
	return err == nil
}

// guard runs one of the caller's functions, at most until the call ends. A function that ignores its context is left
// running, and a panic becomes an error.
func (x *exchange) guard(run func(ctx context.Context) error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("panic: %v", p)
			}
		}()
		done <- run(x.ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-x.ctx.Done():
		return context.Cause(x.ctx)
	}
}

// hand passes succeeded items to the caller.
func (x *exchange) hand(items []recourse.Succeeded) {
	if x.options.succeeded == nil || len(items) == 0 {
		return
	}
	err := x.guard(func(ctx context.Context) error {
		x.options.succeeded(ctx, items)
		return nil
	})
	if err != nil {
		x.note(Step{Action: ActionDecide, Began: x.now(), Reason: "the hook has failed: " + err.Error()})
	}
}

// observe tells the observer about a step. The observer's mistakes do not affect the call.
func (x *exchange) observe(s Step) {
	defer func() {
		if p := recover(); p != nil {
			x.options.log.LogAttrs(x.ctx, slog.LevelError, "the observer of a call has panicked", slog.Any("panic", p))
		}
	}()
	x.options.observe(x.ctx, s)
}
