package contract

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// replacement stands for bytes that are no UTF-8.
const replacement = "\uFFFD"

// clean puts the members of e, which others have set, in a form that can be written:
// texts in UTF-8, raw values that are JSON, on one line. What is no JSON is left out.
// Lists are copied before they are changed.
func clean(e *recourse.Error) {
	for _, text := range []*string{
		&e.Code, &e.Contract, &e.Message, &e.Provider, &e.Resource.Type, &e.Resource.ID,
		&e.Upstream.Code, &e.Upstream.RequestID, &e.RequestID,
	} {
		cleanText(text)
	}
	e.Hints = cleanEach(e.Hints, cleanText)
	e.MissingScopes = cleanEach(e.MissingScopes, cleanText)
	e.Violations = cleanEach(e.Violations, func(v *recourse.Violation) {
		cleanTexts(&v.Pointer, &v.Param, &v.Rule, &v.Want, &v.Message)
		cleanValue(&v.Got)
	})
	e.Quotas = cleanEach(e.Quotas, func(q *recourse.Quota) { cleanTexts(&q.Policy, &q.Partition) })
	e.Succeeded = cleanEach(e.Succeeded, func(s *recourse.Succeeded) {
		cleanText(&s.ID)
		cleanValue(&s.Value)
	})
	e.Failed = cleanEach(e.Failed, func(f *recourse.Failed) { cleanText(&f.ID) })
	e.Missing = cleanEach(e.Missing, func(m *recourse.MissingData) { cleanTexts(&m.What, &m.Impact, &m.Message) })
	if e.Verify != nil {
		verify := *e.Verify
		cleanTexts(&verify.Tool, &verify.LookAt)
		verify.Args = cleanEach(verify.Args, func(a *recourse.Arg) {
			cleanText(&a.Name)
			cleanValue(&a.Value)
		})
		verify.Args = slices.DeleteFunc(verify.Args, func(a recourse.Arg) bool { return a.Value == nil })
		e.Verify = &verify
	}
	if len(e.Details) == 0 {
		return
	}
	details := make(map[string]rawMessage, len(e.Details))
	for name, raw := range e.Details {
		if raw, ok := cleanRaw(raw); ok {
			details[strings.ToValidUTF8(name, replacement)] = rawMessage(raw)
		}
	}
	e.Details = details
}

func cleanEach[S ~[]T, T any](list S, one func(*T)) S {
	list = slices.Clone(list)
	for i := range list {
		one(&list[i])
	}
	return list
}

func cleanText(text *string) { *text = strings.ToValidUTF8(*text, replacement) }

func cleanTexts(texts ...*string) {
	for _, text := range texts {
		cleanText(text)
	}
}

func cleanValue(raw *rawMessage) {
	if *raw != nil {
		clean, _ := cleanRaw(*raw)
		*raw = rawMessage(clean)
	}
}

// cleanRaw returns a value of foreign origin on one line and in valid UTF-8, so
// that it can stand in an answer of ours; ok is false when it is no JSON.
func cleanRaw(raw []byte) (clean json.Value, ok bool) {
	clean, err := json.AppendCompact(nil, raw)
	if err != nil || len(clean) == 0 {
		return nil, false
	}
	if !utf8.Valid(clean) {
		clean = bytes.ToValidUTF8(clean, []byte(replacement))
	}
	return clean, true
}
