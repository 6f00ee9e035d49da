package wire

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/json"
)

// Error codes of JSON-RPC 2.0 (section 5.1) and of MCP.
const (
	CodeParseError         = -32700 // the text is not JSON
	CodeInvalidRequest     = -32600 // the JSON is not a message
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternalError      = -32603
	CodeHeaderMismatch     = -32020 // a header is missing or disagrees with the body
	CodeMissingCapability  = -32021 // data.requiredCapabilities lists what the client did not declare
	CodeUnsupportedVersion = -32022 // data.supported and data.requested
	CodeURLElicitation     = -32042 // asks the client for something; not a failure
)

// Error is the reason why a client's message is refused.
type Error struct {
	Code    int    // JSON-RPC error code
	Message string // a sentence that says what is wrong and where, with at most a few words of the input
	Pointer string // JSON Pointer to the value, "" for the whole message or a header
	Offset  int    // its offset in bytes
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

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

// Longest pieces of the input that a message or pointer quotes, in bytes.
const (
	maxQuoted  = 64
	maxPointer = 256
)

// clip returns s cut to maxQuoted bytes, at the end of a character.
func clip(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	return strings.ToValidUTF8(s[:maxQuoted], "") + "..."
}

// level is an open object or array on the path to a value.
type level struct {
	object bool
	named  bool   // object: a name has been read
	name   string // object: of the current member, clipped
	index  int    // array: of the current element, -1 before the first
}

// pointerAt returns the JSON Pointer to the innermost value or member of text that contains offset. It
// reads the text again, so that reading a valid text need not keep track of the path.
func pointerAt(text []byte, offset int) string {
	l := lexer{strict: true}
	path := make([]level, 0, 8)
	for l.pos <= offset && l.pos < len(text) && l.err == nil {
		tok, _ := l.next(text[l.pos:])
		if top := len(path) - 1; top >= 0 {
			path[top].follow(&l, tok, text)
		}
		switch tok {
		case tokenObject, tokenArray:
			path = append(path, level{object: tok == tokenObject, index: -1})
		case tokenEnd:
			path = path[:len(path)-1]
		default:
		}
	}
	return pointer(path)
}

// follow moves at to the member or element that tok belongs to.
func (at *level) follow(l *lexer, tok token, text []byte) {
	switch {
	case tok == tokenName:
		at.named, at.name = true, clip(unquote(text[l.start:l.pos]))
	case tok == tokenEnd:
	case tok == tokenError && (l.state == wantName || l.state == inName):
		at.named = false
	case !at.object && (tok != tokenError || l.state != wantComma):
		at.index++
	}
}

func pointer(path []level) string {
	var p json.Pointer
	for _, at := range path {
		switch {
		case at.object && at.named:
			p = p.AppendToken(at.name)
		case !at.object && at.index >= 0:
			p = p.AppendToken(strconv.Itoa(at.index))
		}
		if len(p) > maxPointer {
			return string(p.Parent()) + "/..."
		}
	}
	return string(p)
}

// unquote returns the value of a JSON string.
func unquote(raw []byte) string {
	b, _ := json.AppendUnquote(nil, raw) // the lexer has checked it; the error only says that U+FFFD replaced something
	return string(b)
}
