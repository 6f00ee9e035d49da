package wire

import (
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/lexer"
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

// Unrecorded is how a failure begins that no server has said: what replays a recording has no answer.
const Unrecorded = "The recording that is being replayed has no answer to "

// Error is the reason why a client's message is refused.
type Error struct {
	Code    int    // JSON-RPC error code
	Message string // a sentence that says what is wrong and where, with at most a few words of the input
	Pointer string // JSON Pointer to the value, "" for the whole message or a header
	Offset  int    // its offset in bytes
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

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
	l := lexer.Lexer{Strict: true}
	path := make([]level, 0, 8)
	for l.Pos <= offset && l.Pos < len(text) && l.Err == nil {
		tok, _ := l.Next(text[l.Pos:])
		if top := len(path) - 1; top >= 0 {
			path[top].follow(&l, tok, text)
		}
		switch tok {
		case lexer.Object, lexer.Array:
			path = append(path, level{object: tok == lexer.Object, index: -1})
		case lexer.End:
			path = path[:len(path)-1]
		default:
		}
	}
	return pointer(path)
}

// follow moves at to the member or element that tok belongs to.
func (at *level) follow(l *lexer.Lexer, tok lexer.Token, text []byte) {
	switch {
	case tok == lexer.Name:
		at.named, at.name = true, clip(unquote(text[l.Start:l.Pos]))
	case tok == lexer.End:
	case tok == lexer.Failed && (l.State == lexer.WantName || l.State == lexer.InName):
		at.named = false
	case !at.object && (tok != lexer.Failed || l.State != lexer.WantComma):
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
