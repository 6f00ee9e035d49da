package redact

import (
	_ "embed"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// forms.txt lists credentials that are known by how they look, each with the page
// that documents it.
//
//go:embed forms.txt
var formsText string

// A form is a credential that is recognised by its looks.
type form struct {
	name   string
	begin  []string // what it begins with; nil: it is searched for as a whole
	holds  []string // what it contains; nil: anything
	sure   bool     // it need not look random
	long   bool     // it may have several lines
	source string
	expr   func() *regexp.Regexp
	least  func() int        // length in bytes of the shortest text that expr matches
	run    func() *[256]bool // expr is a run of these bytes that is at least so long; nil: it is not
}

// maxForm is how many bytes after its beginning are compared with a form. A longer credential is masked to its end. If
// it has several lines, maxKey counts.
const (
	maxForm = 512
	maxKey  = 4 << 10
)

// How many bytes around what a form contains are examined.
const (
	beforeHold = 96
	behindHold = 160
)

// A formIndex holds the forms by the first byte of their beginnings.
type formIndex struct {
	begins [256][]beginning
	whole  []*form
}

type beginning struct {
	text string
	form *form
}

// knownForms returns the forms, which are parsed on first use.
var knownForms = sync.OnceValue(func() *formIndex {
	index := &formIndex{}
	for _, f := range parseForms(formsText) {
		if f.begin == nil {
			index.whole = append(index.whole, f)
		}
		for _, text := range f.begin {
			index.begins[text[0]] = append(index.begins[text[0]], beginning{text, f})
		}
	}
	for _, list := range index.begins { // the longest first
		slices.SortStableFunc(list, func(a, b beginning) int { return len(b.text) - len(a.text) })
	}
	return index
})

var fieldGap = regexp.MustCompile(` {2,}`)

// parseForms parses the language that forms.txt describes.
func parseForms(text string) []*form {
	var forms []*form
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		fields := fieldGap.Split(line, -1)
		f := &form{name: fields[0], source: fields[3]}
		begin, expr := fields[1], fields[2]
		begin, f.sure = strings.CutPrefix(begin, "!")
		if !strings.HasPrefix(begin, "~") {
			f.begin = strings.Split(begin, "|")
			expr = "^(?:" + expr + ")"
		} else if begin != "~" {
			for holds := range strings.SplitSeq(begin, "|") {
				f.holds = append(f.holds, holds[1:])
			}
		}
		f.long = strings.Contains(expr, `\s`) && f.begin != nil && !strings.Contains(expr, `[^\s`)
		f.expr = lazily(expr)
		f.least = sync.OnceValue(func() int { return shortest(expr) })
		f.run = sync.OnceValue(func() *[256]bool { return runOf(expr) })
		forms = append(forms, f)
	}
	return forms
}

// shortest returns the length in bytes of the shortest text that a pattern matches.
func shortest(expr string) int {
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return 0
	}
	return shortestOf(parsed.Simplify())
}

// runForm is a pattern such as ^(?:[a-z]{16,}). What is outside of a class may be beyond ASCII.
var runForm = lazily(`^\^\(\?:(\[[^\^\]\\](?:[^\]\\]|\\.)*\])\{\d+,\}\)$`)

// runOf returns the bytes of such a pattern, or nil.
func runOf(expr string) *[256]bool {
	match := runForm().FindStringSubmatch(expr)
	if match == nil {
		return nil
	}
	of, class := new([256]bool), regexp.MustCompile(match[1])
	for c := range byte(utf8.RuneSelf) {
		of[c] = class.MatchString(ascii[c : c+1])
	}
	return of
}

// match returns the end of what a pattern matches at the beginning of s.
func (f *form) match(s string) (end int, ok bool) {
	if of := f.run(); of != nil {
		for end < len(s) && of[s[end]] {
			end++
		}
		return end, end >= f.least()
	}
	match := f.expr().FindStringIndex(s)
	if match == nil {
		return 0, false
	}
	return match[1], true
}

func shortestOf(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpCapture, syntax.OpPlus:
		return shortestOf(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min * shortestOf(re.Sub[0])
	case syntax.OpConcat:
		sum := 0
		for _, sub := range re.Sub {
			sum += shortestOf(sub)
		}
		return sum
	case syntax.OpAlternate:
		least := shortestOf(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			least = min(least, shortestOf(sub))
		}
		return least
	default:
		return 0
	}
}

// formed finds credentials that are recognised by their looks.
func formed(s string) []span {
	var found []span
	for i := 0; i < len(s); i++ {
		if ofWords[s[i]] && i > 0 && ofWords[s[i-1]] && !escapedBefore(s, i) {
			continue
		}
		if end, ok := formAt(s, i); ok {
			found = append(found, span{i, end})
			i = end - 1
		}
	}
	for _, f := range knownForms().whole {
		switch {
		case f.holds == nil && len(s) >= bareKey:
			found = append(found, bareKeys(s)...)
		case f.holds != nil:
			found = append(found, f.around(s)...)
		}
	}
	return found
}

// formAt returns the end of the credential that begins at a position.
func formAt(s string, i int) (end int, ok bool) {
	for _, b := range knownForms().begins[s[i]] {
		if strings.HasPrefix(s[i:], b.text) {
			if end, ok := b.form.at(s, i, i+len(b.text)); ok {
				return end, true
			}
		}
	}
	return 0, false
}

