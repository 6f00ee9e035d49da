package language

import (
	"errors"
	"fmt"
	"strings"
)

// A Template is a text with placeholders: {path}, or {path|text} with a text to use if the path is empty.
// Doubled braces mean single ones. Its fields are for reading.
type Template struct {
	Src   string
	Parts []Part
}

// A Part is a literal, or a placeholder if Path is set.
type Part struct {
	Literal  string
	Path     *Path
	Fallback string
	Optional bool // it has a fallback
}

var errBraces = errors.New("has a brace without its partner")

// compileTemplate parses src; resolve returns what a placeholder addresses.
func compileTemplate(src string, resolve func(name string) (*Path, error)) (*Template, error) {
	t := &Template{Src: src}
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			t.Parts = append(t.Parts, Part{Literal: literal.String()})
			literal.Reset()
		}
	}
	for rest := src; rest != ""; {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			literal.WriteString(rest)
			break
		}
		literal.WriteString(rest[:i])
		brace := rest[i]
		if i+1 < len(rest) && rest[i+1] == brace {
			literal.WriteByte(brace)
			rest = rest[i+2:]
			continue
		}
		end := strings.IndexByte(rest[i:], '}')
		if brace == '}' || end < 0 {
			return nil, fmt.Errorf("%q %w", src, errBraces)
		}
		flush()
		name, fallback, optional := strings.Cut(rest[i+1:i+end], "|")
		p, err := resolve(name)
		if err != nil {
			return nil, err
		}
		t.Parts = append(t.Parts, Part{Path: p, Fallback: fallback, Optional: optional})
		rest = rest[i+end+1:]
	}
	flush()
	return t, nil
}

var errOptional = errors.New("has [[ without ]], or ]] without [[, or a part between them without a placeholder")

// Variants returns a text with its optional parts, and then without each of them that cannot be filled in: [[wait {after}, then ]]. Of
// any placeholders that can, the first variant that has only those has them all.
func Variants(text string) ([]string, error) {
	before, rest, opens := strings.Cut(text, "[[")
	if strings.Contains(before, "]]") {
		return nil, fmt.Errorf("%q %w", text, errOptional)
	}
	if !opens {
		return []string{text}, nil
	}
	part, after, closes := strings.Cut(rest, "]]")
	if !closes || !strings.Contains(part, "{") || strings.Contains(part, "[[") {
		return nil, fmt.Errorf("%q %w", text, errOptional)
	}
	ends, err := Variants(after)
	var variants []string
	for _, part := range []string{part, ""} {
		for _, end := range ends {
			variants = append(variants, before+part+end)
		}
	}
	return variants, err
}

// Constant reports whether t has no placeholder.
func (t *Template) Constant() bool {
	for _, p := range t.Parts {
		if p.Path != nil {
			return false
		}
	}
	return true
}

// Text returns the text of a template that has no placeholders.
func (t *Template) Text() string {
	var b strings.Builder
	for _, p := range t.Parts {
		b.WriteString(p.Literal)
	}
	return b.String()
}

// Fixed returns the total length of the literals.
func (t *Template) Fixed() int {
	n := 0
	for _, p := range t.Parts {
		n += len(p.Literal)
	}
	return n
}

// Only returns the placeholder that makes up t, or nil.
func (t *Template) Only() *Path {
	if len(t.Parts) == 1 && !t.Parts[0].Optional {
		return t.Parts[0].Path
	}
	return nil
}

// Frames reports whether t puts text around the sentence.
func (t *Template) Frames() bool { return t.Names(string(Message)) || t.Names(string(MessageGiven)) }

// Names reports whether t has a placeholder for that path.
func (t *Template) Names(src string) bool {
	for _, p := range t.Parts {
		if p.Path != nil && p.Path.Src == src {
			return true
		}
	}
	return false
}

// Match parses a text that t may have written, and calls store with the text of each placeholder. A literal
// between placeholders is searched for from the left; a literal at the end must end the text.
func (t *Template) Match(text string, store func(p *Path, text string)) bool {
	type capture struct {
		path *Path
		text string
	}
	var captures []capture
	for i := range t.Parts {
		p := t.Parts[i]
		if p.Path == nil {
			rest, ok := strings.CutPrefix(text, p.Literal)
			if !ok {
				return false
			}
			text = rest
			continue
		}
		end := len(text)
		if i+1 < len(t.Parts) {
			next := t.Parts[i+1]
			switch {
			case next.Path != nil:
				return false // two adjacent placeholders cannot be told apart
			case i+2 == len(t.Parts):
				end = len(text) - len(next.Literal)
			case p.Path.IsSentence(): // it can contain anything, including the literal after it
				end = strings.LastIndex(text, next.Literal)
			default:
				end = strings.Index(text, next.Literal)
			}
			if end < 0 {
				return false
			}
		}
		if !p.Optional || text[:end] != p.Fallback {
			captures = append(captures, capture{p.Path, text[:end]})
		}
		text = text[end:]
	}
	if text != "" {
		return false
	}
	for _, c := range captures {
		store(c.path, c.text)
	}
	return true
}

// Find returns t's sentence if text contains it.
func (t *Template) Find(text string) (sentence string, ok bool) {
	if len(t.Parts) == 0 {
		return "", false
	}
	first, last := t.Parts[0], t.Parts[len(t.Parts)-1]
	from := strings.Index(text, first.Literal)
	if first.Path != nil || last.Path != nil || from < 0 {
		return "", false
	}
	if len(t.Parts) == 1 {
		return first.Literal, true
	}
	to := strings.LastIndex(text, last.Literal)
	if to <= from {
		return "", false
	}
	sentence = text[from : to+len(last.Literal)]
	return sentence, t.Match(sentence, func(*Path, string) {})
}
