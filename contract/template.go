package contract

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/strictyaml"
)

// A template is a text with placeholders: {path}, or {path|text} with a text to use if the path is empty.
// Doubled braces mean single ones.
type template struct {
	src   string
	parts []part
}

// A part is a literal, or a placeholder if path is set.
type part struct {
	literal  string
	path     *path
	fallback string
	optional bool // it has a fallback
}

var errBraces = errors.New("has a brace without its partner")

// compileTemplate parses src; resolve returns what a placeholder addresses.
func compileTemplate(src string, resolve func(name string) (*path, error)) (*template, error) {
	t := &template{src: src}
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			t.parts = append(t.parts, part{literal: literal.String()})
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
		t.parts = append(t.parts, part{path: p, fallback: fallback, optional: optional})
		rest = rest[i+end+1:]
	}
	flush()
	return t, nil
}

// constant reports whether t has no placeholder.
func (t *template) constant() bool {
	for _, p := range t.parts {
		if p.path != nil {
			return false
		}
	}
	return true
}

// literal returns the text of a template that has no placeholders.
func (t *template) literal() string {
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.literal)
	}
	return b.String()
}

// fixed returns the total length of the literals.
func (t *template) fixed() int {
	n := 0
	for _, p := range t.parts {
		n += len(p.literal)
	}
	return n
}

// says reports whether t has enough words of its own that a matching text probably comes from it.
func (t *template) says() bool {
	const few = 12
	return len(t.literal()) > few
}

// only returns the placeholder that makes up t, or nil.
func (t *template) only() *path {
	if len(t.parts) == 1 && !t.parts[0].optional {
		return t.parts[0].path
	}
	return nil
}

// frames reports whether t puts text around the sentence.
func (t *template) frames() bool { return t.names(memberMessage) || t.names(pathGiven) }

// names reports whether t has a placeholder for that path.
func (t *template) names(src string) bool {
	for _, p := range t.parts {
		if p.path != nil && p.path.src == src {
			return true
		}
	}
	return false
}

// render fills t in; ok is false if a placeholder without a fallback is empty.
func (t *template) render(s *subject) (text string, ok bool) {
	if len(t.parts) == 1 && t.parts[0].path == nil {
		return t.parts[0].literal, true
	}
	var b strings.Builder
	for _, p := range t.parts {
		if p.path == nil {
			b.WriteString(p.literal)
			continue
		}
		v := p.path.get(s, s.base())
		switch {
		case v.IsValid():
			b.WriteString(textOf(v))
		case p.optional:
			b.WriteString(p.fallback)
		default:
			return "", false
		}
	}
	return b.String(), true
}

// match parses a text that t may have written, and calls store with the text of each placeholder. A literal
// between placeholders is searched for from the left; a literal at the end must end the text.
func (t *template) match(text string, store func(p *path, text string)) bool {
	type capture struct {
		path *path
		text string
	}
	var captures []capture
	for i := range t.parts {
		p := t.parts[i]
		if p.path == nil {
			rest, ok := strings.CutPrefix(text, p.literal)
			if !ok {
				return false
			}
			text = rest
			continue
		}
		end := len(text)
		if i+1 < len(t.parts) {
			next := t.parts[i+1]
			switch {
			case next.path != nil:
				return false // two adjacent placeholders cannot be told apart
			case i+2 == len(t.parts):
				end = len(text) - len(next.literal)
			case p.path.isSentence(): // it can contain anything, including the literal after it
				end = strings.LastIndex(text, next.literal)
			default:
				end = strings.Index(text, next.literal)
			}
			if end < 0 {
				return false
			}
		}
		if !p.optional || text[:end] != p.fallback {
			captures = append(captures, capture{p.path, text[:end]})
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

// find returns t's sentence if text contains it.
func (t *template) find(text string) (sentence string, ok bool) {
	if len(t.parts) == 0 {
		return "", false
	}
	first, last := t.parts[0], t.parts[len(t.parts)-1]
	from := strings.Index(text, first.literal)
	if first.path != nil || last.path != nil || from < 0 {
		return "", false
	}
	if len(t.parts) == 1 {
		return first.literal, true
	}
	to := strings.LastIndex(text, last.literal)
	if to <= from {
		return "", false
	}
	sentence = text[from : to+len(last.literal)]
	return sentence, t.match(sentence, func(*path, string) {})
}

func (k *compiler) template(n *strictyaml.Node) *template {
	return k.templateOn(n, contractform.RecordType)
}

func (k *compiler) templateOn(n *strictyaml.Node, on reflect.Type) *template {
	return k.templateOf(n, func(name string) (*path, error) { return compilePath(name, on) })
}

func (k *compiler) templateOf(n *strictyaml.Node, resolve func(name string) (*path, error)) *template {
	var text string
	if n.Decode(&text) != nil {
		return &template{}
	}
	t, err := compileTemplate(text, resolve)
	switch {
	case errors.Is(err, errBraces):
		k.mistakef(n, "write {path}, and a brace that stands for itself twice", "%s", err)
		return &template{}
	case err != nil:
		name, _, _ := strings.Cut(err.Error(), " ")
		k.mistakef(n, pathHint(name), "%s", err)
		return &template{}
	}
	for _, p := range t.parts {
		if p.path != nil {
			k.saw(p.path)
		}
	}
	return t
}

// templates reads one template or a list of them.
func (k *compiler) templates(n *strictyaml.Node) []*template {
	var list []*template
	for _, item := range items(n) {
		list = append(list, k.template(item))
	}
	return list
}
