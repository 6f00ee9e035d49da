package redact

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A view is a text with one layer of its spelling undone: percent-encoding (RFC 3986, section 2.1), the escapes of
// JSON, of programming languages and shells, HTML's character references, and characters that look like ASCII.
type view struct {
	text   string
	undone []undone
	under  *view // what this is a view of; nil: the original
}

// undone is a spelling: where it begins in the original and in the view, and how many bytes it has there. Some texts have very many.
type undone struct {
	from, in   int32
	fromN, inN uint16
}

// viewOf returns the view of s; ok is false when there is nothing to undo.
func viewOf(s string) (v view, ok bool) {
	var b []byte
	done := 0
	for i := 0; i < len(s); {
		if !mayBeSpelled[s[i]] {
			i++
			continue
		}
		text, size := unspell(s[i:])
		if size == 0 {
			i++
			continue
		}
		if b == nil {
			b = make([]byte, 0, len(s))
		}
		if len(v.undone) == cap(v.undone) {
			v.undone = slices.Grow(v.undone, len(v.undone)+1)
		}
		b = append(b, s[done:i]...)
		v.undone = append(v.undone, undone{int32(i), int32(len(b)), uint16(size), uint16(len(text))})
		b = append(b, text...)
		i += size
		done = i
	}
	if b == nil {
		return view{}, false
	}
	v.text = string(append(b, s[done:]...))
	return v, true
}

// changed returns the text of the view, of which only the lines are looked at that differ from the original, with two around them.
func (v *view) changed() *text {
	const around = 2
	t := &text{s: v.text}
	for _, u := range v.undone {
		t.addLines(span{int(u.in), int(u.in) + int(u.inN)})
	}
	t.widen(around)
	return t
}

// deeper returns the view of a view.
func (v *view) deeper() (deeper view, ok bool) {
	deeper, ok = viewOf(v.text)
	deeper.under = v
	return deeper, ok
}

// original converts a part of the view to the part of the original that it comes from.
func (v *view) original(p span) span {
	p = span{v.place(p.start), v.place(p.end)}
	if v.under != nil {
		return v.under.original(p)
	}
	return p
}

// place returns where in the original a byte of the view begins.
func (v *view) place(at int) int {
	i, _ := slices.BinarySearchFunc(v.undone, at, func(u undone, at int) int {
		if int(u.in)+int(u.inN) <= at {
			return -1
		}
		return 1
	})
	// Of the spellings, i end before it.
	switch {
	case i < len(v.undone) && at >= int(v.undone[i].in):
		return int(v.undone[i].from)
	case i == 0:
		return at
	default:
		before := v.undone[i-1]
		return int(before.from) + int(before.fromN) + at - int(before.in) - int(before.inN)
	}
}

// mayBeSpelled are the bytes with which a spelling begins.
var mayBeSpelled = func() (set [256]bool) {
	for c := range set {
		set[c] = c == '%' || c == '\\' || c == '&'
	}
	for r := range lookalikes {
		set[string(r)[0]] = true
	}
	set[string(rune(wide))[0]], set[string(rune(math))[0]] = true, true
	return set
}()

// unspell returns the text that the spelling at the beginning of s means, and its length; 0 if s does not begin with
// one.
func unspell(s string) (text string, size int) {
	switch c := s[0]; {
	case c == '%':
		return unpercent(s)
	case c == '\\':
		return unescapeAt(s)
	case c == '&':
		return unreference(s)
	case c >= 0xc0 && c < 0xe0 && len(s) > 1: // two bytes
		if folded := similar[int(c&0x1f)<<6|int(s[1]&0x3f)]; folded != 0 && s[1]&0xc0 == 0x80 {
			return ascii[folded : folded+1], 2
		}
	case c >= utf8.RuneSelf:
		r, size := utf8.DecodeRuneInString(s)
		if folded := fold(r); folded != 0 {
			return ascii[folded : folded+1], size
		}
	}
	return "", 0
}

