package wire

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// lexer is a push tokenizer for one JSON text (RFC 8259). It checks the whole grammar and the UTF-8 of
// strings, keeps a few words of state for any input, and never copies: start and pos tell the caller
// where a token is.
type lexer struct {
	strict bool // refuse \u escapes that are half of a surrogate pair

	state   lexState
	depth   int                          // open objects and arrays
	objects [(MaxDepth + 63) / 64]uint64 // bit d-1: the container at depth d is an object
	start   int                          // offset in the text where the last token begins
	pos     int                          // offset in the text of the next byte
	escaped bool                         // the last name or string contains a backslash
	phase   textPhase                    // inside a name or string
	hex     int                          // digits of a \u escape still expected
	code    uint16                       // its value so far
	high    bool                         // strict: the previous escape was the first half of a pair
	partial [utf8.UTFMax]byte            // a character cut by the end of a chunk
	have    int                          // its bytes so far
	number  numberPhase                  // inside a number
	literal string                       // the part of true, false or null still expected
	kind    token                        // which of the three it is
	err     *SyntaxError
}

type token uint8

const (
	tokenMore  token = iota // the input is used up
	tokenError              // the reason is in lexer.err
	tokenObject
	tokenArray
	tokenEnd // of an object or array
	tokenName
	tokenString
	tokenNumber
	tokenTrue
	tokenFalse
	tokenNull
)

type lexState uint8

const (
	wantValue lexState = iota
	wantValueOrEnd
	wantName
	wantNameOrEnd
	wantColon
	wantComma // or the end of the container
	wantNothing
	inName
	inString
	inNumber
	inLiteral
)

type textPhase uint8

const (
	textPlain textPhase = iota
	textEscape
	textHex
	textRune     // in a multi-byte character that was cut by the end of a chunk
	textLowSlash // strict: before the \ of the second half of a pair
	textLowU
)

type numberPhase uint8

const (
	numberMinus numberPhase = iota
	numberZero
	numberInt
	numberPoint
	numberFraction
	numberE
	numberSign
	numberExponent
	numberDone
	numberBad
)

// next returns the first token that ends in p and the number of bytes up to its end. After tokenMore,
// all of p has been consumed.
func (l *lexer) next(p []byte) (token, int) {
	tok, n := l.scan(p)
	l.pos += n
	return tok, n
}

// end must be called after the last byte of the text.
func (l *lexer) end() error {
	switch {
	case l.err != nil:
		return l.err
	case l.state == wantNothing, l.depth == 0 && l.state == inNumber && l.number.complete():
		return nil
	case l.state == wantValue && l.depth == 0:
		l.err = &SyntaxError{Problem: Empty, Offset: l.pos}
	default:
		l.err = &SyntaxError{Problem: Incomplete, Offset: l.pos}
	}
	return l.err
}

func (l *lexer) scan(p []byte) (token, int) {
	if l.state >= inName {
		return l.resume(p)
	}
	for i, c := range p {
		switch c {
		case ' ', '\n', '\r', '\t':
		case ',':
			if l.state != wantComma {
				return l.unexpected(i)
			}
			if l.inObject() {
				l.state = wantName
			} else {
				l.state = wantValue
			}
		case ':':
			if l.state != wantColon {
				return l.unexpected(i)
			}
			l.state = wantValue
		default:
			l.start = l.pos + i
			return l.begin(p, i)
		}
	}
	return tokenMore, len(p)
}

// resume continues the token that was cut by the end of a chunk.
func (l *lexer) resume(p []byte) (token, int) {
	switch l.state {
	case inNumber:
		return l.scanNumber(p, 0)
	case inLiteral:
		return l.scanLiteral(p, 0)
	default:
		return l.scanText(p, 0)
	}
}

// begin starts the token whose first byte is p[i].
func (l *lexer) begin(p []byte, i int) (token, int) {
	if l.state == wantNothing {
		return l.fail(Trailing, i)
	}
	wantsValue := l.state <= wantValueOrEnd
	switch c := p[i]; {
	case c == '"' && wantsValue:
		l.state, l.phase, l.escaped = inString, textPlain, false
		return l.scanText(p, i+1)
	case c == '"' && (l.state == wantName || l.state == wantNameOrEnd):
		l.state, l.phase, l.escaped = inName, textPlain, false
		return l.scanText(p, i+1)
	case c == '}' && (l.state == wantNameOrEnd || l.state == wantComma && l.inObject()),
		c == ']' && (l.state == wantValueOrEnd || l.state == wantComma && !l.inObject()):
		l.depth--
		l.endValue()
		return tokenEnd, i + 1
	case !wantsValue:
		return l.unexpected(i)
	case c == '{' || c == '[':
		return l.open(c == '{', i)
	case c == '-' || c >= '0' && c <= '9':
		l.state = inNumber
		l.number = firstOfNumber(c)
		return l.scanNumber(p, i+1)
	case c == 't':
		l.literal, l.kind = "true", tokenTrue
	case c == 'f':
		l.literal, l.kind = "false", tokenFalse
	case c == 'n':
		l.literal, l.kind = "null", tokenNull
	default:
		return l.unexpected(i)
	}
	l.state = inLiteral
	return l.scanLiteral(p, i)
}

