package wild

import (
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// A phrase is a text, possibly with placeholders, that is looked for inside another one. Case does not
// matter.
type phrase struct {
	parts []phrasePart // literals and places alternate
	key   int          // index of the literal that is searched for
	fixed int          // total length of the literals
	exact string       // if set, the only spelling that matches
}

// A phrasePart is a literal in lower case, or a place.
type phrasePart struct {
	literal string
	place   *place
}

// A place is a placeholder in a form. Without a path, its text is skipped.
type place struct {
	path  *language.Path
	class class
}

// Paths of places that are not members of the record.
const (
	placeAny   = "*"     // anything, and not kept
	placeWords = "words" // a few words of one sentence, not kept
	placeNames = "names" // names below the parameter of a violation; each becomes a violation
	placeAfter = "after" // a wait, as people and programs write it
	placeAt    = "at"    // the point in time when to call again
)

// A class is the set of texts that a place accepts.
type class int

const (
	classAny    class = iota // anything on one line
	classWords               // a few words of one sentence
	className                // a parameter or an identifier
	classCode                // a word
	classNames               // names in a row
	classStatus              // an HTTP status of 400 or more
	classNumber
	classWait
	classTime
)

const (
	// maxPlace limits the text at a place, maxWords at a place for a few words. Both are in bytes.
	maxPlace = 512
	maxWords = 80
)

// newPlace resolves the path of a place.
func newPlace(name string, on reflect.Type) (*language.Path, error) {
	anywhere := name == placeAny || name == placeWords
	if anywhere || name == placeNames && on == violationType || name == placeAt && on == contractform.RecordType {
		return &language.Path{Src: name}, nil
	}
	return language.CompilePath(name, on)
}

var violationType = reflect.TypeFor[recourse.Violation]()

// classOf returns the class for a path.
func classOf(p *language.Path) class {
	last := p.Src[strings.LastIndexByte(p.Src, '.')+1:]
	switch {
	case p.Src == placeWords:
		return classWords
	case p.Src == placeNames:
		return classNames
	case p.Src == placeAfter:
		return classWait
	case p.Src == placeAt:
		return classTime
	case p.Src == string(language.AfterSeconds), p.Src == "afterMs":
		return classNumber
	case p.Src == "upstream.status":
		return classStatus
	case p.Src == "upstream.code", last == "requestId", last == "rule":
		return classCode
	case last == "param", last == "pointer", p.Src == "resource.id", p.Src == "resource.type":
		return className
	default:
		return classAny
	}
}

// takes reports whether a place of that class accepts text.
func (c class) takes(text string) bool {
	switch c {
	case classAny, classNames:
		return len(text) <= maxPlace && !strings.ContainsAny(text, "\r\n")
	case classWords:
		return text != "" && len(text) <= maxWords && !strings.ContainsAny(text, "\r\n;") && !strings.Contains(text, ". ") &&
			!strings.Contains(text, ": ")
	case classWait:
		_, n := spelledWait(text)
		return n > 0 && n == len(text)
	case classTime:
		_, n := spelledTime(text, time.Time{})
		return n > 0 && n == len(text)
	case classStatus:
		return len(text) == 3 && (text[0] == '4' || text[0] == '5') && span(text, isNumberByte) == 3
	default:
		return text != "" && len(text) <= maxPlace && span(text, c.has) == len(text)
	}
}

// has reports whether a byte can occur in a text of the class.
func (c class) has(b byte) bool {
	alphanumeric := b >= '0' && b <= '9' || isLetterByte(b) || b == '_' || b >= 0x80
	switch c {
	case className:
		return alphanumeric || strings.IndexByte("-.$[]/#@:", b) >= 0
	case classCode:
		return alphanumeric || strings.IndexByte("-.:#/", b) >= 0
	case classStatus:
		return b >= '0' && b <= '9'
	case classNumber:
		return isNumberByte(b)
	default:
		return b != '\n' && b != '\r'
	}
}

// head returns how much of the start of text belongs to a place at the end of a phrase.
func (c class) head(text string) int {
	switch c {
	case classWait:
		_, n := spelledWait(text)
		return n
	case classTime:
		_, n := spelledTime(text, time.Time{})
		return n
	case classNames:
		return len(reNameList.FindString(text))
	default:
	}
	n := min(span(text, c.has), maxPlace)
	if c == classAny {
		return n
	}
	n = len(strings.TrimRight(text[:n], ".:,;"))
	if c == classStatus && (n != 3 || n < len(text) && isLetterByte(text[n])) || !c.takes(text[:n]) {
		return 0
	}
	return n
}

var reNameList = regexp.MustCompile("^[\"'`\\[]*[\\w$.-]*[\\w$][\"'`\\]]*(?:(?:,? and |, ?)[\"'`]?[\\w$.-]*[\\w$][\"'`\\]]*)*")

// tail does the same for the end of a text in front of a phrase.
func (c class) tail(text string) int {
	n := 0
	for n < len(text) && n < maxPlace && c.has(text[len(text)-1-n]) {
		n++
	}
	if n == 0 || c != classAny && !c.takes(text[len(text)-n:]) || c == classStatus && n < len(text) && isLetterByte(text[len(text)-n-1]) {
		return 0
	}
	return n
}

// A capture is the text found at a place.
type capture struct {
	at   *place
	text string
}

// match takes text apart, with the key at the given position. It returns where the phrase begins and ends;
// end is 0 if text does not match.
func (p *phrase) match(text string, at int, captures []capture) (found []capture, start, end int) {
	key := p.parts[p.key].literal
	start, end = at, at+len(key)
	for i := p.key - 1; i >= 0; i -= 2 {
		here := p.parts[i].place
		if i == 0 {
			n := here.class.tail(text[:start])
			if n == 0 && here.class != classAny {
				return nil, 0, 0
			}
			captures = append(captures, capture{here, text[start-n : start]})
			start -= n
			break
		}
		literal := p.parts[i-1].literal
		from := max(0, start-maxPlace-len(literal))
		before := lastIndexFold(text[from:start], literal)
		if before < 0 || !here.class.takes(text[from+before+len(literal):start]) {
			return nil, 0, 0
		}
		captures = append(captures, capture{here, text[from+before+len(literal) : start]})
		start = from + before
	}
	for i := p.key + 1; i < len(p.parts); i += 2 {
		here := p.parts[i].place
		if i == len(p.parts)-1 {
			n := here.class.head(text[end:])
			if n == 0 && here.class != classAny {
				return nil, 0, 0
			}
			captures = append(captures, capture{here, text[end : end+n]})
			end += n
			break
		}
		n := here.class.before(text[end:], p.parts[i+1].literal)
		if n < 0 {
			return nil, 0, 0
		}
		captures = append(captures, capture{here, text[end : end+n]})
		end += n + len(p.parts[i+1].literal)
	}
	if p.parts[0].place == nil && !isBoundary(text, start) || p.parts[len(p.parts)-1].place == nil && !isBoundary(text, end) ||
		p.exact != "" && text[start:end] != p.exact {
		return nil, 0, 0
	}
	return captures, start, end
}

// maxTries limits how often a literal is searched for after a place.
const maxTries = 8

// before returns the length of the text at a place before the next literal, or -1 if there is none.
func (c class) before(text, literal string) int {
	text = text[:min(len(text), maxPlace+len(literal))]
	from := 0
	for range maxTries {
		n := indexFold(text[from:], literal)
		if n < 0 {
			return -1
		}
		if c.takes(text[:from+n]) {
			return from + n
		}
		from += n + 1
	}
	return -1
}

// isBoundary reports whether a word can begin or end at that position.
func isBoundary(text string, at int) bool {
	isWord := func(i int) bool {
		b := text[i]
		return b >= '0' && b <= '9' || isLetterByte(b) || b == '_'
	}
	return at <= 0 || at >= len(text) || !isWord(at-1) || !isWord(at)
}

// phrase reads a template for a phrase.
func (k *compiler) phrase(n *strictyaml.Node, on reflect.Type) *phrase {
	t := k.TemplateOf(n, func(name string) (*language.Path, error) { return newPlace(name, on) })
	if len(t.Parts) == 0 {
		return nil
	}
	p := &phrase{key: -1}
	for i, part := range t.Parts {
		switch {
		case part.Path == nil:
			p.parts = append(p.parts, phrasePart{literal: folded(part.Literal)})
			p.fixed += len(part.Literal)
			if p.key < 0 || len(part.Literal) > len(p.parts[p.key].literal) {
				p.key = i
			}
		case i > 0 && t.Parts[i-1].Path != nil:
			k.Mistakef(n, "put a text between them", "two placeholders side by side cannot be told apart when it is read")
			return nil
		case part.Path.Src == placeWords && (i == 0 || i == len(t.Parts)-1):
			k.Mistakef(n, "put a text before and after it, or write {*}", "{words} stands between two texts")
			return nil
		default:
			p.parts = append(p.parts, phrasePart{place: &place{part.Path, classOf(part.Path)}})
		}
	}
	if p.key < 0 || on == contractform.RecordType && len(p.parts[p.key].literal) < gramSize {
		k.Mistakef(n, "say more of the text", "a text needs four characters in a row that are fixed")
		return nil
	}
	return p
}
