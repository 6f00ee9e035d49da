package explain

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/docs/kinddoc"
	"github.com/recoursehq/recourse/retry"
)

// A Reading is an answer that has been read: a failure, a question or, with neither, a success.
type Reading struct {
	Form     string // what the text was taken for
	By       string // the sign by which it was read; "" for a plain success
	Failure  *recourse.Error
	Question *recourse.NeedsInput
	Seems    *recourse.Error // what a success looks like, if that is a failure; nil: it looks like a success
	Reads    string          // the family by whose name in "reads" the success is told as that failure

	answer *pasted
	reader *contract.Reader
}

// Read reads what the text of an answer says.
func Read(text []byte, reader *contract.Reader) (*Reading, error) {
	a, err := parse(text)
	if err != nil {
		return nil, err
	}
	r := &Reading{Form: a.form, answer: a, reader: reader}
	reading, failed := a.read(reader)
	if !failed {
		if seeming, reads, ok := reader.Seems(a.result); ok {
			r.Seems, r.Reads, r.By = seeming.Error(), reads, seeming.Sign
		}
		return r, nil
	}
	r.By = reading.Sign
	if question, ok := reading.Failure.(*recourse.NeedsInput); ok {
		r.Question = question
	} else {
		r.Failure = reading.Error()
	}
	return r, nil
}

// Lines tells people of the reading.
func (r *Reading) Lines(set *contract.Set, of ToolFacts) Lines {
	var w teller
	w.addf("input", "%s", r.Form)
	switch {
	case r.Question != nil:
		w.question(r.Question, r.By)
	case r.Failure != nil:
		w.failure(set, r, of)
	case r.Seems != nil:
		w.addf("read as", "a success, as it says: clients get it unchanged")
		w.addf("looks like", "a failure: %s, by %s", r.Seems.Kind, r.By)
		w.addf("message", "%s", r.Seems.Sentence())
		w.addf("to have it told", "reads: %s, in the server's entry of the configuration", r.Reads)
	default:
		w.addf("read as", "a success: no sign of a failure in it")
	}
	return w.lines
}

// failure tells how a failure is read.
func (w *teller) failure(set *contract.Set, r *Reading, of ToolFacts) {
	e, by := r.Failure, r.By
	reading, _, err := r.masked(set, of.call(contract.MustBuiltin(contract.Default)))
	if err == nil && r.answer.response == nil && reading.Error() != nil { // a gateway masks it before it reads it
		e, by = reading.Error(), reading.Sign
	}
	w.addf("read as", "%s, by %s", e.Kind, by)
	w.addf("message", "%s", r.Failure.Sentence())
	w.addf("class", "%s", e.Kind.Class())
	w.addf("origin", "%s", e.Origin)
	told := func(n retry.Nature) *recourse.Error {
		as := of
		as.Nature = &n
		if told := r.toldByDefault(set, as); told != nil {
			return told.Record
		}
		return e
	}
	effect := byNature(func(n retry.Nature) string { return string(told(n).Effect) })
	if told(retry.Writes).EffectBasis == recourse.BasisStated {
		effect += "; if it writes, by the server's word"
	}
	w.addf("effect", "%s", effect)
	w.addf("retry", "%s", byNature(func(n retry.Nature) string { return advice(told(n)) }))
	if e.RetryAfter > 0 {
		w.addf("wait", "at least %s", recourse.FormatWait(e.RetryAfter))
	}
	for _, v := range e.Violations {
		w.addf("violation", "%s: %s", v.Param, strings.TrimSpace(v.Message+" ("+v.Rule+")"))
	}
	for _, item := range e.Failed {
		if item.Error != nil {
			w.addf("failed", "%s: %s: %s", item.ID, item.Error.Kind, item.Error.Sentence())
		}
	}
	if e.Upstream.Code != "" {
		w.addf("its code", "%s", e.Upstream.Code)
	}
	if told := r.toldByDefault(set, of); told != nil {
		for _, hint := range told.Record.Hints {
			w.addf("what to do", "%s", hint)
		}
		w.addf("told as", "%s", textOf(told))
	}
	if e.RequestID != "" {
		w.addf("request id", "%s", e.RequestID)
	}
	w.addf("see", "%s", kinddoc.URL(e.Kind))
}