func (l *lexer) open(object bool, i int) (token, int) {
	if l.depth == MaxDepth {
		return l.fail(TooDeep, i)
	}
	word, bit := &l.objects[l.depth>>6], uint64(1)<<(l.depth&63)
	l.depth++
	if object {
		*word |= bit
		l.state = wantNameOrEnd
		return tokenObject, i + 1
	}
	*word &^= bit
	l.state = wantValueOrEnd
	return tokenArray, i + 1
}

func (l *lexer) inObject() bool {
	d := l.depth - 1
	return d >= 0 && l.objects[d>>6]>>(d&63)&1 == 1
}

func (l *lexer) endValue() {
	l.state = wantComma
	if l.depth == 0 {
		l.state = wantNothing
	}
}

func (l *lexer) unexpected(i int) (token, int) {
	if l.state == wantNothing {
		return l.fail(Trailing, i)
	}
	return l.fail(Unexpected, i)
}

// fail reports a problem at p[i]. For a character it reports the first byte, even if that came in an
// earlier chunk.
func (l *lexer) fail(problem Problem, i int) (token, int) {
	offset := l.pos + i
	if l.phase == textRune {
		offset -= l.have - 1
	}
	l.err = &SyntaxError{Problem: problem, Offset: offset}
	return tokenError, i
}

func (l *lexer) scanLiteral(p []byte, i int) (token, int) {
	for ; i < len(p); i++ {
		if p[i] != l.literal[0] {
			return l.fail(Unexpected, i)
		}
		if l.literal = l.literal[1:]; l.literal == "" {
			l.endValue()
			return l.kind, i + 1
		}
	}
	return tokenMore, i
}

// scanNumber ends a number at the first byte that cannot belong to it and does not consume that byte:
// the grammar around the number decides about it.
func (l *lexer) scanNumber(p []byte, i int) (token, int) {
	for ; i < len(p); i++ {
		switch phase := l.number.step(p[i]); phase {
		case numberDone:
			l.endValue()
			return tokenNumber, i
		case numberBad:
			return l.fail(Unexpected, i)
		default:
			l.number = phase
		}
	}
	return tokenMore, i
}

func firstOfNumber(c byte) numberPhase {
	switch c {
	case '-':
		return numberMinus
	case '0':
		return numberZero
	default:
		return numberInt
	}
}

func (n numberPhase) complete() bool {
	return n == numberZero || n == numberInt || n == numberFraction || n == numberExponent
}

func (n numberPhase) step(c byte) numberPhase {
	switch {
	case c >= '0' && c <= '9':
		return n.digit(c)
	case c == '.' && (n == numberZero || n == numberInt):
		return numberPoint
	case (c == 'e' || c == 'E') && (n == numberZero || n == numberInt || n == numberFraction):
		return numberE
	case (c == '+' || c == '-') && n == numberE:
		return numberSign
	case n.complete():
		return numberDone
	default:
		return numberBad
	}
}

func (n numberPhase) digit(c byte) numberPhase {
	switch n {
	case numberMinus:
		return firstOfNumber(c)
	case numberZero:
		return numberDone
	case numberPoint:
		return numberFraction
	case numberE, numberSign:
		return numberExponent
	default:
		return n
	}
}

// scanText continues with the name or string up to its closing quote.
func (l *lexer) scanText(p []byte, i int) (token, int) {
	for {
		if l.phase != textPlain {
			if i == len(p) {
				return tokenMore, i
			}
			if problem := l.stepText(p[i]); problem != 0 {
				return l.fail(problem, i)
			}
			i++
			continue
		}
		n, escaped := plainPrefix(p[i:])
		i += n
		l.escaped = l.escaped || escaped
		if i == len(p) {
			return tokenMore, i
		}
		switch c := p[i]; {
		case c == '"':
			return l.endText(), i + 1
		case c == '\\':
			i++
			l.escaped, l.phase = true, textEscape
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
				return tokenMore, len(p)
			}
			i += n
		}
	}
}

func (l *lexer) endText() token {
	if l.state == inName {
		l.state = wantColon
		return tokenName
	}
	l.endValue()
	return tokenString
}

// stepText consumes one byte of an escape or of a character that was cut.
func (l *lexer) stepText(c byte) Problem {
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

func (l *lexer) stepEscape(c byte) Problem {
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

func (l *lexer) stepHex(c byte) Problem {
	digit, ok := unhex(c)
	if !ok {
		return BadEscape
	}
	l.code = l.code<<4 | digit
	if l.hex--; l.hex > 0 {
		return 0
	}
	l.phase = textPlain
	if !l.strict {
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
