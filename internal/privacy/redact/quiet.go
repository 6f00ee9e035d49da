package redact

import (
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/secret"
	"github.com/recoursehq/recourse/internal/privacy/visible"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/lexer"
)

// A quietPart is a part of a JSON text within a text in which there is nothing, neither for those who read JSON nor for a finder that reads
// the text as it is written, nor anything that could belong to something beside it. Most lines of a log in JSON are such parts.
type quietPart struct {
	span

	folds    bool // there is a spelling in it
	mentions bool // a name in it is one that secrets have
}

// quietParts finds them.
type quietParts struct {
	m     *Masker
	found []quietPart
	loud  bool                 // the last token is in none
	names map[string]quietName // some
	texts [1 << 6]string       // values in which nothing is, and no spelling, by a hash
	plain []byte               // memory for a text without escapes
}

// A quietName is what is known of members of a name.
type quietName struct {
	kind     secret.Kind
	quiet    bool // nothing is in the name
	mentions bool // but a word that names of secrets have
	joins    bool // the value may be read together with others, or decoded
}

// read notes the quiet parts of the JSON text that begins at start, moved by shift. It returns the size of a text that is quiet as a whole,
// else 0.
func (q *quietParts) read(s string, raw []byte, start, shift int) (size int) {
	const few = 9 // bytes of a number that is not one of anything
	var lex lexer.Lexer
	var name quietName
	known, all, begin := len(q.found), true, -1 // of the name before a value
	for q.loud = true; ; {
		token, _ := lex.Next(raw[start+lex.Pos:])
		from, to, quiet, folds := start+lex.Start, start+lex.Pos, true, false
		switch token { //nolint:exhaustive // the others are quiet
		case lexer.Failed, lexer.More:
			q.found = q.found[:known]
			return 0
		case lexer.Name:
			name, begin = q.named(s[from+1:to-1], lex.Escaped), from
			continue
		case lexer.String:
			text := s[from+1 : to-1]
			if !lex.InObject() {
				name = quietName{joins: q.m.literals != nil || !isWordOf(text)}
			}
			quiet, folds = q.isQuiet(text, raw[start+lex.Start:start+lex.Pos], name.kind, lex.Escaped)
			all = all && !name.joins
		case lexer.Number:
			quiet = to-from <= few
		}
		part := quietPart{span{from + shift, to + shift}, folds, false}
		if begin >= 0 && !name.quiet {
			all, q.loud = false, true
		} else if begin >= 0 {
			part.start, part.mentions = begin+shift, name.mentions
		}
		all, begin = all && quiet, -1
		q.note(part, quiet)
		if token == lexer.End && lex.Depth == 0 {
			break
		}
	}
	if !all {
		return 0
	}
	return lex.Pos
}

// note notes a token.
func (q *quietParts) note(part quietPart, quiet bool) {
	switch {
	case quiet && q.loud:
		q.found = append(q.found, part)
	case quiet:
		last := &q.found[len(q.found)-1]
		last.end, last.folds, last.mentions = part.end, last.folds || part.folds, last.mentions || part.mentions
	}
	q.loud = !quiet
}

// named returns what is known of members of a name.
func (q *quietParts) named(name string, escaped bool) quietName {
	const some, longest = 64, 80
	known, ok := q.names[name]
	if ok || escaped || len(name) > longest || indexOfSet(name, &outsideNames) < len(name) {
		return known
	}
	known.kind = secret.Of(name)
	known.joins = name == "text" || name == "blob" || name == "data"
	if (known.kind == secret.Harmless || known.kind == secret.Maybe) && q.m.markOf(name, known.kind) == "" && !q.m.hasLiteral(name) {
		holds, d := q.m.glance(name)
		known.quiet, known.mentions = holds == 0 && !d.begun, d.mention >= 0
	}
	if q.names == nil {
		q.names = map[string]quietName{}
	}
	if len(q.names) < some {
		q.names[name] = known
	}
	return known
}

// outsideNames are bytes that no part of a name is, as finders read it.
var outsideNames = setThat(func(c byte) bool { return !ofWords[c] && c != '-' && c != '.' })

// isQuiet reports whether nothing is in the value of a member whose name is of that kind, as it is written and as it is read, and whether
// it spells something. raw is the text in its quotes.
func (q *quietParts) isQuiet(text string, raw []byte, kind secret.Kind, escaped bool) (quiet, folds bool) {
	if text == "" {
		return true, false
	}
	known := &q.texts[(len(text)*5+int(text[0])+int(text[len(text)-1])*3)%len(q.texts)]
	switch {
	case kind == secret.Maybe && (escaped || isWeakValue(text)):
		return false, false
	case *known == text:
		return true, false
	case escaped:
		var err error
		q.plain, err = json.AppendUnquote(q.plain[:0], raw)
		read := string(q.plain)
		if err != nil || hasNames(read) || visible.Strip(read) != read || !q.holdsNothing(read, 0) {
			return false, false
		}
		return onlyQuotes(text) || q.holdsNothing(text, aSpelling), true
	case q.holdsNothing(text, 0):
		*known = text
		return true, false
	default:
		return q.holdsNothing(text, aFolding), true
	}
}

// onlyQuotes reports whether the only escapes in a text are those of quotes, and none follows what may be a drive.
func onlyQuotes(text string) bool {
	for at := 0; ; at += 2 {
		i := strings.IndexByte(text[at:], '\\')
		if i < 0 {
			return true
		}
		if at += i; text[at+1] != '"' || at > 0 && text[at-1] == ':' {
			return false
		}
	}
}

// holdsNothing reports whether nothing is in a text, apart from spellings of those sorts.
func (q *quietParts) holdsNothing(text string, spelled holds) bool {
	if q.m.hasLiteral(text) || isDocument(text) || q.m.markOf(text, secret.Harmless) != "" {
		return false
	}
	holds, d := q.m.glance(text)
	return holds&^spelled == 0 && d.mention < 0 && !d.begun
}
