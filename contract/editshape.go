package contract

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// edit returns an object of sh with what tells the caller what to do next as s says it, and the rest as it is. base is
// what the object was written from.
func (sh *shape) edit(object json.Value, s *subject, base reflect.Value) json.Value {
	has := json.NodeOf(object)
	if e, ok := reflect.TypeAssert[*recourse.Error](base.Addr()); ok && e == s.e {
		s = s.naming(sh.requestIDIn(has))
		base = s.base()
	}
	var more json.Members
	for i := range sh.members {
		m := &sh.members[i]
		if has.Member(m.name) == nil {
			more.Add(m.name, m.edit(nil, s, base))
		}
	}
	return json.Edit(object, func(name string, value json.Value) json.Value {
		i := slices.IndexFunc(sh.members, func(m shapeMember) bool { return m.name == name })
		if i < 0 {
			return value
		}
		return sh.members[i].edit(value, s, base)
	}, more)
}

// requestIDIn returns the request id that an object says.
func (sh *shape) requestIDIn(object *json.Node) string {
	for i := range sh.members {
		if m := &sh.members[i]; m.path != nil && m.path.Src == "requestId" {
			id, _ := json.TextOf(object.RawMember(m.name))
			return id
		}
	}
	return ""
}

// naming returns s with advice that names the request as the object beside it does.
func (s *subject) naming(id string) *subject {
	if s.e.RequestID == "" || id == "" || id == s.e.RequestID || !clean.IsPlain(id) {
		return s
	}
	other := *s
	other.e = s.e.With(func(e *recourse.Error) {
		e.Hints = slices.Clone(e.Hints)
		for i := range e.Hints {
			e.Hints[i] = strings.ReplaceAll(e.Hints[i], s.e.RequestID, id)
		}
		e.RequestID = id
	})
	return &other
}

// edit returns the value of a member, edited. It returns nil for one that is missing, unless it has to be there.
func (m *shapeMember) edit(value json.Value, s *subject, base reflect.Value) json.Value {
	missing := value == nil
	switch {
	case m.constant != nil:
	case m.list != nil:
		list := m.list.Get(base)
		return json.EditItems(value, func(i int, item json.Value) json.Value {
			if !list.IsValid() || i >= list.Len() {
				return item
			}
			return m.nested.edit(item, s, list.Index(i))
		})
	case m.nested != nil && missing:
		if added := m.nested.edit(json.Value("{}"), s, base); len(added) > len("{}") {
			return added
		}
	case m.nested != nil:
		return m.nested.edit(value, s, base)
	case m.choices != nil:
		return editChoice(value, m.choices, s, base)
	case m.path.IsSentence():
		if text, ok := json.TextOf(value); ok {
			if stated := s.stated(text); stated != text {
				return json.AppendQuote(nil, stated)
			}
		}
	case m.path.Directs():
		return m.directed(value, s, base)
	}
	return value
}

// directed returns the value of a member that tells what to do next: as s says it, unless it says the same.
func (m *shapeMember) directed(value json.Value, s *subject, base reflect.Value) json.Value {
	said := m.append(nil, s, base)
	switch {
	case len(said) == 0 && m.path.IsAdvice() && value.Kind() == '"' && s.outlived(json.Plain(value)):
		return nil
	case len(said) == 0:
		return value
	case value == nil || value.Kind() == 'n':
		return said
	case m.path.IsAdvice():
		return adviceLike(value, said)
	}
	if bytes.Equal(json.Compact(value), said) {
		return value
	}
	if !m.path.IsRetryable() { // it may be spelled in another way
		was := reflect.New(base.Type()).Elem()
		m.path.Set(was, value)
		if bytes.Equal(m.append(nil, s, was), said) {
			return value
		}
	}
	return said
}

// adviceLike returns advice, a text or a list of them, with each text spelled as in value if that has it.
func adviceLike(value, advice json.Value) json.Value {
	if value.Kind() == '"' && advice.Kind() == '"' {
		if sameAdvice(json.Plain(value), json.Plain(advice)) {
			return value
		}
		return advice
	}
	var was, is []string
	if json.UnmarshalLenient(value, &was) != nil || json.UnmarshalLenient(advice, &is) != nil {
		return advice
	}
	if list, changed := likeAdvice(was, is); changed {
		return json.Texts(list)
	}
	return value
}