// at returns the end of a form that begins at begin; start is where its beginning ends.
func (f *form) at(s string, begin, start int) (end int, ok bool) {
	if least := f.least(); skip(s, start, least, func(c byte) bool { return c > ' ' || f.long }) < start+least {
		return 0, false
	}
	most := maxForm
	if f.long {
		most = maxKey
	}
	size, ok := f.match(s[start:min(len(s), start+most)])
	end = start + size
	if !ok || !f.sure && !random(s[begin:end]) {
		return 0, false
	}
	for size == most && end < len(s) && (isToken(s[end]) || f.long && isSpace(s[end])) {
		end++
	}
	return end, true
}

// around finds a form by a text in the middle of it.
func (f *form) around(s string) []span {
	if f.holds[0] == "#" {
		return f.afterHex(s)
	}
	var found []span
	next := make([]int, len(f.holds)) // where each of them stands next
	for i := range next {
		next[i] = -1
	}
	done := 0 // the text before it has been examined
	for at := 0; ; {
		for i, hold := range f.holds {
			if next[i] < at {
				next[i] = len(s)
				if n := strings.Index(s[at:], hold); n >= 0 {
					next[i] = at + n
				}
			}
		}
		if at = slices.Min(next); at == len(s) {
			return found
		}
		start, end := max(done, at-beforeHold), min(len(s), at+behindHold)
		for start > done && start < at && isToken(s[start-1]) && isToken(s[start]) { // not inside a word
			start++
		}
		at++
		if match := f.expr().FindStringIndex(s[start:end]); match != nil {
			done = start + match[1]
			for done == end && done < len(s) && isToken(s[done]) {
				done++
				end++
			}
			at = max(at, done)
			if !isIdentifier(s[start+match[0] : done]) {
				found = append(found, span{start + match[0], done})
			}
		}
	}
}

// hexKeys finds the forms that begin with hexadecimal digits.
func hexKeys(s string) []span {
	var found []span
	for _, f := range knownForms().whole {
		if len(f.holds) > 0 && f.holds[0] == "#" {
			found = append(found, f.afterHex(s)...)
		}
	}
	return found
}

// hexKey is how many hexadecimal digits they begin with.
const hexKey = 32

// afterHex finds the form where it begins with hexadecimal digits.
func (f *form) afterHex(s string) []span {
	var found []span
	runs(s, hexKey, &ofHex, func(start, end int) {
		if end-start != hexKey || end == len(s) || s[end] != '-' || start > 0 && isWord(s[start-1]) {
			return
		}
		if len(found) > 0 && start < found[len(found)-1].end {
			return
		}
		if match := matchAt(f.expr(), s, start); match != nil {
			found = append(found, span{start, match[1]})
		}
	})
	return found
}

// ofHex are the hexadecimal digits.
var ofHex = setOf("0123456789abcdef")

// runs calls visit with each run of such bytes that is at least so long. It looks at every byte only of these.
func runs(s string, least int, of *[256]bool, visit func(start, end int)) {
	done := 0
	for at := least - 1; at < len(s); at += least {
		if !of[s[at]] {
			continue
		}
		start, end := back(s, at, done, of), at+1
		for end < len(s) && of[s[end]] {
			end++
		}
		if end-start >= least {
			visit(start, end)
		}
		done = end
		at = max(at, end-1)
	}
}

// escapedBefore reports whether the letter before i belongs to an escape, such as the n of
// .
func escapedBefore(s string, i int) bool {
	return i > 1 && s[i-2] == '\\' && strings.IndexByte("nrt", s[i-1]) >= 0
}

// bareKey is the length of a secret access key of AWS. Only its mixture of characters distinguishes it from other
// words.
const bareKey = 40

// bareKeys finds words of exactly that length that mix upper case, lower case and digits as only random ones do.
func bareKeys(s string) []span {
	var found []span
	runs(s, bareKey, &ofBase64, func(start, end int) {
		if end-start == bareKey && (end == len(s) || s[end] != '=') && isMixed(s[start:end]) {
			found = append(found, span{start, end})
		}
	})
	return found
}

// ofBase64 are the characters of base64.
var ofBase64 = setThat(func(c byte) bool { return isDigit(c) || isLetter(c) || c == '+' || c == '/' })

// isMixed reports whether a word changes between upper case, lower case and digits as often as a random one: some 24 times in 40
// characters, and seldom less than 16 times. A path of that length changes less often.
func isMixed(s string) bool {
	var seen [256]bool
	distinct, changes, digits, capitals, small, before := 0, 0, 0, 0, 0, byte(0)
	for i := range len(s) {
		sort := byte('a')
		switch c := s[i]; {
		case c == '/' || c == '+':
			sort = before
		case isDigit(c):
			sort = '0'
			digits++
		case 'A' <= c && c <= 'Z':
			sort = 'A'
			capitals++
		default:
			small++
		}
		if sort != before {
			changes++
		}
		before = sort
		if !seen[s[i]] {
			seen[s[i]] = true
			distinct++
		}
	}
	return digits > 0 && capitals > 1 && small > 1 && changes >= len(s)/3 && distinct >= len(s)/3
}

func isToken(c byte) bool { return isWord(c) || strings.IndexByte("-.+/=~%", c) >= 0 }
