package recovery

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/retry"
)

// Hooks are the caller's functions that take part in calls; those that it does not need are nil. Each gets the call's context, and
// the call waits for it, at most until the call ends. If a hook returns an error or panics, the call goes on as without it, and the
// report says why. Concurrent calls run hooks concurrently.
type Hooks struct {
	// Connect connects an account, or has its access renewed or extended: e says which account and which scopes. The call is then
	// made once more.
	Connect func(ctx context.Context, e *recourse.Error) error
	// Answer answers a question of the server's with arguments. The call is made again with these added.
	Answer func(ctx context.Context, question *recourse.NeedsInput) (arguments map[string]any, err error)
	// Landed judges whether a write took effect, if the contract does not say how. An error means that it cannot tell.
	Landed func(ctx context.Context, v Verification) (landed bool, err error)
	// Succeeded gets the items of a batch that were done, as soon as they are known: before the failed ones are tried again.
	Succeeded func(ctx context.Context, items []recourse.SucceededItem) error
	// Observe gets every step, on the call's goroutine: a wait before it begins, everything else after it has ended. A panic is
	// only logged.
	Observe func(ctx context.Context, s Step)
}

// A Verification is what a verify call found out about a write.
type Verification struct {
	Tool      string          // that writes
	Arguments json.RawMessage // of its call
	Failure   *recourse.Error // that it ended with
	Verify    recourse.Verify // the call that was made
	Result    json.RawMessage // its result, as in an answer to tools/call; nil where there is no such thing
}

// add sets the hooks that are there in more.
func (h *Hooks) add(more Hooks) {
	if more.Connect != nil {
		h.Connect = more.Connect
	}
	if more.Answer != nil {
		h.Answer = more.Answer
	}
	if more.Landed != nil {
		h.Landed = more.Landed
	}
	if more.Succeeded != nil {
		h.Succeeded = more.Succeeded
	}
	if more.Observe != nil {
		h.Observe = more.Observe
	}
}

// maxAnswers is how many questions are answered per call.
const maxAnswers = 5

// connect asks the hook to connect an account, once, and reports whether to call again.
func (x *errand) connect(e *recourse.Error) bool {
	unsafe := e.Effect != recourse.EffectNone || e.KnownEffect() != recourse.EffectNone && x.natureOf(x.tool) == retry.Writes
	isWord := x.told && x.status != http.StatusUnauthorized && x.status != http.StatusForbidden
	unsafe = unsafe || isWord && x.doubts(x.tool)
	if e.Kind.Class() != recourse.ClassAuth || x.options.hooks.Connect == nil || x.connected || unsafe {
		return false
	}
	x.connected = true
	return x.hook(ActionConnect, e, func(ctx context.Context) error { return x.options.hooks.Connect(ctx, e) })
}

// ask asks the hook to answer a question, and reports whether to call again.
func (x *errand) ask(question recourse.Failure) bool {
	n, ok := question.(*recourse.NeedsInput)
	if !ok || x.options.hooks.Answer == nil || x.answers >= maxAnswers || x.doubts(x.tool) {
		return false
	}
	x.answers++
	var given map[string]any
	if !x.hook(ActionAnswer, nil, func(ctx context.Context) (err error) {
		given, err = x.options.hooks.Answer(ctx, n)
		return err
	}) {
		return false
	}
	x.arguments = withMembers(x.arguments, given)
	return true
}

// hook runs one of the caller's functions, and reports whether it succeeded.
func (x *errand) hook(action Action, e *recourse.Error, run func(ctx context.Context) error) bool {
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
func (x *errand) guard(run func(ctx context.Context) error) error {
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
func (x *errand) hand(items []recourse.SucceededItem) {
	if x.options.hooks.Succeeded == nil || len(items) == 0 {
		return
	}
	err := x.guard(func(ctx context.Context) error { return x.options.hooks.Succeeded(ctx, items) })
	if err != nil {
		x.note(Step{Action: ActionDecide, Began: x.now(), Reason: "the hook has failed: " + err.Error()})
	}
}

// observe tells the observer about a step. The observer's mistakes do not affect the call.
func (x *errand) observe(s Step) {
	defer func() {
		if p := recover(); p != nil {
			x.options.log.LogAttrs(x.ctx, slog.LevelError, "the observer of a call has panicked", slog.Any("panic", p))
		}
	}()
	x.options.hooks.Observe(x.ctx, s)
}
