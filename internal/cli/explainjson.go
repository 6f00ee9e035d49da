package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/visible"
	"github.com/recoursehq/recourse/retry"
)

// An explanation is what explain says to programs.
type explanation struct {
	Input    string               `json:"input"`
	By       string               `json:"by,omitempty"` // the sign by which it was read
	Failure  *explainedFailure    `json:"failure"`
	Question *recourse.NeedsInput `json:"question,omitempty"`
}

// An explainedFailure is a failure as programs decide by it.
type explainedFailure struct {
	Kind       recourse.Kind        `json:"kind"`
	Code       string               `json:"code,omitempty"`
	Message    string               `json:"message"`
	Origin     recourse.Origin      `json:"origin"`
	Effect     recourse.Effect      `json:"effect"`
	Retry      recourse.Retry       `json:"retry"`
	AfterMs    int64                `json:"afterMs,omitempty"`
	Hints      []string             `json:"hints,omitempty"`
	Violations []recourse.Violation `json:"violations,omitempty"`
	Failed     []recourse.Failed    `json:"failed,omitempty"`
}

// printJSON prints what was read, for programs.
func (c *explainCommand) printJSON(w io.Writer, set *contract.Set, form string, reading contract.Reading, nature retry.Nature) error {
	said := explanation{Input: form, By: reading.Sign}
	if question, ok := reading.Failure.(*recourse.NeedsInput); ok {
		said.Question = question
	} else if e := reading.Error(); e != nil {
		hints := c.hints(set, e, nature)
		e = e.WithEffect(retry.Effect(e, nature))
		code := e.Code
		if code == "" {
			code = e.Upstream.Code
		}
		said.Failure = &explainedFailure{
			Kind: e.Kind, Code: code, Message: e.Sentence(), Origin: e.Origin, Effect: e.Effect, Retry: e.RetryAdvice(),
			AfterMs: e.RetryAfter.Milliseconds(), Hints: hints, Violations: e.Violations, Failed: e.Failed,
		}
	}
	raw, err := json.Marshal(said)
	if err != nil {
		return fmt.Errorf("print what was read: %w", err)
	}
	printf(w, "%s\n", visible.EscapeJSON(raw))
	return nil
}
