// Package lexer splits JSON text into tokens, as it arrives.
package lexer

import "unicode/utf8"

// A Lexer reads one JSON text (RFC 8259), in as many pieces as it comes in. It checks the whole grammar and the UTF-8 of strings, keeps a
// few words for any input, and never copies: Start and Pos say where a token is. The zero value is ready to use.
type Lexer struct {
	Strict bool // refuse \u escapes that are half of a surrogate pair

	Start   int   // offset in the text where the last token begins
	Pos     int   // offset in the text of the next byte
	Depth   int   // open objects and arrays
	State   State // what comes next
	Escaped bool  // the last name or string contains a backslash
	Err     *SyntaxError

	objects [(MaxDepth + 63) / 64]uint64 // bit d-1: the container at depth d is an object
	phase   textPhase                    // inside a name or string
	hex     int                          // digits of a \u escape still expected
	code    uint16                       // its value so far
	high    bool                         // strict: the previous escape was the first half of a pair
	partial [utf8.UTFMax]byte            // a character cut by the end of a chunk
	have    int                          // its bytes so far
	number  numberPhase                  // inside a number
	literal string                       // the part of true, false or null still expected
	kind    Token                        // which of the three it is
}

// MaxDepth is how many levels deep objects and arrays may be nested.
const MaxDepth = 128

// A Token is a part of a JSON text.
type Token uint8

// The tokens. Commas and colons are not tokens.
const (
	More   Token = iota // no token: the input is used up
	Failed              // no token: the reason is in [Lexer].Err
	Object
	Array
	End  // of an object or array
	Name // of a member
	String
	Number
	True
	False
	Null
)

// A State says where in the grammar a lexer is.
type State uint8

// The states: what is wanted next, or which token has begun.
const (
	WantValue State = iota
	WantValueOrEnd
	WantName
	WantNameOrEnd
	WantColon
	WantComma // or the end of the container
	WantNothing
	InName
	InString
	InNumber
	InLiteral
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

// Next returns the first token that ends in p and the number of bytes up to its end. After More,
// all of p has been consumed.
func (l *Lexer) Next(p []byte) (Token, int) {
	tok, n := l.scan(p)
	l.Pos += n
	return tok, n
}

// End must be called after the last byte of the text.
func (l *Lexer) End() error {
	switch {
	case l.Err != nil:
		return l.Err
	case l.State == WantNothing, l.Depth == 0 && l.State == InNumber && l.number.complete():
		return nil
	case l.State == WantValue && l.Depth == 0:
		l.Err = &SyntaxError{Problem: Empty, Offset: l.Pos}
	default:
		l.Err = &SyntaxError{Problem: Incomplete, Offset: l.Pos}
	}
	return l.Err
}

func (l *Lexer) scan(p []byte) (Token, int) {
	if l.State >= InName {
		return l.resume(p)
	}
	for i, c := range p {
		switch c {
		case ' ', '\n', '\r', '\t':
		case ',':
			if l.State != WantComma {
				return l.unexpected(i)
			}
			if l.InObject() {
				l.State = WantName
			} else {
				l.State = WantValue
			}
		case ':':
			if l.State != WantColon {
				return l.unexpected(i)
			}
			l.State = WantValue
		default:
			l.Start = l.Pos + i
			return l.begin(p, i)
		}
	}
	return More, len(p)
}

// resume continues the token that was cut by the end of a chunk.
func (l *Lexer) resume(p []byte) (Token, int) {
	switch l.State {
	case InNumber:
		return l.scanNumber(p, 0)
	case InLiteral:
		return l.scanLiteral(p, 0)
	default:
		return l.scanText(p, 0)
	}
}

// begin starts the token whose first byte is p[i].
func (l *Lexer) begin(p []byte, i int) (Token, int) {
	if l.State == WantNothing {
		return l.fail(Trailing, i)
	}
	wantsValue := l.State <= WantValueOrEnd
	switch c := p[i]; {
	case c == '"' && wantsValue:
		l.State, l.phase, l.Escaped = InString, textPlain, false
		return l.scanText(p, i+1)
	case c == '"' && (l.State == WantName || l.State == WantNameOrEnd):
		l.State, l.phase, l.Escaped = InName, textPlain, false
		return l.scanText(p, i+1)
	case c == '}' && (l.State == WantNameOrEnd || l.State == WantComma && l.InObject()),
		c == ']' && (l.State == WantValueOrEnd || l.State == WantComma && !l.InObject()):
		l.Depth--
		l.endValue()
		return End, i + 1
	case !wantsValue:
		return l.unexpected(i)
	case c == '{' || c == '[':
		return l.open(c == '{', i)
	case c == '-' || c >= '0' && c <= '9':
		l.State = InNumber
		l.number = firstOfNumber(c)
		return l.scanNumber(p, i+1)
	case c == 't':
		l.literal, l.kind = "true", True
	case c == 'f':
		l.literal, l.kind = "false", False
	case c == 'n':
		l.literal, l.kind = "null", Null
	default:
		return l.unexpected(i)
	}
	l.State = InLiteral
	return l.scanLiteral(p, i)
}

func (l *Lexer) open(object bool, i int) (Token, int) {
	if l.Depth == MaxDepth {
		return l.fail(TooDeep, i)
	}
	word, bit := &l.objects[l.Depth>>6], uint64(1)<<(l.Depth&63)
	l.Depth++
	if object {
		*word |= bit
		l.State = WantNameOrEnd
		return Object, i + 1
	}
	*word &^= bit
	l.State = WantValueOrEnd
	return Array, i + 1
}

// InObject reports whether the innermost open container is an object.
func (l *Lexer) InObject() bool {
	d := l.Depth - 1
	return d >= 0 && l.objects[d>>6]>>(d&63)&1 == 1
}

func (l *Lexer) endValue() {
	l.State = WantComma
	if l.Depth == 0 {
		l.State = WantNothing
	}
}

func (l *Lexer) unexpected(i int) (Token, int) {
	if l.State == WantNothing {
		return l.fail(Trailing, i)
	}
	return l.fail(Unexpected, i)
}

// fail reports a problem at p[i]. For a character it reports the first byte, even if that came in an
// earlier chunk.
func (l *Lexer) fail(problem Problem, i int) (Token, int) {
	offset := l.Pos + i
	if l.phase == textRune {
		offset -= l.have - 1
	}
	l.Err = &SyntaxError{Problem: problem, Offset: offset}
	return Failed, i
}

func (l *Lexer) scanLiteral(p []byte, i int) (Token, int) {
	for ; i < len(p); i++ {
		if p[i] != l.literal[0] {
			return l.fail(Unexpected, i)
		}
		if l.literal = l.literal[1:]; l.literal == "" {
			l.endValue()
			return l.kind, i + 1
		}
	}
	return More, i
}

// scanNumber ends a number at the first byte that cannot belong to it and does not consume that byte:
// the grammar around the number decides about it.
func (l *Lexer) scanNumber(p []byte, i int) (Token, int) {
	for ; i < len(p); i++ {
		switch phase := l.number.step(p[i]); phase {
		case numberDone:
			l.endValue()
			return Number, i
		case numberBad:
			return l.fail(Unexpected, i)
		default:
			l.number = phase
		}
	}
	return More, i
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