// question tells of a question.
func (w *teller) question(question *recourse.NeedsInput, sign string) {
	w.addf("read as", "a question, no failure, by %s", sign)
	w.addf("question", "%s", question.Message)
	if question.Reason != "" {
		w.addf("reason", "%s", question.Reason)
	}
	for _, field := range question.Fields {
		text := field
		if suggestions := question.Suggestions[field]; len(suggestions) > 0 {
			text += ": " + strings.Join(suggestions, ", ")
		}
		w.addf("field", "%s", text)
	}
	for _, option := range question.Options {
		w.addf("option", "%s: %s", option.Label, option.Value)
	}
	w.addf("what to do", "ask the person or the model, and make the same call with the answer")
}

// byNature combines what say returns for a tool that reads and for one that writes.
func byNature(say func(retry.Nature) string) string {
	reads, writes := say(retry.Reads), say(retry.Writes)
	if reads == writes {
		return reads + ", for any tool"
	}
	return reads + " if the tool reads, " + writes + " if it writes"
}

// advice spells what has to come before a repetition.
func advice(e *recourse.Error) string {
	before := map[recourse.Retry]string{
		recourse.RetrySameCall:   "the same call may succeed",
		recourse.RetryReRead:     "look at the present state first",
		recourse.RetryAfterFix:   "with other arguments",
		recourse.RetryAfterAuth:  "after somebody has signed in or granted access",
		recourse.RetryAfterSetup: "after somebody has changed a setting of the server",
		recourse.RetryNever:      "do not repeat it",
	}
	return fmt.Sprintf("%s (%s)", e.RetryAdvice(), before[e.RetryAdvice()])
}

// An Explanation is what a reading says to programs.
type Explanation struct {
	Input    string               `json:"input"`
	By       string               `json:"by,omitempty"` // the sign by which it was read
	Failure  *Told                `json:"failure"`
	Question *recourse.NeedsInput `json:"question,omitempty"`
	Seems    *Seeming             `json:"seems,omitempty"` // what a success looks like, if that is a failure

	Contracts map[string]WireForm `json:"contracts,omitempty"` // as contracts write it, if they were asked for
}

// Seeming is a failure that says success.
type Seeming struct {
	Kind    recourse.Kind `json:"kind"`
	Message string        `json:"message"`
	Reads   string        `json:"reads"` // what the server's entry has to have under that key for clients to be told
}

// Told is a failure as a gateway tells it, and as programs decide by it.
type Told struct {
	Kind        recourse.Kind         `json:"kind"`
	Code        string                `json:"code,omitempty"`
	Message     string                `json:"message"`
	Origin      recourse.Origin       `json:"origin"`
	Effect      recourse.Effect       `json:"effect"`
	EffectBasis recourse.Basis        `json:"effectBasis,omitempty"`
	Retry       recourse.Retry        `json:"retry"`
	AfterMs     int64                 `json:"afterMs,omitempty"`
	Hints       []string              `json:"hints,omitempty"`
	Violations  []recourse.Violation  `json:"violations,omitempty"`
	Failed      []recourse.FailedItem `json:"failed,omitempty"`
	Text        string                `json:"text,omitempty"` // that an agent reads
}

// Explanation returns the reading for programs.
func (r *Reading) Explanation(set *contract.Set, of ToolFacts) *Explanation {
	said := &Explanation{Input: r.Form, By: r.By, Question: r.Question}
	if r.Seems != nil {
		said.Seems = &Seeming{r.Seems.Kind, r.Seems.Sentence(), r.Reads}
	}
	told := r.toldByDefault(set, of)
	if told == nil {
		return said
	}
	e := told.Record
	said.Failure = &Told{
		Kind: e.Kind, Code: cmp.Or(r.Failure.Code, r.Failure.Upstream.Code), Message: e.Sentence(), Origin: e.Origin, Effect: e.Effect,
		EffectBasis: e.EffectBasis, Retry: e.RetryAdvice(), AfterMs: e.RetryAfter.Milliseconds(), Hints: e.Hints,
		Violations: e.Violations, Failed: e.Failed, Text: textOf(told),
	}
	return said
}
