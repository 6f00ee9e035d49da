package contract

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/argument"
	"github.com/recoursehq/recourse/internal/json"
)

// replacement replaces bytes that are not UTF-8.
const replacement = "\uFFFD"

// clean makes the members of e safe to write: texts are UTF-8, raw values JSON on one line. Anything that is
// not JSON is removed. Lists are copied before they are changed.
func clean(e *recourse.Error) {
	cleanTexts(&e.Code, &e.Contract, &e.Message, &e.Provider, &e.Resource.Type, &e.Resource.ID,
		&e.Upstream.Code, &e.Upstream.RequestID, &e.RequestID)
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

// cleanRaw returns a value from outside on one line and in valid UTF-8; ok is false if it is not JSON.
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

// cut shortens a long message, and says so in it.
func cut(text string) string {
	if len(text) <= maxMessage {
		return strings.ToValidUTF8(text, replacement)
	}
	kept := strings.ToValidUTF8(text[:maxMessage], "")
	return fmt.Sprintf("%s … (The text is cut here: %d bytes of it are left out.)", kept, len(text)-len(kept))
}

func cutTo(text string, most int) string {
	if len(text) <= most {
		return strings.ToValidUTF8(text, replacement)
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// oneLine folds line breaks, so that a sentence stays on its line.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// onOneLine folds line ends of any kind and invisible characters into spaces.
func onOneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Cf) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// plainName returns a name from a server if it can be used in a sentence; "" if it contains sentences itself.
func plainName(name string) string {
	if name = onOneLine(name); len(name) > argument.MaxShown || strings.ContainsAny(name, "!?") || strings.Contains(name, ". ") {
		return ""
	}
	return name
}

// isPlain reports whether a text is a name or an identifier, and so cannot be prose.
func isPlain(text string) bool {
	return text != "" && len(text) <= argument.MaxShown && strings.IndexFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.:/@#+*[]", r)
	}) < 0
}

// readEach stores the members of an object in the fields of into, one at a time, so that a member of an
// unexpected type does not hide the others.
func readEach[T any](object json.Value, into *T) {
	for _, m := range json.MembersOf(object) {
		one := append(append(json.AppendQuote([]byte{'{'}, m.Name), ':'), m.Value...)
		if read := *into; json.UnmarshalLenient(append(one, '}'), &read) == nil {
			*into = read
		}
	}
}
