package lexer

import (
	"fmt"
	"io"
	"strconv"
)

// Problem is a reason why a text is not one JSON object.
type Problem uint8

// The problems of a text.
const (
	Unexpected       Problem = iota + 1 // a byte that the grammar does not allow
	ControlCharacter                    // an unescaped control character in a string
	BadEscape                           // a backslash that does not begin an escape
	LoneSurrogate                       // a \u escape that is half of a surrogate pair (strict reading only)
	NotUTF8                             // a string that is not UTF-8
	TooDeep                             // more than MaxDepth levels
	Incomplete                          // the text ends in the middle
	Empty                               // no text at all, or white space only
	NotObject                           // JSON, but not an object
	Trailing                            // something after the object, such as a second answer
)

// String describes the problem, in a form that "at byte N" can follow.
func (p Problem) String() string {
	switch p {
	case Unexpected:
		return "unexpected character"
	case ControlCharacter:
		return "control character in a string"
	case BadEscape:
		return "invalid escape in a string"
	case LoneSurrogate:
		return "half of a surrogate pair in a string"
	case NotUTF8:
		return "invalid UTF-8 in a string"
	case TooDeep:
		return "more than " + strconv.Itoa(MaxDepth) + " levels of nesting"
	case Incomplete:
		return "end of the text before the end of its value"
	case Empty:
		return "no JSON text"
	case NotObject:
		return "a value that is not an object"
	case Trailing:
		return "data after the end of the object"
	default:
		return "problem " + strconv.Itoa(int(p))
	}
}

// SyntaxError says where a text stops being one JSON object. An incomplete text is also
// io.ErrUnexpectedEOF, and an empty one io.EOF.
type SyntaxError struct {
	Problem Problem
	Offset  int // offset in bytes from the beginning of the text
}

// Error returns the problem and the offset.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%v at byte %d", e.Problem, e.Offset)
}

// Unwrap returns the equivalent error of package io, or nil.
func (e *SyntaxError) Unwrap() error {
	switch e.Problem {
	case Incomplete:
		return io.ErrUnexpectedEOF
	case Empty:
		return io.EOF
	default:
		return nil
	}
}
