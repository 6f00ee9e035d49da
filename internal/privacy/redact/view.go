package redact

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A view is a text with one layer of its spelling undone: percent-encoding (RFC 3986, section 2.1), the escapes of
// JSON, of programming languages and shells, HTML's character references, and characters that look like ASCII.
type view struct {
	text string
	at   []int32 // where in the original each byte begins; one more for the end
}

// viewOf returns the view of s; ok is false when there is nothing to undo.
func viewOf(s string) (v view, ok bool) {
	first := spelledAt(s)
	if first < 0 {
		return view{}, false
	}
	b := make([]byte, 0, len(s))
	at := make([]int32, 0, len(s)+1)
	for i := 0; i < len(s); {
		text, size := "", 0
		if i >= first && mayBeSpelled[s[i]] {
			text, size = unspell(s[i:])
		}
		if size == 0 {
			b, at = append(b, s[i]), append(at, int32(i))
			i++
			continue
		}
		for range len(text) {
			at = append(at, int32(i))
		}
		b = append(b, text...)
		i += size
	}
	return view{string(b), append(at, int32(len(s)))}, true
}

// original converts a part of the view to the part of the original that it comes from.
func (v view) original(p span) span { return span{int(v.at[p.start]), int(v.at[p.end])} }

// mayBeSpelled are the bytes with which a spelling begins.
var mayBeSpelled = func() (set [256]bool) {
	for c := range set {
		set[c] = c == '%' || c == '\\' || c == '&' || c >= utf8.RuneSelf
	}
	return set
}()

// spelledAt returns the first position at which there is something to undo, or -1.
func spelledAt(s string) int {
	for i := range len(s) {
		if mayBeSpelled[s[i]] {
			if _, size := unspell(s[i:]); size > 0 {
				return i
			}
		}
	}
	return -1
}

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
	case c >= utf8.RuneSelf:
		r, size := utf8.DecodeRuneInString(s)
		if folded := fold(r); folded != 0 {
			return string(folded), size
		}
	}
	return "", 0
}

// code returns the character with that number, whose digits are of that base.
func code(digits string, base int) (text string, ok bool) {
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
	if len(s) < short {
		return "", 0
	}
	n, err := strconv.ParseUint(s[1:short], 16, 8)
	if err != nil {
		return "", 0
	}
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

// fold returns the ASCII character that r looks like, or 0: in another width, as a mathematical letter or digit
// (Unicode block U+1D400), or in another script.
func fold(r rune) byte {
	const (
		wide, widest = 0xff01, 0xff5e
		math, mathAt = 0x1d400, 0x1d6a3
		digit, last  = 0x1d7ce, 0x1d7ff
		letters      = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	)
	switch {
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
