package redact

import (
	"regexp"
	"strings"
	"sync"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// A writing is a way to write a secret that has no sign of its own between name and value.
type writing struct {
	holds []string // one of them is in every text of that kind
	// may tells at small cost, from the text on both sides of what it holds, whether it can be one, which then begins on
	// this line and ends on this or the next two. nil: anything can, and may have more lines.
	may  func(before, behind string) bool
	expr func() *regexp.Regexp
	// The groups of expr are the name and the value, or the value alone; wanted decides.
	wanted func(name, value string) bool
}

// writings are lists of arguments, parts of forms, statements of SQL, arrows, and keys in JSON (RFC 7517).
var writings = []writing{
	{
		[]string{`"-`, `'-`},
		beginsOption,
		lazily(`["']--?([A-Za-z][\w\-]{1,60})\\?["']\s{0,4},\s{0,4}\\?["']([^"'\\\n]+)`), namesSecret,
	},
	{[]string{"form-data"}, nil, lazily(`(?i)form-data;[^\n]{0,200}?\bname="?([\w.\-\[\]]{1,80})"?[^\n]{0,200}\r?\n` +
		`(?:[^\r\n]{1,200}\r?\n){0,4}\r?\n([^\r\n]+)`), namesSecret},
	{[]string{"dentified", "DENTIFIED"}, nil, lazily(`(?i)\bidentified\s{1,4}(?:with\s{1,4}\S{1,80}\s{1,4})?` +
		`(?:by|as)\s{1,4}(?:password\s{1,4})?['"]([^'"\n]+)`), nil},
	{[]string{"assword(", "assword (", "ASSWORD(", "ASSWORD ("}, nil, lazily(`(?i)\bpassword ?\(\s{0,4}['"]([^'"\n]+)`), nil},
	{
		[]string{"->", "→", "⇒", "⟶"},
		pointsAt,
		lazily(`([A-Za-z][\w.\-]{2,60})["'\]]{0,2}[ \t]{0,4}(?:->|[→⇒⟶])[ \t]{0,4}["']?([^\s"',;()]{4,})`), func(
			name, value string,
		) bool {
			return namesSecret(name, value) && strings.ContainsAny(value, "0123456789") && !strings.ContainsAny(value, ".:[")
		},
	},
	{[]string{"kty"}, nil, lazily(`(?m)(?:^|[\s{,"'(])(?:d|p|q|dp|dq|qi|k)\\?["']?\s{0,4}[:=]\s{0,4}` +
		`\\?["']?([A-Za-z0-9_\-]{20,})`), nil},
}

// otherWords begin what a line holds in those writings that do not name a secret, unless it is an option in quotes.
var otherWords = newWords(
	"identified", "kty", "login", "net use", "auth", "pragma", "sqlplus",
	"reset", "verif", "invit", "magic", "activat", "confirm", "recover",
)

func namesSecret(name, value string) bool {
	return secret.Name(name) && !isMark(value) && !saysNothing(value) && !isPlaceholder(value)
}

// written finds the secrets so written.
func written(s string) []span { return append(writtenAs(s, writings), writtenAs(s, otherWritings)...) }

func writtenNear(s string) []span { return writtenAs(s, nearWritings) }

// writtenAs finds the secrets in one of these writings.
func writtenAs(s string, list []writing) []span {
	const some = 200 // bytes that tell what a value is, whatever it goes on with
	var found []span
	stands := make([]bool, len(list))
	writingsIn(s, 0, len(s), func(held *heldText, _ int) bool {
		for i := range list {
			stands[i] = stands[i] || held.of == &list[i]
		}
		return true
	})
	for i := range list {
		of := &list[i]
		if !stands[i] {
			continue
		}
		for _, part := range of.parts(s) {
			text := s[part.start:part.end]
			for _, m := range of.expr().FindAllStringSubmatchIndex(text, -1) {
				value := span{m[len(m)-2], m[len(m)-1]}
				name, all := text[m[2]:m[3]], text[value.start:value.end]
				if of.wanted == nil && !isMark(all) || of.wanted != nil && (of.wanted(name, all) || of.wanted(name, firstOf(all, some))) {
					found = append(found, span{part.start + value.start, part.start + value.end})
				}
			}
		}
	}
	return found
}

// isWritten reports whether a line that mentions a secret may have one that is so written.
func isWritten(line string) (is bool) {
	writingsIn(line, 0, len(line), func(held *heldText, at int) bool {
		is = held.of.holdsAt(line, at, held.text)
		return !is
	})
	return is
}

// writingsIn calls visit with each text of a writing that begins from start up to end, in any case, until it returns false.
func writingsIn(s string, start, end int, visit func(held *heldText, at int) bool) {
	held, head := heldTexts(), 0
	for i := start; i <= len(s) && i-2 < end; i++ {
		head = head << 5 % len(held.heads)
		if i < len(s) {
			head |= int(s[i] & 0x1f)
		}
		at := i - 2
		if !held.heads[head] || at < start {
			continue
		}
		for j := range held.groups[head>>5] {
			if text := &held.groups[head>>5][j]; hasPrefixFold(s[at:], text.lower) && !visit(text, at) {
				return
			}
		}
	}
}

// A heldText is a text that a writing holds.
type heldText struct {
	text, lower string
	of          *writing
	near        bool // only where a secret is mentioned
}

// A heldIndex has them by the hash of their first two bytes, and tells which three bytes they begin with.
type heldIndex struct {
	heads  [1 << 15]bool
	groups [1 << 10][]heldText
}

var heldTexts = sync.OnceValue(func() *heldIndex {
	held := &heldIndex{}
	for n, list := range [...][]writing{nearWritings, writings, otherWritings} {
		for i := range list {
			for _, text := range list[i].holds {
				held.add(heldText{text, strings.ToLower(text), &list[i], n == 0})
			}
		}
	}
	return held
})

// add adds a text. Less than three bytes are followed by any.
func (h *heldIndex) add(text heldText) {
	head, more := 0, 1
	for i := range 3 {
		head <<= 5
		if i < len(text.lower) {
			head |= int(text.lower[i] & 0x1f)
		} else {
			more <<= 5
		}
	}
	for ; more > 0; more-- {
		h.heads[head] = true
		if group := &h.groups[head>>5]; len(*group) == 0 || (*group)[len(*group)-1] != text {
			*group = append(*group, text)
		}
		head++
	}
}

// holdsAt reports whether it may be where one of its texts stands.
func (of *writing) holdsAt(s string, at int, text string) bool {
	return strings.HasPrefix(s[at:], text) && (of.may == nil || of.may(s[:at], s[at+len(text):]))
}

// parts returns where the pattern is tried: where it can be, or in the lines that hold one of its texts, and those around them.
func (of *writing) parts(s string) []span {
	if of.may != nil {
		return of.lines(s)
	}
	t := &text{s: s}
	for start := 0; start < len(s); {
		next := min(endOfLine(s, start)+1, len(s))
		if holdsOne(s[start:next], of.holds) {
			t.add(passage{span{start, next}, aWriting})
		}
		start = next
	}
	return t.parts(aWriting, near)
}

// lines returns the lines where it can be, each with the next two.
func (of *writing) lines(s string) []span {
	var found []span
	for _, text := range of.holds {
		first, done := len(found), 0
		for at := range places(s, text) {
			if at < done || !of.may(s[:at], s[at+len(text):]) {
				continue
			}
			done = after(s, at+len(text), 1)
			p := span{strings.LastIndexByte(s[:at], '\n') + 1, after(s, done, 2)}
			if last := len(found) - 1; last >= first && p.start <= found[last].end {
				found[last].end = p.end
			} else {
				found = append(found, p)
			}
		}
	}
	return found
}

// beginsOption reports whether a dash in a quote may begin an option.
func beginsOption(_, behind string) bool {
	behind = strings.TrimPrefix(behind, "-")
	return behind != "" && isLetter(behind[0])
}

// pointsAt reports whether an arrow may lead from a name to a secret.
func pointsAt(before, behind string) bool {
	const longest, longestValue = 61, 1000
	before = strings.TrimRight(before, " \t\"']")
	start := back(before, len(before), max(0, len(before)-longest), &ofHosts)
	if !secret.Name(before[start:]) {
		return false
	}
	value := strings.TrimLeft(behind, " \t\"'")
	value = value[:min(len(value), longestValue)]
	return strings.ContainsAny(value[:indexOr(value, " \t\n\r\"',;()")], "0123456789")
}

func holdsOne(s string, texts []string) bool {
	for _, text := range texts {
		if strings.Contains(s, text) {
			return true
		}
	}
	return false
}
