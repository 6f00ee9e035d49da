package contract

import (
	"slices"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/contract/internal/language"
)

// choose returns the entry for a record. There always is one.
func (c *Contract) choose(s *subject) *codeEntry {
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
func (en *codeEntry) codeOf(s *subject) string {
	if en.open == nil {
		return en.code
	}
	if word, ok := s.render(en.open); ok && clean.IsWord(word) {
		return word
	}
	return ""
}

// bind puts e into the words of c: its code, and that code's wait and hints. It does the same for failed
// items.
func (c *Contract) bind(e *recourse.Error, call *Call) *subject {
	bound := *e
	bound.Resource = c.resourceOf(e, call)
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
	s.agreed()
	if bound.Verify == nil && bound.Effect == recourse.EffectUnknown {
		bound.Verify = c.VerifyFor(call)
	}
	if bound.Verify != nil && !call.hasTool(bound.Verify.Tool) { // a call that nobody can make settles nothing
		bound.Verify = nil
	}
	if len(bound.Failed) > 0 {
		bound.Failed = slices.Clone(bound.Failed)
		for i, item := range bound.Failed {
			if item.Error != nil {
				bound.Failed[i].Error = c.bind(item.Error, &Call{
					HasTool: call.HasTool, Now: call.Now,
					Relay: Relay{Offered: call.Relay.Offered, OriginalContract: call.Relay.OriginalContract},
				}).e
			}
		}
	}
	if !slices.ContainsFunc(s.entry.message, (*language.Template).Frames) { // a code with a fixed sentence is recognised by it
		bound.Message = s.message()
	}
	bound.Hints = c.hintsFor(s, fresh)
	s.looksFirst()
	s.waits()
	if c.layout.advises {
		if rest, told := c.cutAdvice(bound.Message); told != nil && slices.ContainsFunc(told.when, s.denies) {
			bound.Message = rest
		}
	}
	c.offered(&bound, call.Relay.Offered)
	return s
}

// agreed lets the record say what the contract does about the same call. If that will not do, the way out that the code's
// kind knows counts, since the code's advice is about that: unless the record says that there is none, and
// is what the contract's form shows.
func (s *subject) agreed() {
	e, way := s.e, s.entry.kind.Retry()
	_, warned := pick(s.c.hints, s)
	if way == recourse.RetrySameCall || e.Effect == recourse.EffectApplied && warned { // what was done is not done again
		way = recourse.RetryNever
	}
	switch advice := e.RetryAdvice(); {
	case s.retryable():
		e.Retry = recourse.RetrySameCall
	case advice == recourse.RetrySameCall, advice == recourse.RetryNever && (e.Retry == "" || !s.c.layout.record):
		e.Retry = way
	}
}

// looksFirst lets the record of a call in doubt say what its advice does: whoever calls looks first, and decides then. That
// the same call will not do, which is all that a plain boolean says, is no word against that.
func (s *subject) looksFirst() {
	if s.e.Effect == recourse.EffectUnknown && s.e.RetryAdvice() == recourse.RetryNever && slices.ContainsFunc(s.e.Hints, s.c.warns) {
		s.e.Retry = recourse.RetryReRead
	}
}

// waits leaves a wait out that helps nobody: where the same call will never do, or only once something else has been done, no text
// says to wait. Of an allowance it says when there is one again, and of items that failed when to repeat them. A form that comes from a
// document has its own place for a wait.
func (s *subject) waits() {
	advice := s.e.RetryAdvice()
	helps := advice == recourse.RetrySameCall || advice == recourse.RetryReRead || s.e.Kind == recourse.KindPartial ||
		s.e.Kind.Class() == recourse.ClassAllowance
	if s.c.layout.record && (!helps || s.e.Effect == recourse.EffectApplied) {
		s.e.RetryAfter = 0
	}
}

// inPlaceOf returns the entry that replaces en, depending on where the answer goes: en's `otherwise` if no
// HTTP answer is possible; if one is, the entry with an HTTP form whose `otherwise` is en. nil means en
// itself.
func (c *Contract) inPlaceOf(en *codeEntry, call *Call) *codeEntry {
	if !call.HTTP {
		return c.byCode[en.otherwise]
	}
	if i := slices.IndexFunc(c.codes, func(other *codeEntry) bool { return other.otherwise == en.code }); i >= 0 {
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
	s.c.offered(inner.e, s.call.Relay.Offered)
	return &inner
}

// Retryable reports whether the same call may succeed after e, according to the contract's code for e.
func (c *Contract) Retryable(e *recourse.Error, call *Call) bool { return c.bind(e, call).retryable() }
