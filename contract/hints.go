package contract

import (
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/contract/internal/prose"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// An alternative is a text that is used if its selector matches, its placeholders can be filled in, and the
// server has the tools that it names.
type alternative struct {
	when  selector
	text  *language.Template
	tools []string
}

// alternatives reads hints: a text, {for, unchanged, text}, or a list of both.
func (k *compiler) alternatives(n *strictyaml.Node) []alternative {
	var list []alternative
	for _, item := range language.Items(n) {
		form := contractform.HintFile{Text: item}
		if item.Kind() == strictyaml.KindMapping && item.Decode(&form) != nil {
			continue
		}
		list = append(list, k.hint(&form)...)
	}
	return list
}

// hint returns the alternatives that a hint stands for.
func (k *compiler) hint(form *contractform.HintFile) []alternative {
	var when selector
	if form.For != nil {
		when = k.selector(form.For)
	}
	plain := k.OptionalTemplates(form.Text, "")
	if len(plain) == 0 {
		return nil
	}
	k.hintTexts = append(k.hintTexts, hintText{form.Text, plain[0].Src})
	var list []alternative
	add := func(texts []*language.Template, more ...condition) {
		for _, text := range texts {
			list = append(list, alternative{when: slices.Concat(when, more), text: text})
		}
	}
	if form.Unchanged != "" { // a server's word is passed on, and no more
		add(plain, conditionOn(onBasis, string(recourse.BasisStated)))
		add(k.OptionalTemplates(form.Text, form.Unchanged+" "), conditionOn(onEffect, string(recourse.EffectNone)))
	}
	add(plain)
	return list
}

// hintsFor returns the hints to write: the contract's warning about the record, the author's own hints, and
// the code's advice. fresh says that the record was not in the contract's words before; otherwise its hints
// already include that advice.
func (c *Contract) hintsFor(s *subject, fresh bool) []string {
	var hints []string
	add := func(hint string, ok bool) {
		if ok && !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
	}
	warned := !fresh && slices.ContainsFunc(s.e.Hints, c.warns)
	if !warned {
		var warning string
		warning, warned = pick(c.hints, s)
		add(warning, warned)
	}
	advice, advises := s.advice()
	for _, own := range s.e.Hints {
		said, led := strings.CutPrefix(own, ServerSays)
		switch {
		case led && !warned && (advises && said == advice || !fresh && s.misadvises(said)):
			own = advice // the contract gives the same advice, or for another case
		case led && (warned && (c.isAdvice(said) || matchedBy(s.entry.hints, said)) || c.warns(said)):
			continue // the contract's own warning, about calls that are or are not safe to repeat
		}
		add(own, own != "")
	}
	if !warned && (fresh && !s.entry.leavesAdvice(s.e) || len(hints) == 0) {
		add(advice, advises)
	}
	return hints
}

// advice returns the code's advice. If the same call may be made again although the code usually says no, or the other
// way round, or if none may although the kind knows a way out, only advice that has been chosen by what is said about it
// holds.
func (s *subject) advice() (string, bool) {
	differs := s.entry.retry.Mode != contractform.Stated && s.retryable() != s.usually() ||
		s.e.RetryAdvice() == recourse.RetryNever && (knowsWayOut(s.e.Kind) || knowsWayOut(s.entry.kind))
	if differs && !slices.ContainsFunc(s.entry.hints, func(a alternative) bool { return a.bySaid() }) {
		return "", false
	}
	return pick(s.entry.hints, s)
}

// knowsWayOut reports whether a kind calls for something that helps, other than the same call.
func knowsWayOut(kind recourse.Kind) bool {
	return kind.Retry() != recourse.RetryNever && kind.Retry() != recourse.RetrySameCall
}

// cutAdvice returns a message without the contract's advice that follows it, and which that is; nil: there is none.
func (c *Contract) cutAdvice(message string) (rest string, told *alternative) {
	for i := range c.hints {
		a := &c.hints[i]
		at := strings.LastIndex(message, " "+a.text.Parts[0].Literal)
		if at >= 0 && a.text.Match(message[at+1:], func(*language.Path, string) {}) {
			return message[:at], a
		}
	}
	return message, nil
}

// misadvises reports whether a text is the code's own advice for the opposite of what is said about the same call: an
// alternative that has been chosen by that, or in place of one.
func (s *subject) misadvises(text string) bool {
	chosen := slices.IndexFunc(s.entry.hints, func(a alternative) bool { return s.applies(a) })
	return slices.ContainsFunc(s.entry.hints, func(a alternative) bool {
		return givenBy([]alternative{a}, text) && (a.bySaid() && slices.ContainsFunc(a.when, s.denies) ||
			!a.bySaid() && chosen >= 0 && s.entry.hints[chosen].bySaid())
	})
}

// bySaid reports whether an alternative is chosen by what is said about the same call.
func (a *alternative) bySaid() bool {
	return slices.ContainsFunc(a.when, func(on condition) bool { return on.on == onRetry })
}

func pick(from []alternative, s *subject) (string, bool) {
	for _, a := range from {
		if !s.applies(a) {
			continue
		}
		if text, ok := s.render(a.text); ok {
			return text, true
		}
	}
	return "", false
}

// applies reports whether an alternative is for s, and names no tool that the server does not have.
func (s *subject) applies(a alternative) bool {
	return a.when.selects(s) && !slices.ContainsFunc(a.tools, func(t string) bool { return !s.call.hasTool(t) })
}

// warns reports whether a hint is one that c gives for any code.
func (c *Contract) warns(hint string) bool { return matchedBy(c.hints, hint) }

func matchedBy(list []alternative, text string) bool {
	return slices.ContainsFunc(list, func(a alternative) bool { return a.text.Match(text, func(*language.Path, string) {}) })
}

// isAdvice reports whether a text is one of c's hints, and not of a few words that anybody may have written.
func (c *Contract) isAdvice(text string) bool {
	return givenBy(c.hints, text) || slices.ContainsFunc(c.codes, func(en *codeEntry) bool { return givenBy(en.hints, text) })
}

func givenBy(list []alternative, text string) bool {
	const few = 12 // bytes
	return slices.ContainsFunc(list, func(a alternative) bool {
		return a.text.Fixed() > few && a.text.Match(text, func(*language.Path, string) {})
	})
}

// leavesAdvice reports whether only the other side's advice is written, because its code is passed on too: unless there
// is a wait to be told.
func (en *codeEntry) leavesAdvice(e *recourse.Error) bool {
	waits := e.RetryAfter > 0 && e.RetryAdvice() == recourse.RetrySameCall
	return en.open != nil && len(e.Hints) > 0 && e.Origin == recourse.OriginProvider && !waits
}

// AdvisedTools returns the tools that hints may name, sorted: those in `hint_tools`, and those of verify
// calls.
func (c *Contract) AdvisedTools() []string {
	tools := slices.Concat(c.hintTools, c.verifyTools())
	slices.Sort(tools)
	return slices.Compact(tools)
}

func (c *Contract) verifyTools() []string {
	tools := make([]string, 0, len(c.verify))
	for _, rule := range c.verify {
		tools = append(tools, rule.Tool)
	}
	return tools
}

// bindTools finds the tools that each hint names. Inherited hints are copied, since the list of tools may be
// longer now.
func (c *Contract) bindTools() {
	tools := c.AdvisedTools()
	bound := func(list []alternative) []alternative {
		list = slices.Clone(list)
		for i := range list {
			list[i].tools = slices.DeleteFunc(slices.Clone(tools), func(tool string) bool {
				return !prose.Mentions(list[i].text.Src, tool)
			})
		}
		return list
	}
	c.hints = bound(c.hints)
	for i, en := range c.codes {
		own := *en
		own.hints = bound(en.hints)
		c.codes[i] = &own
		for code, other := range c.byCode {
			if other == en {
				c.byCode[code] = &own
			}
		}
		if c.fallback == en {
			c.fallback = &own
		}
		if c.open == en {
			c.open = &own
		}
	}
}

// offered replaces the server's tool names by the client's in the hints and the verify call of e. Anything
// that names a tool that the client is not offered is left out.
func (c *Contract) offered(e *recourse.Error, offered func(tool string) (name string, known bool)) {
	if offered == nil {
		return
	}
	advised := c.AdvisedTools()
	if e.Verify != nil {
		advised = append(advised, e.Verify.Tool)
	}
	hints := e.Hints
	e.Hints = nil
	for _, hint := range hints {
		if text, ok := prose.Rename(hint, advised, offered); ok {
			e.Hints = append(e.Hints, text)
		}
	}
	if e.Verify == nil {
		return
	}
	switch name, known := offered(e.Verify.Tool); {
	case !known:
	case name == "":
		e.Verify = nil
	default:
		verify := *e.Verify
		verify.Tool = name
		e.Verify = &verify
	}
}
