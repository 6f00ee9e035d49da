package contract

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/contract/internal/wild"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A subject is a record together with what a contract makes of it.
type subject struct {
	c     *Contract
	e     *recourse.Error
	entry *codeEntry
	call  *Call
	bare  bool // {message} is the record's sentence, without the code's template around it
	json  []byte
}

// record returns the whole JSON form of the record, without a size limit: it fills the contract's own places.
func (s *subject) record() []byte {
	if s.json == nil {
		s.json = s.encoded(s.e.WholeJSON())
	}
	return s.json
}

// bounded returns the JSON form of the record that travels in _meta.
func (s *subject) bounded() []byte {
	const escaped = len(`\u003c`) // the most that a byte expands to
	if whole := s.record(); len(whole)*escaped <= recourse.MaxJSON {
		return whole
	}
	return s.encoded(s.e.MarshalJSON())
}

func (s *subject) encoded(raw []byte, err error) []byte {
	if err != nil { // a member has no JSON form
		return fmt.Appendf(nil, `{"v":%d,"kind":%q}`, recourse.Version, s.e.Kind)
	}
	return raw
}

// base is what paths start from.
func (s *subject) base() reflect.Value { return reflect.ValueOf(s.e).Elem() }

// on returns the subject for e, which is s's own record or one inside it.
func (s *subject) on(e *recourse.Error) *subject {
	if e == s.e {
		return s
	}
	inner := &subject{c: s.c, e: e, call: s.call}
	inner.entry = s.c.choose(inner)
	return inner
}

// value returns what a path leads to from base, or the zero Value if it is empty. base is addressable.
func (s *subject) value(p *language.Path, base reflect.Value) reflect.Value {
	v := p.Get(base)
	if p.Computed == nil || !v.IsValid() {
		return v
	}
	e, ok := reflect.TypeAssert[*recourse.Error](v.Addr())
	if !ok {
		return reflect.Value{}
	}
	value, ok := s.on(e).computed(p.Computed)
	if !ok {
		return reflect.Value{}
	}
	return reflect.ValueOf(value)
}

// computed returns what is not stored in the record; ok is false if it is empty.
func (s *subject) computed(c *language.Computed) (value any, ok bool) {
	switch c.Name {
	case language.Message:
		return s.told(), true
	case language.MessageGiven:
		return s.e.Message, s.e.Message != "" && s.e.Message != recourse.KindUnknown.Sentence() && !s.isFixed(s.e.Message)
	case language.CodeName:
		return s.entry.name, s.entry.name != "" && !s.ranged()
	case language.CodeGroup:
		return s.group()
	case language.CodeNumber:
		n, err := strconv.ParseInt(s.e.Code, 10, 64)
		return n, err == nil
	case language.Retryable:
		return s.retryable(), true
	case language.After:
		return recourse.FormatWait(s.e.RetryAfter), s.e.RetryAfter > 0
	case language.AfterSeconds:
		return language.Seconds(s.e.RetryAfter), s.e.RetryAfter > 0
	case language.VerifyCall:
		if s.e.Verify == nil || !s.call.hasTool(s.e.Verify.Tool) {
			return nil, false
		}
		return s.c.callText(s.e.Verify), true
	case language.CallArguments:
		argument := s.call.argument("/" + c.Arg)
		return s.c.literal(argument), argument != nil
	case language.DetailText:
		return json.TextOf(json.Value(s.e.Details[c.Arg]))
	case language.CallTool:
		return s.call.Tool, s.call.Tool != ""
	case language.CallURL:
		return s.call.URL, s.call.URL != ""
	case language.HTTPTitle:
		if s.entry == nil || s.entry.http == nil {
			return nil, false
		}
		return strings.ToLower(http.StatusText(s.entry.http.status)), true
	case language.QuotaMember:
		return s.quotaMember(c.Arg)
	}
	return nil, false
}

// group returns the group of the code.
func (s *subject) group() (name string, ok bool) {
	if r := s.c.rangeOf(s.e.Code); r != nil && s.ranged() {
		return r.Name, true
	}
	return s.entry.group, s.entry.group != ""
}

