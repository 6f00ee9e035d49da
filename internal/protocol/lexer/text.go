package lexer

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// A textPhase says where in a name or string a lexer is.
type textPhase uint8

const (
	textPlain textPhase = iota
	textEscape
	textHex
	textRune     // in a multi-byte character that was cut by the end of a chunk
	textLowSlash // strict: before the \ of the second half of a pair
	textLowU
)

// scanText continues with the name or string up to its closing quote.
func (l *Lexer) scanText(p []byte, i int) (Token, int) {
	for {
		if l.phase != textPlain {
			if i == len(p) {
				return More, i
			}
			if problem := l.stepText(p[i]); problem != 0 {
				return l.fail(problem, i)
			}
			i++
			continue
		}
		n, escaped := plainPrefix(p[i:])
		i += n
		l.Escaped = l.Escaped || escaped
		if i == len(p) {
			return More, i
		}
		switch c := p[i]; {
		case c == '"':
			return l.endText(), i + 1
		case c == '\\':
			i++
			l.Escaped, l.phase = true, textEscape
		case c < ' ':
			return l.fail(ControlCharacter, i)
		default:
			n := characters(p[i:])
			if n == 0 && utf8.FullRune(p[i:]) {
				return l.fail(NotUTF8, i)
			}
			if n == 0 {
				l.phase = textRune
				l.have = copy(l.partial[:], p[i:])
				return More, len(p)
			}
			i += n
		}
	}
}

func (l *Lexer) endText() Token {
	if l.State == InName {
		l.State = WantColon
		return Name
	}
	l.endValue()
	return String
}

// stepText consumes one byte of an escape or of a character that was cut.
func (l *Lexer) stepText(c byte) Problem {
	switch l.phase {
	case textEscape:
		return l.stepEscape(c)
	case textHex:
		return l.stepHex(c)
	case textLowSlash:
		if c != '\\' {
			return LoneSurrogate
		}
		l.phase = textLowU
	case textLowU:
		if c != 'u' {
			return LoneSurrogate
		}
		l.phase, l.hex = textHex, 4
	case textPlain, textRune:
		l.partial[l.have] = c
		l.have++
		if r, size := utf8.DecodeRune(l.partial[:l.have]); r != utf8.RuneError || size > 1 {
			l.phase = textPlain
		} else if utf8.FullRune(l.partial[:l.have]) {
			return NotUTF8
		}
	}
	return 0
}

func (l *Lexer) stepEscape(c byte) Problem {
	switch c {
	case 'u':
		l.phase, l.hex, l.high = textHex, 4, false
	default:
		if !simpleEscapes[c] {
			return BadEscape
		}
		l.phase = textPlain
	}
	return 0
}

func (l *Lexer) stepHex(c byte) Problem {
	digit, ok := unhex(c)
	if !ok {
		return BadEscape
	}
	l.code = l.code<<4 | digit
	if l.hex--; l.hex > 0 {
		return 0
	}
	l.phase = textPlain
	if !l.Strict {
		return 0
	}
	first, second := l.code>>10 == 0xd800>>10, l.code>>10 == 0xdc00>>10
	switch {
	case l.high != second:
		return LoneSurrogate
	case first:
		l.phase, l.high = textLowSlash, true
	}
	return 0
}

func unhex(c byte) (uint16, bool) {
	switch {
	case c >= '0' && c <= '9':
		return uint16(c - '0'), true
	case c >= 'a' && c <= 'f':
		return uint16(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return uint16(c-'A') + 10, true
	default:
		return 0, false
	}
}

// plainPrefix returns the number of leading bytes of p that need no decoding in a string, and whether there are escapes among them: ASCII
// without quotes and control characters, and the escapes of two bytes. It checks eight bytes at a time, since most of an answer is text.
func plainPrefix(p []byte) (n int, escaped bool) {
	const (
		ones = 0x0101010101010101
		tops = 0x8080808080808080
	)
	i, literal := 0, -1 // literal is the place of the latest character that is escaped
	for ; len(p)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(p[i:])
		// Each byte that ends the prefix is marked. So may be a byte after one that is, since subtracting borrows from it.
		marks := (w | (w - ' '*ones) | ((w ^ '"'*ones) - ones) | ((w ^ '\\'*ones) - ones)) & tops
		for ; marks != 0; marks &= marks - 1 {
			at := i + bits.TrailingZeros64(marks)>>3
			switch {
			case at == literal || isPlain(p[at]):
			case p[at] == '\\' && at+1 < len(p) && simpleEscapes[p[at+1]]:
				literal, escaped = at+1, true
			default:
				return at, escaped
			}
		}
	}
	i = max(i, literal+1)
	for i < len(p) && isPlain(p[i]) {
		i++
	}
	return i, escaped
}

// isPlain reports whether a byte in a string stands for itself, and is ASCII.
func isPlain(c byte) bool { return ' ' <= c && c < utf8.RuneSelf && c != '"' && c != '\\' }

// simpleEscapes are the characters that may follow a backslash, without u.
var simpleEscapes = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// characters returns the length of the leading run of complete valid multi-byte characters.
func characters(p []byte) int {
	i := 0
	for i < len(p) && p[i] >= utf8.RuneSelf {
		_, size := utf8.DecodeRune(p[i:])
		if size == 1 {
			break
		}
		i += size
	}
	return i
}
