// Package clean makes safe what comes from outside before it gets into a failure: texts, raw JSON, and waits.
package clean

import (
	"bytes"
	stdjson "encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// replacement replaces bytes that are not UTF-8.
const replacement = "\uFFFD"

// Record makes the members of e safe to write: texts are UTF-8, raw values JSON on one line. Anything that is
// not JSON is removed. Lists are copied before they are changed.
func Record(e *recourse.Error) {
	setTexts(&e.Code, &e.Contract, &e.Message, &e.Provider, &e.Resource.Type, &e.Resource.ID,
		&e.Upstream.Code, &e.Upstream.RequestID, &e.RequestID)
	e.Hints = each(e.Hints, setText)
	e.MissingScopes = each(e.MissingScopes, setText)
	e.Violations = each(e.Violations, func(v *recourse.Violation) {
		setTexts(&v.Pointer, &v.Param, &v.Rule, &v.Want, &v.Message)
		setValue(&v.Got)
	})
	e.Quotas = each(e.Quotas, func(q *recourse.Quota) { setTexts(&q.Policy, &q.Partition) })
	e.Succeeded = each(e.Succeeded, func(s *recourse.SucceededItem) {
		setText(&s.ID)
		setValue(&s.Value)
	})
	e.Failed = each(e.Failed, func(f *recourse.FailedItem) { setText(&f.ID) })
	e.Missing = each(e.Missing, func(m *recourse.MissingData) { setTexts(&m.What, &m.Impact, &m.Message) })
	if e.Verify != nil {
		verify := *e.Verify
		setTexts(&verify.Tool, &verify.LookAt)
		verify.Args = each(verify.Args, func(a *recourse.Arg) {
			setText(&a.Name)
			setValue(&a.Value)
		})
		verify.Args = slices.DeleteFunc(verify.Args, func(a recourse.Arg) bool { return a.Value == nil })
		e.Verify = &verify
	}
	if len(e.Details) == 0 {
		return
	}
	details := make(map[string]stdjson.RawMessage, len(e.Details))
	for name, raw := range e.Details {
		if raw, ok := Raw(raw); ok {
			details[strings.ToValidUTF8(name, replacement)] = stdjson.RawMessage(raw)
		}
	}
	e.Details = details
}

// Question makes the texts of a question valid UTF-8. Lists and maps are copied before they are changed.
func Question(n *recourse.NeedsInput) {
	setTexts(&n.Message, &n.Reason)
	n.Fields = each(n.Fields, setText)
	n.Options = each(n.Options, func(o *recourse.Option) { setTexts(&o.Label, &o.Value, &o.Description, &o.Field) })
	if n.Suggestions == nil {
		return
	}
	suggestions := make(map[string][]string, len(n.Suggestions))
	for field, values := range n.Suggestions {
		suggestions[strings.ToValidUTF8(field, replacement)] = each(values, setText)
	}
	n.Suggestions = suggestions
}

func each[S ~[]T, T any](list S, one func(*T)) S {
	list = slices.Clone(list)
	for i := range list {
		one(&list[i])
	}
	return list
}

func setText(text *string) { *text = strings.ToValidUTF8(*text, replacement) }

func setTexts(texts ...*string) {
	for _, text := range texts {
		setText(text)
	}
}

func setValue(raw *stdjson.RawMessage) {
	if *raw != nil {
		clean, _ := Raw(*raw)
		*raw = stdjson.RawMessage(clean)
	}
}

// Raw returns a value from outside on one line and in valid UTF-8; ok is false if it is not JSON.
func Raw(raw []byte) (clean json.Value, ok bool) {
	clean, err := json.AppendCompact(nil, raw)
	if err != nil || len(clean) == 0 {
		return nil, false
	}
	if !utf8.Valid(clean) {
		clean = bytes.ToValidUTF8(clean, []byte(replacement))
	}
	return clean, true
}