// code returns the character with that number, whose digits are of that base.
func code(digits string, base int) (text string, ok bool) {
	if skip(digits, 0, len(digits), isHexByte) < len(digits) { // an error takes time
		return "", false
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n == 0 || n > utf8.MaxRune {
		return "", false
	}
	return string(rune(n)), true
}

func unpercent(s string) (text string, size int) {
	const short, long = len("%41"), len("%u0041")
	if len(s) >= long && s[1] == 'u' {
		if text, ok := code(s[2:long], 16); ok {
			return text, long
		}
	}
	if len(s) < short || !isHexByte(s[1]) || !isHexByte(s[2]) {
		return "", 0
	}
	n, _ := strconv.ParseUint(s[1:short], 16, 8)
	return string([]byte{byte(n)}), short
}

// unescapeAt undoes an escape that begins with a backslash.
func unescapeAt(s string) (text string, size int) {
	if len(s) < 2 { //nolint:mnd // there is nothing behind it
		return "", 0
	}
	var digits int
	switch s[1] {
	case 'n', 'r':
		return "\n", 2
	case 't':
		return "\t", 2
	case 'u':
		if i := strings.IndexByte(s[:min(len(s), 12)], '}'); i > 3 && s[2] == '{' {
			if text, ok := code(s[3:i], 16); ok {
				return text, i + 1
			}
		}
		digits = 4
	case 'x':
		digits = 2
	case 'U':
		digits = 8
	default:
		if strings.IndexByte("\"'`\\/$ &@#!~*()[]{}|;<>?=:", s[1]) >= 0 {
			return s[1:2], 2
		}
		return "", 0
	}
	if len(s) < 2+digits {
		return "", 0
	}
	text, ok := code(s[2:2+digits], 16)
	if !ok {
		return "", 0
	}
	return text, 2 + digits
}

// references are HTML's names of characters that occur in secrets and around them.
var references = map[string]string{
	"quot": `"`, "apos": "'", "amp": "&", "lt": "<", "gt": ">", "nbsp": " ", "colon": ":", "equals": "=", "sol": "/", "bsol": `\`,
	"commat": "@", "num": "#", "percnt": "%", "plus": "+", "lowbar": "_", "period": ".", "excl": "!", "dollar": "$", "semi": ";",
}

func unreference(s string) (text string, size int) {
	const longest = 12
	end := strings.IndexByte(s[:min(len(s), longest)], ';')
	if end < 3 {
		return "", 0
	}
	var ok bool
	switch name := s[1:end]; {
	case name[0] != '#':
		text, ok = references[name]
	case name[1] == 'x' || name[1] == 'X':
		text, ok = code(name[2:], 16)
	default:
		text, ok = code(name[1:], 10)
	}
	if !ok {
		return "", 0
	}
	return text, end + 1
}

// lookalikes are Cyrillic and Greek letters that look like ASCII letters (Unicode UTS #39, confusables).
var lookalikes = map[rune]byte{
	'а': 'a', 'е': 'e', 'о': 'o', 'р': 'p', 'с': 'c', 'у': 'y', 'х': 'x', 'і': 'i', 'ѕ': 's', 'ј': 'j', 'ԁ': 'd', 'ԛ': 'q', 'ԝ': 'w',
	'һ': 'h', 'ո': 'n', 'ɡ': 'g', 'А': 'A', 'В': 'B', 'Е': 'E', 'К': 'K', 'М': 'M', 'Н': 'H', 'О': 'O', 'Р': 'P', 'С': 'C', 'Т': 'T',
	'У': 'Y', 'Х': 'X', 'І': 'I', 'Ѕ': 'S', 'Ј': 'J', 'ο': 'o', 'α': 'a', 'ν': 'v', 'ρ': 'p', 'ι': 'i', 'κ': 'k', 'Α': 'A', 'Β': 'B',
	'Ε': 'E', 'Ζ': 'Z', 'Η': 'H', 'Ι': 'I', 'Κ': 'K', 'Μ': 'M', 'Ν': 'N', 'Ο': 'O', 'Ρ': 'P', 'Τ': 'T', 'Υ': 'Y', 'Χ': 'X',
	'ı': 'i', 'ѡ': 'w', 'ѵ': 'v', '：': ':', '＝': '=', '“': '"', '”': '"', '„': '"', '‘': '\'', '’': '\'', '\u00a0': ' ', '\u3000': ' ',
	'–': '-', '‐': '-', '‑': '-', '∶': ':', 'ꞌ': '\'', 'ⲟ': 'o', 'ⅼ': 'l',
}

// similar are the lookalikes of most scripts, which are searched in such texts at every letter.
var similar = func() (table [0x800]byte) {
	for r, c := range lookalikes {
		if int(r) < len(table) {
			table[r] = c
		}
	}
	return table
}()

// ascii are the characters of ASCII, each at its place.
var ascii = func() string {
	var b strings.Builder
	for c := range byte(utf8.RuneSelf) {
		b.WriteByte(c)
	}
	return b.String()
}()

// Characters in another width, mathematical letters and mathematical digits (Unicode block U+1D400).
const (
	wide, widest = 0xff01, 0xff5e
	math, mathAt = 0x1d400, 0x1d6a3
	digit, last  = 0x1d7ce, 0x1d7ff
)

// fold returns the ASCII character that r looks like, or 0: in another width, as a mathematical letter or digit, or in another script.
func fold(r rune) byte {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	switch {
	case int(r) < len(similar):
		return similar[r]
	case r >= wide && r <= widest:
		return byte(r - wide + '!')
	case r >= math && r <= mathAt:
		return letters[int(r-math)%len(letters)]
	case r >= digit && r <= last:
		return byte('0' + (r-digit)%10)
	default:
		return lookalikes[r]
	}
}
