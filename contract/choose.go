package contract

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
)

// A subject is a record together with what a contract makes of it.
type subject struct {
	c     *Contract
	e     *recourse.Error
	entry *entry
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

// choose returns the entry for a record. There always is one.
func (c *Contract) choose(s *subject) *entry {
	if s.e.Contract == c.Name && s.e.Code != "" {
		if en, ok := c.byCode[s.e.Code]; ok {
			return en
		}
		if c.open != nil {
			return c.open
		}
		return c.fallback
	}
	for _, en := range c.codes {
		for _, sel := range en.selectors {
			word := ""
			if sel.selects(s) {
				word = en.codeOf(s)
			}
			if listed, ok := c.byCode[word]; ok { // a code passed on from elsewhere may be one of ours
				return listed
			}
			if word != "" {
				return en
			}
		}
	}
	return c.fallback
}

// codeOf returns the code of a record for which en was chosen. It is "" if en passes codes on and the record
// has none.
func (en *entry) codeOf(s *subject) string {
	if en.open == nil {
		return en.code
	}
	if word, ok := en.open.render(s); ok && clean.IsWord(word) {
		return word
	}
	return ""
}

// bind puts e into the words of c: its code, and that code's wait and hints. It does the same for failed
// items.
func (c *Contract) bind(e *recourse.Error, call *Call) *subject {
	bound := *e
	s := &subject{c: c, e: &bound, call: call}
	s.entry = c.choose(s)
	fresh := e.Contract != c.Name
	if fresh || e.Code == "" {
		bound.Contract, bound.Code = c.Name, s.entry.codeOf(s)
	}
	if en := c.inPlaceOf(s.entry, call); en != nil {
		s.entry, bound.Code = en, en.code
	}
	bound.Message = bound.Sentence()
	clean.Record(&bound)
	if !c.showsValues {
		for i := range bound.Violations {
			bound.Violations[i].Got = nil
		}
	}
	if bound.RetryAfter == 0 {
		bound.RetryAfter = c.waitOf(s)
	}
	mode := s.entry.retry.mode
	if bound.Retry == "" && (mode == stated || mode == never) && !s.unlisted() && bound.Kind.Retry() == recourse.RetrySameCall {
		bound.Retry = recourse.RetryNever // the record has to agree with the contract
	}
	if bound.Verify == nil && bound.Effect == recourse.EffectUnknown {
		bound.Verify = c.VerifyFor(call)
	}
	if len(bound.Failed) > 0 {
		bound.Failed = slices.Clone(bound.Failed)
		for i, item := range bound.Failed {
			if item.Error != nil {
				bound.Failed[i].Error = c.bind(item.Error, &Call{HasTool: call.HasTool, Offered: call.Offered, Now: call.Now}).e
			}
		}
	}
	if !slices.ContainsFunc(s.entry.message, (*template).frames) { // a code with a fixed sentence is recognised by it
		bound.Message = s.message()
	}
	bound.Hints = c.hintsFor(s, fresh)
	c.offered(&bound, call)
	return s
}

// inPlaceOf returns the entry that replaces en, depending on where the answer goes: en's `otherwise` if no
// HTTP answer is possible; if one is, the entry with an HTTP form whose `otherwise` is en. nil means en
// itself.
func (c *Contract) inPlaceOf(en *entry, call *Call) *entry {
	if !call.HTTP {
		return c.byCode[en.otherwise]
	}
	if i := slices.IndexFunc(c.codes, func(other *entry) bool { return other.otherwise == en.code }); i >= 0 {
		return c.codes[i]
	}
	return nil
}

// waitOf returns the wait that the record implies without stating it: until the binding quota is reset, else
// the wait of its code.
func (c *Contract) waitOf(s *subject) time.Duration {
	if s.e.Kind.Class() == recourse.ClassAllowance && len(s.e.Quotas) > 0 && !s.e.Quotas[0].ResetAt.IsZero() {
		return min(max(s.e.Quotas[0].ResetAt.Sub(s.call.now()), 0), recourse.MaxWait)
	}
	return s.entry.wait
}

// inResult returns s with its code for tool results, if its own code belongs to another surface.
func (s *subject) inResult() *subject {
	if s.entry.inResult() {
		return s
	}
	inner := *s
	inner.entry, inner.json = s.c.fallback, nil
	for _, en := range s.c.codes {
		if en.inResult() && slices.ContainsFunc(en.selectors, func(sel selector) bool { return sel.selects(s) }) {
			inner.entry = en
			break
		}
	}
	inner.e = s.e.WithCode(s.c.Name, inner.entry.code)
	inner.e.Hints = s.c.hintsFor(&inner, false)
	s.c.offered(inner.e, &Call{Offered: s.call.Offered})
	return &inner
}

// message returns the sentence in the code's template. A protocol failure without a code of its own keeps its
// sentence, since no tool has failed.
func (s *subject) message() string {
	if s.bare || s.entry == nil || s.unlisted() || s.entry == s.c.fallback && s.e.Kind.Class() == recourse.ClassProtocol {
		return s.e.Sentence()
	}
	bare := *s
	bare.bare = true
	for _, t := range s.entry.message {
		if text, ok := t.render(&bare); ok {
			return text
		}
	}
	return s.e.Sentence()
}

// unlisted reports whether the contract does not list the code, so that the fallback applies.
func (s *subject) unlisted() bool {
	return s.entry.open == nil && s.e.Code != "" && s.e.Code != s.entry.code
}

// retryable decides the boolean on the wire. In this order: a code that leaves the decision to the other side
// follows what that side said; an unlisted code follows the record; a code that is never retryable stays so;
// if the effect is unknown, or the record's retry differs from its kind's and so was set on purpose, the
// record decides; otherwise the code does.
func (s *subject) retryable() bool {
	if s.entry.retry.mode == stated && s.e.Effect == recourse.EffectUnknown {
		return s.e.Retry == recourse.RetrySameCall
	}
	same := s.e.RetryAdvice() == recourse.RetrySameCall
	switch mode := s.entry.retry.mode; {
	case mode == stated:
		return same && s.e.Retry == recourse.RetrySameCall
	case s.unlisted(): // the contract does not mention it
		return same
	case mode == never: // whatever the record says
		return false
	}
	if s.e.Effect == recourse.EffectUnknown || same != (s.e.Kind.Retry() == recourse.RetrySameCall) {
		return same
	}
	switch s.entry.retry.mode {
	case always:
		return true
	case byStatus:
		if status := s.e.Upstream.Status; status != 0 {
			return matchStatus(s.entry.retry.status, status)
		}
	case byRecord, never, stated:
	}
	return same
}

// Retryable reports whether the same call may succeed after e, according to the contract's code for e.
func (c *Contract) Retryable(e *recourse.Error, call *Call) bool { return c.bind(e, call).retryable() }