// likeAdvice returns is with each text as it is spelled in was, and what was left out of it for its number. It reports
// whether that differs from was.
func likeAdvice(was, is []string) (list []string, changed bool) {
	for _, text := range is {
		if i := slices.IndexFunc(was, func(w string) bool { return sameAdvice(w, text) }); i >= 0 {
			text = was[i]
		}
		list = append(list, text)
	}
	if said := slices.DeleteFunc(slices.Clone(was), isBlank); len(said) > maxAdvice {
		list = append(list, said[maxAdvice:]...)
	}
	return list, !slices.Equal(list, slices.DeleteFunc(slices.Clone(was), isBlank))
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// sameAdvice reports whether a hint is what was read from a text.
func sameAdvice(text, hint string) bool {
	said := saidByServer([]string{text})
	return text == hint || len(said) > 0 && strings.TrimPrefix(said[0], ServerSays) == hint
}

// editChoice returns a value that appendChoice may have written: another one only if an alternative for the call's
// effect begins or ceases to apply.
func editChoice(value json.Value, list []choice, s *subject, base reflect.Value) json.Value {
	said := appendChoice(nil, list, s, base)
	decides := func(value json.Value) bool {
		return value != nil && slices.ContainsFunc(list, func(c choice) bool {
			return c.constant != nil && bytes.Equal(c.constant, json.Compact(value)) &&
				slices.ContainsFunc(c.when, func(on condition) bool { return on.on == onEffect })
		})
	}
	if decides(said) || decides(value) {
		return said
	}
	return value
}

// stated returns a text in the code's template for a sentence: with the wait, if the template has a place for it and
// the text does not state one, and with the advice, if it belongs there.
func (s *subject) stated(text string) string {
	if s.layout().advises {
		text, _ = s.c.cutAdvice(text)
	}
	return s.advised(s.waiting(text))
}

// waiting returns such a text with the wait.
func (s *subject) waiting(text string) string {
	if s.e.RetryAfter == 0 || s.unlisted() {
		return text
	}
	without := false
	for _, t := range s.entry.message {
		sentence, ok := s.sentence(t)
		has := t.Match(text, func(*language.Path, string) {})
		switch {
		case !ok:
		case s.tooSoon(t):
			without = without || has
		case without, namesWait(t) && !has:
			return sentence
		default:
			return text
		}
	}
	return text
}

// edit returns a text that t may have written, with the advice as s says it; ok is false if the text does not have this
// form, or says another code.
func (t textCodec) edit(s *subject, text string) (edited string, ok bool) {
	head, object := t.open(text, newDraft())
	line, rest := t.cut(head)
	d := newDraft()
	if !t.line.Match(line, func(p *language.Path, text string) { p.SetText(d.base(), text) }) || d.e.Code != s.e.Code {
		return "", false
	}
	told := split(rest, t.hints.between)
	inside := newDraft() // what the envelope says
	if object != nil {
		t.envelope.shape.read(json.NodeOf(object), inside.base(), inside)
	}
	if all := slices.Concat(told, inside.e.Hints); s.adds(all) || slices.ContainsFunc(all, s.outlived) {
		list, _ := likeAdvice(told, s.e.Hints)
		head = string(t.appendHints([]byte(line), list))
	} else {
		as := *s
		as.e = s.e.With(func(e *recourse.Error) { e.Hints = inside.e.Hints })
		s = &as
	}
	if object != nil {
		head += t.envelope.mark + string(t.envelope.shape.edit(object, s, s.base()))
	}
	return head, true
}

// open splits off the object in the envelope; nil: there is none.
func (t textCodec) open(text string, d *draft) (rest string, object json.Value) {
	if t.envelope.shape == nil {
		return text, nil
	}
	at := strings.LastIndex(text, t.envelope.mark)
	if at < 0 {
		return text, nil
	}
	if object = d.completed(json.Value(text[at+len(t.envelope.mark):])); !json.NodeOf(object).IsObject() {
		return text, nil
	}
	return text[:at], object
}

// outlived reports whether a text is the contract's own advice, but not for s: for another nature of the tool, say.
func (s *subject) outlived(text string) bool {
	return (s.c.isAdvice(text) || matchedBy(s.entry.hints, text)) &&
		!slices.ContainsFunc(s.e.Hints, func(hint string) bool { return sameAdvice(text, hint) })
}

// adds reports whether s has advice that is not among texts.
func (s *subject) adds(texts []string) bool {
	return slices.ContainsFunc(s.e.Hints, func(hint string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return sameAdvice(text, hint) })
	})
}
