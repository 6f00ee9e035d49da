package term

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Usage makes err a mistake in the command line.
func Usage(err error) error { return &usageError{err} }

// IsUsage reports whether err is a mistake in the command line.
func IsUsage(err error) bool {
	_, ok := errors.AsType[*usageError](err)
	return ok
}

// Hint adds advice to err; it has no full stop.
func Hint(err error, hint string) error { return &hintedError{err, hint} }

// HasHint reports whether err comes with advice.
func HasHint(err error) bool {
	_, ok := errors.AsType[*hintedError](err)
	return ok
}

type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

type hintedError struct {
	err  error
	hint string
}

func (e *hintedError) Error() string { return e.err.Error() }
func (e *hintedError) Unwrap() error { return e.err }

// A CallError is a call that failed, or that was answered with a question.
type CallError struct{ Failure recourse.Failure }

// Error returns the text for people, without a full stop.
func (e *CallError) Error() string { return e.Failure.Error() }

// Report prints an error and what to do about it.
func Report(out Painter, err error) {
	if mistakes, ok := errors.AsType[strictyaml.Errors](err); ok {
		noun := "problems"
		if len(mistakes) == 1 {
			noun = "problem"
		}
		out.Printf(Plain, "%s\n", mistakes)
		out.errorf("found %d %s", len(mistakes), noun)
		out.hintf("fix the %s marked above", noun)
		return
	}
	if failed, ok := errors.AsType[*CallError](err); ok {
		failed.report(out)
		return
	}
	out.errorf("%s", strings.TrimSuffix(err.Error(), "."))
	hinted, ok := errors.AsType[*hintedError](err)
	switch {
	case ok:
		out.hintf("%s", hinted.hint)
	case IsUsage(err):
		out.hintf("recourse --help lists the commands, recourse COMMAND --help explains one")
	}
}

// reportChoices prints what a question suggests as its answer.
func reportChoices(out Painter, q *recourse.NeedsInput) {
	for _, field := range slices.Sorted(maps.Keys(q.Suggestions)) {
		out.hintf("%s: %s", field, strings.Join(q.Suggestions[field], ", "))
	}
	for _, o := range q.Options {
		text := o.Label + ": " + strings.TrimPrefix(o.Field+"=", "=") + o.Value
		if o.Description != "" {
			text += " (" + strings.TrimSuffix(o.Description, ".") + ")"
		}
		out.Printf(Plain, "%s\n", text)
	}
}

// report prints what happened, and what to do.
func (e *CallError) report(out Painter) {
	failed, ok := e.Failure.(*recourse.Error)
	if !ok {
		out.errorf("%s", strings.TrimSuffix(e.Failure.Error(), "."))
		if question, ok := e.Failure.(*recourse.NeedsInput); ok {
			reportChoices(out, question)
		}
		return
	}
	code := ""
	if failed.Code != "" {
		code = " (" + failed.Code + ")"
	}
	out.errorf("%s%s", strings.TrimSuffix(failed.Sentence(), "."), code)
	for _, item := range failed.Failed {
		if item.Error != nil {
			out.Printf(Plain, "%s\n", joined(item.ID, item.Error.Code, strings.TrimSuffix(item.Error.Sentence(), ".")))
		}
	}
	for _, m := range failed.Missing {
		what := m.What
		if m.Impact != "" {
			what += " (" + m.Impact + ")"
		}
		if said := joined(what, strings.TrimSuffix(m.Message, ".")); said != "" {
			out.Printf(Plain, "missing: %s\n", said)
		}
	}
	if len(failed.MissingScopes) > 0 {
		out.Printf(Plain, "missing scopes: %s\n", strings.Join(failed.MissingScopes, ", "))
	}
	for _, hint := range failed.Hints {
		out.hintf("%s", strings.TrimSuffix(hint, "."))
	}
}

// joined puts colons between those of the parts that there are.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")
}
