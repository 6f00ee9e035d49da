package check

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/privacy/visible"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Seen is what drafts of a configuration and a contract are made of.
type Seen struct {
	Tools    []SeenTool
	Failures []SeenFailure
	Reads    []string // the families whose failures do not say that they are failures
}

// SeenTool is a tool with what is known of it; nil: nothing is.
type SeenTool struct {
	Name                 string
	ReadOnly, Idempotent *bool
	Basis                string // on what that rests
	Verify               *SeenVerify
}

// SeenVerify is the call that has shown what a write did.
type SeenVerify struct {
	Tool string
	From map[string]string // the arguments of the write that its parameters come from, as JSON Pointers
	With map[string]json.Value
}

func (s *Seen) has(tool string) bool {
	return slices.ContainsFunc(s.Tools, func(t SeenTool) bool { return t.Name == tool })
}

// SeenFailure is a text that is in no known form, as a template.
type SeenFailure struct {
	Tool, Template string
	Kind           recourse.Kind
}

// seen returns what was seen, with the findings that contradict a tool's own word.
func (t *transcript) seen(findings []Finding) (s Seen) {
	broken := func(rule, tool string) bool {
		return slices.ContainsFunc(findings, func(f Finding) bool { return f.Rule == rule && f.Tool == tool })
	}
	no := new(bool)
	for _, tool := range t.tools {
		hints := tool.Annotations
		seen := SeenTool{Name: tool.Name, ReadOnly: hints.ReadOnly, Idempotent: hints.Idempotent, Basis: "its own word"}
		switch {
		case broken("reads-hold", tool.Name):
			seen.ReadOnly, seen.Basis = no, "seen to write"
		case broken("hints-agree", tool.Name):
			seen.ReadOnly, seen.Basis = no, "its hints contradict each other"
		case tool.believed:
			seen.ReadOnly, seen.Basis = new(true), "--read-only"
		}
		if broken("idempotent-kept", tool.Name) || broken("repeated-write", tool.Name) {
			seen.Idempotent, seen.Basis = no, "seen to act twice"
		}
		seen.Verify = t.verified(tool)
		s.Tools = append(s.Tools, seen)
	}
	for _, x := range t.exchanges {
		if reads := x.said.reads; reads != "" && !slices.Contains(s.Reads, reads) {
			s.Reads = append(s.Reads, reads)
		}
		if f, ok := x.failure(); ok {
			s.add(f)
		}
	}
	s.Failures = slices.DeleteFunc(s.Failures, func(f SeenFailure) bool { return f.Kind == "" })
	return s
}

// add adds a failure. A text that two causes have says no more than both do, if there is such a kind.
func (s *Seen) add(f SeenFailure) {
	at := slices.IndexFunc(s.Failures, func(g SeenFailure) bool { return g.Template == f.Template })
	switch {
	case at < 0:
		s.Failures = append(s.Failures, f)
	case s.Failures[at].Kind == f.Kind:
	case s.Failures[at].Kind.Class() == recourse.ClassInput && f.Kind.Class() == recourse.ClassInput:
		s.Failures[at].Kind = recourse.KindInvalidValue
	default:
		s.Failures[at].Kind = ""
	}
}

// minWords is how many words of its own a text must have to be read as a template.
const minWords = 3

// failure returns the failure of a call that went wrong in one way, if its text says which.
func (x *exchange) failure() (f SeenFailure, ok bool) {
	const most = 300
	text := x.said.text
	plain := len(text) <= most && text == masked(text) && !strings.ContainsFunc(text, visible.Hides) && !strings.Contains(text, "\n")
	if !x.said.marked || x.said.form != nil || x.step.tool == nil || len(x.step.wrong) != 1 || !plain {
		return f, false
	}
	what, path := x.step.wrong[0], "{violations.0.param}"
	switch x.step.probe {
	case probeAbsent:
		f.Kind, what, path = recourse.KindNotFound, absentID, "{resource.id}"
	case probeMissing:
		f.Kind = recourse.KindMissingParam
	case probeTypes, probeNull:
		f.Kind = recourse.KindInvalidType
	case probeEnum, probeBounds, probeFormat:
		f.Kind = recourse.KindInvalidValue
	case probeUnknown:
		f.Kind = recourse.KindUnknownParam
	default:
		return f, false
	}
	before, after, named := cutWord(text, what)
	doubled := strings.NewReplacer("{", "{{", "}", "}}")
	f.Tool, f.Template = x.step.tool.Name, doubled.Replace(before)+path+doubled.Replace(after)
	return f, named && len(strings.Fields(before+after)) >= minWords // one with fewer would fit anything
}

// cutWord cuts a text around the last place at which a word stands by itself.
func cutWord(text, word string) (before, after string, found bool) {
	inWord := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	if word == "" {
		return text, "", false
	}
	for end := len(text); ; {
		at := strings.LastIndex(text[:end], word)
		if at < 0 {
			return text, "", false
		}
		before, after = text[:at], text[at+len(word):]
		last, _ := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(after)
		if !inWord(last) && !inWord(next) {
			return before, after, true
		}
		end = at + len(word) - 1
	}
}

// verified returns the verify call of a write whose effects it has shown.
func (t *transcript) verified(of *listedTool) *SeenVerify {
	for _, w := range t.writes {
		if w.tool != of || w.why != "" || w.write.Reads {
			continue
		}
		v := &SeenVerify{Tool: w.write.Verify.Tool, From: map[string]string{}, With: map[string]json.Value{}}
		var ask, made map[string]json.Value
		if json.Unmarshal(w.write.Verify.Args, &ask) != nil || json.Unmarshal(w.write.Args, &made) != nil {
			return nil
		}
		for name, value := range ask {
			if !strings.Contains(string(value), mark) {
				if string(made[name]) == string(value) {
					v.From[name] = string(json.Pointer("").AppendToken(name))
				} else {
					v.With[name] = value
				}
				continue
			}
			for argument, given := range made {
				if string(given) == string(value) {
					v.From[name] = string(json.Pointer("").AppendToken(argument))
				}
			}
			if v.From[name] == "" {
				return nil
			}
		}
		return v
	}
	return nil
}

// keyOf returns the argument of a write that says which one it is, as a JSON Pointer: what has the mark in it; "": none is known.
func (t *transcript) keyOf(of *listedTool) string {
	for _, w := range t.writes {
		if w.tool == of {
			return pointerTo(w.write.Args, mark)
		}
	}
	return ""
}

// pointerTo returns a JSON Pointer to the first member whose text contains words.
func pointerTo(in json.Value, words string) string {
	for _, m := range json.MembersOf(in) {
		if !strings.Contains(string(m.Value), words) {
			continue
		}
		at := string(json.Pointer("").AppendToken(m.Name))
		if len(m.Value) > 0 && m.Value[0] == '{' {
			at += pointerTo(m.Value, words)
		}
		return at
	}
	return ""
}