// quotaMember returns a member of a policy's quota.
func (s *subject) quotaMember(arg string) (any, bool) {
	policy, member, _ := strings.Cut(arg, ".")
	for i, q := range s.e.Quotas {
		if q.Policy != policy {
			continue
		}
		switch member {
		case language.QuotaLimit:
			return q.Limit, q.Limit > 0
		case language.QuotaRemaining:
			return q.Remaining, true
		default:
			if i == 0 && s.e.RetryAfter > 0 && q.ResetAt.IsZero() { // the binding quota is reset when the wait ends
				return s.call.now().Add(time.Duration(language.Seconds(s.e.RetryAfter)) * time.Second).UnixMilli(), true
			}
			return q.ResetAt.UnixMilli(), !q.ResetAt.IsZero()
		}
	}
	return nil, false
}

// render fills a template in; ok is false if a placeholder without a fallback is empty.
func (s *subject) render(t *language.Template) (text string, ok bool) {
	if len(t.Parts) == 1 && t.Parts[0].Path == nil {
		return t.Parts[0].Literal, true
	}
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Path == nil {
			b.WriteString(p.Literal)
			continue
		}
		v := s.value(p.Path, s.base())
		switch {
		case v.IsValid():
			b.WriteString(textOf(v))
		case p.Optional:
			b.WriteString(p.Fallback)
		default:
			return "", false
		}
	}
	text = b.String()
	if t.Names(string(language.AfterSeconds)) && language.Seconds(s.e.RetryAfter) == 1 {
		text = strings.Replace(text, "1 seconds", "1 second", 1)
	}
	return text, true
}

// appendValue writes v as JSON.
func appendValue(dst []byte, v reflect.Value) []byte {
	switch v.Kind() {
	default:
	case reflect.String:
		return json.AppendQuote(dst, v.String())
	case reflect.Bool:
		return strconv.AppendBool(dst, v.Bool())
	case reflect.Int, reflect.Int64:
		if v.Type() == contractform.DurationType {
			return strconv.AppendInt(dst, time.Duration(v.Int()).Milliseconds(), 10)
		}
		return strconv.AppendInt(dst, v.Int(), 10)
	}
	if v.Type() == contractform.RawType {
		return append(dst, v.Bytes()...)
	}
	if v.Type() == contractform.TimeType {
		at, _ := reflect.TypeAssert[time.Time](v)
		return json.AppendQuote(dst, at.UTC().Format(time.RFC3339Nano))
	}
	b, err := json.Marshal(v.Interface())
	if err != nil {
		return append(dst, "null"...)
	}
	return append(dst, b...)
}

// textOf formats v for a sentence: strings as they are, lists with commas, anything else as JSON.
func textOf(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Slice && v.Type() != contractform.RawType && v.Type() != contractform.ArgsType:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = textOf(v.Index(i))
		}
		return strings.Join(parts, language.ListSeparator)
	case v.Type() == contractform.RawType:
		if text, err := json.AppendUnquote(nil, v.Bytes()); err == nil {
			return string(text)
		}
	}
	return string(appendValue(nil, v))
}

// message returns the sentence in the code's template. A protocol failure without a code of its own keeps its
// sentence where it is told to the client's program, since no tool has failed.
func (s *subject) message() string {
	if s.bare || s.entry == nil || s.unlisted() || s.saysAll() ||
		s.entry == s.c.fallback && s.e.Kind.Class() == recourse.ClassProtocol && !s.becomesResult() {
		return s.e.Sentence()
	}
	for _, t := range s.entry.message {
		if text, ok := s.sentence(t); ok && !s.tooSoon(t) {
			return text
		}
	}
	return s.e.Sentence()
}

// sentence returns the record's sentence in a form of the code's. What follows it begins a new one.
func (s *subject) sentence(t *language.Template) (text string, ok bool) {
	bare := *s
	bare.bare = true
	if said := s.e.Sentence(); namesWait(t) && !isEnded(said) {
		bare.e = s.e.WithMessage("%s.", said)
	}
	return bare.render(t)
}

// isEnded reports whether a text ends as a sentence does.
func isEnded(text string) bool {
	return slices.ContainsFunc([]string{".", "!", "?"}, func(end string) bool { return strings.HasSuffix(text, end) })
}

// tooSoon reports whether a form of the sentence says when to try again, and must not: that is not all that a call in doubt
// needs, nothing that helps where waiting alone does not, and said already where the sentence says so itself. What is answered in HTTP
// has not been called.
func (s *subject) tooSoon(t *language.Template) bool {
	if !namesWait(t) || s.call.HTTP && s.entry.http != nil {
		return false
	}
	return s.e.Effect == recourse.EffectUnknown || !s.passes() || s.statesWait(s.e.Message)
}

