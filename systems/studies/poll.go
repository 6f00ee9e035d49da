package studies

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

const (
	// defaultBudget is how long a call with wait and without timeout waits, in seconds.
	defaultBudget = 60
	// maxBudget is the longest that a call may wait, in seconds.
	maxBudget = 600
)

// waiting holds the arguments for waiting for work that takes long.
type waiting struct {
	Wait    bool `json:"wait,omitempty"    jsonschema:"wait until the work has ended; false unless said otherwise"`
	Timeout *int `json:"timeout,omitempty" jsonschema:"seconds to wait, from 1 to 600; 60 unless said otherwise"`
}

func (w waiting) check() error {
	if w.Timeout != nil && (*w.Timeout < 1 || *w.Timeout > maxBudget) {
		return recourse.InvalidValue("timeout", "a number of seconds from 1 to 600", *w.Timeout).
			WithMessage("timeout must be between 1 and %d seconds.", maxBudget)
	}
	return nil
}

func (w waiting) budget() time.Duration {
	if w.Timeout == nil {
		return defaultBudget * time.Second
	}
	return time.Duration(*w.Timeout) * time.Second
}

// A job is work that a call has started and that takes long.
type job struct {
	tool    string
	begun   string // what the call has done, a sentence
	pending object // the answer before the first look at it
	verify  recourse.Verify
	look    func(context.Context) (answer object, ended bool, err error)
}

// follow answers for a job that has been started: immediately with the call that asks again, or, if the
// caller waits, when it has ended.
func (s *System) follow(ctx context.Context, w waiting, j job) (object, error) {
	next := j.verify.Tool + "(" + pythonArgs(j.verify.Args) + ")"
	if !w.Wait {
		return then(j.pending, next), nil
	}
	answer, ended, err := s.poll(ctx, j.tool, w, j.look)
	switch {
	case err != nil:
		return nil, j.landed(err)
	case !ended && answer == nil:
		return then(j.pending, next), nil
	case !ended:
		return then(answer, next), nil
	}
	return answer, nil
}

// landed adds to a failure to look at a job that the job was still started.
func (j job) landed(err error) error {
	e := recourse.From(err)
	if e.Kind == recourse.KindJobFailed { // the job itself has failed
		return err
	}
	return e.With(func(e *recourse.Error) {
		e.Message = j.begun + " Looking at how it gets on failed: " + e.Sentence()
		e.Effect, e.Verify, e.Retry, e.Hints = recourse.EffectApplied, &j.verify, recourse.RetryNever, nil
	})
}

// pythonArgs spells arguments as the service's documentation does.
func pythonArgs(args []recourse.Arg) string {
	list := make([]string, len(args))
	for i, a := range args {
		value := string(a.Value)
		if value == "true" {
			value = "True"
		}
		list[i] = a.Name + "=" + value
	}
	return strings.Join(list, ", ")
}

// verifyBy returns a call that shows whether another took effect.
func verifyBy(tool, lookAt string, args ...recourse.Arg) recourse.Verify {
	return recourse.Verify{Tool: tool, LookAt: lookAt, Args: args}
}

// is makes an argument from a word, such as an id.
func is(name, word string) recourse.Arg {
	return recourse.Arg{Name: name, Value: json.RawMessage(strconv.Quote(word))}
}

// then adds the call that asks again.
func then(out object, next string) object {
	out["next_action"] = next
	return out
}

// poll asks until the answer says that the work has ended, or the budget is spent; answer is nil if there was
// none by then. A retryable failure may pass, and is not reported: only other failures end the wait. A wait
// that a failure states is honoured.
func (s *System) poll(
	ctx context.Context, tool string, w waiting, ask func(context.Context) (answer object, ended bool, err error),
) (answer object, ended bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, w.budget())
	defer cancel()
	call := &contract.Call{Method: "tools/call", Tool: tool}
	for {
		pause := s.options.PollEvery
		said, ended, err := ask(bounded)
		switch e := recourse.From(err); {
		case err == nil && ended:
			return said, true, nil
		case err == nil:
			answer = said
		case ctx.Err() != nil:
			return nil, false, ctx.Err()
		case bounded.Err() == nil && !s.contract.Retryable(e, call):
			return nil, false, err
		default:
			pause = max(pause, e.RetryAfter)
		}
		timer := time.NewTimer(pause)
		select {
		case <-bounded.Done():
			timer.Stop()
			return answer, false, ctx.Err()
		case <-timer.C:
		}
	}
}
