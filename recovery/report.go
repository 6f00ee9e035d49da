package recovery

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/recoursehq/recourse"
)

// An Action is what was done in a step of a call.
type Action string

// The actions.
const (
	ActionCall    Action = "call"    // the tool is called
	ActionVerify  Action = "verify"  // the call that tells whether a write took effect
	ActionPoll    Action = "poll"    // the call that tells how work gets on
	ActionConnect Action = "connect" // somebody is asked to connect an account
	ActionAnswer  Action = "answer"  // somebody is asked for what is missing
	ActionWait    Action = "wait"
	ActionDecide  Action = "decide" // what is done about a failure, and why
)

// A Step is one thing that was done for a call.
type Step struct {
	Action  Action
	Tool    string
	Attempt int // of the call, from 1
	Began   time.Time
	Took    time.Duration // of a wait, which is reported before it begins: its length
	// Failure is the failure that the step ended with, or that a decision is about.
	Failure *recourse.Error
	// Repeat is set if a decision is to make the call again.
	Repeat bool
	// Reason is the reason for a decision or a wait.
	Reason string
}

// MarshalJSON writes the members action, tool, attempt, began (RFC 3339), tookMs, failure, repeat and reason.
func (s Step) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Action  Action          `json:"action"`
		Tool    string          `json:"tool"`
		Attempt int             `json:"attempt"`
		Began   time.Time       `json:"began"`
		TookMs  int64           `json:"tookMs"`
		Failure *recourse.Error `json:"failure,omitempty"`
		Repeat  bool            `json:"repeat,omitempty"`
		Reason  string          `json:"reason,omitempty"`
	}{s.Action, s.Tool, s.Attempt, s.Began.UTC(), s.Took.Milliseconds(), s.Failure, s.Repeat, s.Reason})
}

// A Report is what was done for a call, in order.
type Report struct {
	Steps []Step `json:"steps"`
}

// Attempts returns how often the tool was called.
func (r *Report) Attempts() int { return r.count(ActionCall) }

// Verifications returns the number of verify calls.
func (r *Report) Verifications() int { return r.count(ActionVerify) }

// Waited returns the time spent waiting between calls.
func (r *Report) Waited() time.Duration {
	var waited time.Duration
	for _, s := range r.Steps {
		if s.Action == ActionWait {
			waited += s.Took
		}
	}
	return waited
}

func (r *Report) count(action Action) int {
	n := 0
	for _, s := range r.Steps {
		if s.Action == action {
			n++
		}
	}
	return n
}

type reportKey struct{}

// WithReport returns a context whose next call writes its steps into report.
func WithReport(ctx context.Context, report *Report) context.Context {
	return context.WithValue(ctx, reportKey{}, report)
}

// note passes a step to the report, the observer and the log.
func (x *errand) note(s Step) {
	s.Tool, s.Attempt = cmp.Or(s.Tool, x.tool), x.attempt
	if x.report != nil {
		x.report.Steps = append(x.report.Steps, s)
	}
	if x.options.hooks.Observe != nil {
		x.observe(s)
	}
	attrs := []slog.Attr{slog.String("tool", s.Tool), slog.Int("attempt", s.Attempt), slog.Int64("ms", s.Took.Milliseconds())}
	if s.Failure != nil {
		attrs = append(attrs, slog.String("kind", string(s.Failure.Kind)), slog.String("code", s.Failure.Code),
			slog.String("effect", string(s.Failure.Effect)))
		if s.Failure.Upstream.Status != 0 {
			attrs = append(attrs, slog.Int("status", s.Failure.Upstream.Status))
		}
		if raw, err := json.Marshal(s.Failure.Details); err == nil && len(s.Failure.Details) > 0 {
			attrs = append(attrs, slog.String("details", string(raw)))
		}
	}
	if s.Reason != "" {
		attrs = append(attrs, slog.String("reason", s.Reason))
	}
	x.options.log.LogAttrs(x.ctx, slog.LevelDebug, string(s.Action), attrs...)
}