// passes reports whether waiting alone helps. A failure of which nothing is known but a wait is most likely a limit.
func (s *subject) passes() bool {
	kind := s.e.Kind
	helps := kind.Retry() == recourse.RetrySameCall || kind.Class() == recourse.ClassAllowance
	return s.retryable() || helps || kind == recourse.KindClientError
}

// statesWait reports whether a text states the wait of the record.
func (s *subject) statesWait(text string) bool {
	return s.e.RetryAfter > 0 && wild.WaitSaid(text, s.call.now()) == s.e.RetryAfter
}

func namesWait(t *language.Template) bool {
	return t.Names(string(language.AfterSeconds)) || t.Names(string(language.After))
}

// isFixed reports whether a message is a fixed sentence of the code's.
func (s *subject) isFixed(message string) bool {
	return slices.ContainsFunc(s.entry.message, func(t *language.Template) bool { return t.Constant() && t.Text() == message })
}

// saysAll reports whether the message is a fixed sentence of the code's with the contract's advice behind it, as it was written.
func (s *subject) saysAll() bool {
	if !s.layout().advises {
		return false
	}
	rest, told := s.c.cutAdvice(s.e.Message)
	return told != nil && s.isFixed(strings.TrimSuffix(rest, "."))
}

// told returns the message and, if the layout has no other place for them, the contract's hints about the failure.
func (s *subject) told() string {
	text := s.message()
	if s.bare || s.entry == nil {
		return text
	}
	return s.advised(text)
}

// advised returns a message with those hints behind it that it does not have.
func (s *subject) advised(text string) string {
	if !s.layout().advises || s.call.HTTP && s.entry.http != nil {
		return text
	}
	if _, told := s.c.cutAdvice(text); told != nil {
		return text // a server's own, which may know more
	}
	for _, hint := range s.e.Hints {
		if !s.c.warns(hint) || s.statesWait(hint) && s.statesWait(text) {
			continue
		}
		if !isEnded(text) {
			text += "."
		}
		text += " " + hint
	}
	return text
}

// denies reports whether what the record says about the effect, or the same call, is not what on asks for.
func (s *subject) denies(on condition) bool {
	return on.on == onEffect && s.e.Effect != "" && !on.holds(s) || on.on == onRetry && !on.holds(s)
}

// unlisted reports whether the contract does not list the code, so that the fallback applies.
func (s *subject) unlisted() bool {
	return s.entry.open == nil && s.e.Code != "" && s.e.Code != s.entry.code
}

// ranged reports whether the code is unlisted but in a range, so that the fallback applies.
func (s *subject) ranged() bool { return s.unlisted() && s.c.rangeOf(s.e.Code) != nil }

// retryable decides the boolean on the wire. In this order: an unlisted code follows the record; a code that is never
// retryable stays so; what took effect, or may have, is not repeated; a code that leaves the decision to the other side
// follows what that side said; if the record's retry differs from its kind's and so was set on purpose, it decides;
// otherwise the code does. A boolean that was read in the contract's own form is no such purpose: the code's counts.
func (s *subject) retryable() bool {
	e, mode := s.e, s.entry.retry.Mode
	same := e.RetryAdvice() == recourse.RetrySameCall
	switch {
	case s.unlisted(): // the contract does not mention it
		return same
	case mode == contractform.Never, e.Effect == recourse.EffectUnknown, e.Effect == recourse.EffectApplied:
		return false
	case mode == contractform.Stated:
		return e.Retry == recourse.RetrySameCall
	case mode == contractform.ByRecord, mode == contractform.ByStatus && e.Upstream.Status == 0:
		return same
	case mode == contractform.ByStatus && e.Retry != "" && !same: // who knows more than the status
		return false
	case s.call.Relay.OriginalContract != s.c && same != (e.Kind.Retry() == recourse.RetrySameCall):
		return same
	}
	return s.usually()
}

// usually returns what the code says about failures like this one, whatever is known about the call.
func (s *subject) usually() bool {
	switch s.entry.retry.Mode {
	case contractform.Always:
		return true
	case contractform.Never:
		return false
	case contractform.ByStatus:
		if status := s.e.Upstream.Status; status != 0 {
			return matchStatus(s.entry.retry.Status, status)
		}
	case contractform.ByRecord, contractform.Stated:
	}
	return s.e.Kind.Retry() == recourse.RetrySameCall
}
