package recovery

import (
	"context"
	"fmt"

	"github.com/recoursehq/recourse"
)

// maxAnswers is how many questions are answered for one call.
const maxAnswers = 5

// connect has an account connected, once, and reports whether to call again.
func (x *exchange) connect(e *recourse.Error) bool {
	if e.Kind.Class() != recourse.ClassAuth || x.options.connect == nil || x.connected || e.Effect != recourse.EffectNone {
		return false
	}
	x.connected = true
	return x.hook(ActionConnect, e, func(ctx context.Context) error { return x.options.connect(ctx, e) })
}

// ask has a question answered, and reports whether to call again.
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

// hook runs a function of the caller's, which may take as long as the call, and reports whether it has done
// its work. One that does not heed its context is left behind.
func (x *exchange) hook(action Action, e *recourse.Error, run func(ctx context.Context) error) bool {
	began := x.now()
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("panic: %v", p)
			}
		}()
		done <- run(x.ctx)
	}()
	var err error
	select {
	case err = <-done:
	case <-x.ctx.Done():
		err = context.Cause(x.ctx)
	}
	reason := ""
	if err != nil {
		reason = "the hook has failed: " + err.Error()
	}
	x.note(Step{Action: action, Began: began, Took: x.since(began), Failure: e, Reason: reason})
	return err == nil
}
