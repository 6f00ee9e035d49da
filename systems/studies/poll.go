package studies

import (
	"context"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

const (
	// defaultBudget is how long a call waits that says wait and no timeout, in seconds.
	defaultBudget = 60
	// maxBudget is the longest that a call may wait, in seconds.
	maxBudget = 600
)

// waiting is how a call waits for work that takes long.
type waiting struct {
	Wait    bool `json:"wait,omitempty"    jsonschema:"wait until the work has ended; false unless said otherwise"`
	Timeout int  `json:"timeout,omitempty" jsonschema:"how long to wait, in seconds, from 1 to 600; 60 unless said otherwise"`
}

func (w waiting) check() error {
	if w.Timeout < 0 || w.Timeout > maxBudget {
		return recourse.InvalidValue("timeout", "a number of seconds from 1 to 600", w.Timeout).
			WithMessage("timeout must be between 1 and %d seconds.", maxBudget)
	}
	return nil
}

func (w waiting) budget() time.Duration {
	if w.Timeout == 0 {
		return defaultBudget * time.Second
	}
	return time.Duration(w.Timeout) * time.Second
}

// poll asks until the answer says that the work has ended, or the budget is spent;
// answer is nil where nobody has answered by then. A failure that is retryable may
// pass, and is not told: only another one ends the wait. The wait that it states is
// kept.
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
			pause = max(pause, e.After)
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
