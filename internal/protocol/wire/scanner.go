package wire

import (
	"bytes"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/lexer"
)

// The most bytes of a value that [Signs] copies, as spelled, without quotes.
const (
	MaxID         = 4096
	MaxMethod     = 256
	MaxResultType = 64
	MaxKind       = 64
)

// Signs are what a [Scanner] has noticed. Positions count from the first byte of the text. The byte
// slices belong to the scanner and are valid until its Reset; a slice is nil if its member is missing,
// is not a string, or is longer than allowed.
type Signs struct {
	JSONRPC bool // the member jsonrpc is "2.0"
	ID      ID   // a string, number or literal as spelled, at most MaxID bytes
	IDAt    Span // set also when the id is too long, an object or an array

	Method   []byte // at most MaxMethod bytes
	MethodAt Span
	Result   Span
	Error    Span // the JSON-RPC error

	Members    bool   // result is an object that is not empty
	ResultType []byte // result.resultType, at most MaxResultType bytes
	TTL        bool   // result has the member ttlMs
	CacheScope bool   // result has the member cacheScope
	IsError    bool   // result.isError is true
	OddError   bool   // it has another type, or was true before it was repeated
	Content    Span   // result.content
	Structured Span   // result.structuredContent
	Kind       []byte // result.structuredContent.kind, at most MaxKind bytes
	Meta       Span   // result._meta
	Record     bool   // result._meta has the member io.github.recoursehq/error

	// ResultError is result.error if that is an object with the members code and message, which means a
	// failure in some contracts.
	ResultError Span

	// What result.structuredContent says about itself. A successful answer may say it too.
	SuccessFalse bool // success is false
	OKFalse      bool // ok is false
	ErrorTrue    bool // error is true

	// Duplicate points to the first of these members that is repeated, so that two readers may disagree
	// about it; "" if there is none.
	Duplicate string
}

// Message returns the kind of the message with these signs. It is certain after [Scanner.Close].
func (s *Signs) Message() MessageKind {
	answer := !s.Result.IsZero() || !s.Error.IsZero()
	switch {
	case !s.MethodAt.IsZero() && answer:
		return Invalid
	case !s.MethodAt.IsZero() && s.IDAt.IsZero():
		return Notification
	case !s.MethodAt.IsZero():
		return Request
	case answer && !s.IDAt.IsZero() && (s.Result.IsZero() || s.Error.IsZero()):
		return Response
	default:
		return Invalid
	}
}

// Scanner reads a server's message as it passes, in pieces of any size. It checks that the whole is one
// JSON object and collects its [Signs], in constant memory and without allocating. It tolerates what
// the JSON grammar allows, such as repeated names and halves of surrogate pairs, but neither more than
// [lexer.MaxDepth] levels nor invalid UTF-8.
//
// The zero Scanner is ready for use. It is not safe for concurrent use.
type Scanner struct {
	lex   lexer.Lexer
	at    tracker
	seen  uint64 // bit m: the member m has occurred
	signs Signs

	cut  []byte // the beginning, from earlier pieces, of a token that was cut
	name []byte // a name with escapes

	id, method, resultType, kind []byte // memory of the slices in signs
}

// Reset makes s ready for a new text and keeps its memory.
func (s *Scanner) Reset() {
	s.lex, s.at, s.seen, s.signs = lexer.Lexer{}, tracker{}, 0, Signs{}
	s.cut, s.name = s.cut[:0], s.name[:0]
	s.id, s.method, s.resultType, s.kind = s.id[:0], s.method[:0], s.resultType[:0], s.kind[:0]
}

// Signs returns what has been noticed so far.
func (s *Scanner) Signs() *Signs { return &s.signs }

// Offset returns the number of bytes that have been read.
func (s *Scanner) Offset() int { return s.lex.Pos }

// Write reads the next piece of the text. As soon as the text can no longer become one JSON object it
// returns a [*lexer.SyntaxError], the same one from then on, and the number of bytes of p before the problem.
func (s *Scanner) Write(p []byte) (int, error) {
	if s.lex.Err != nil {
		return 0, s.lex.Err
	}
	if s.lex.Depth == 0 && s.lex.State == lexer.WantValue {
		scans.Add(1)
		if err := s.begin(p); err != nil {
			return err.Offset - s.lex.Pos, err
		}
	}
	base := s.lex.Pos
	for n := 0; n < len(p); n = s.lex.Pos - base {
		tok, _ := s.lex.Next(p[n:])
		switch tok {
		case lexer.More:
			s.keep(p, base)
			return len(p), nil
		case lexer.Failed:
			return s.lex.Pos - base, s.lex.Err
		case lexer.Name:
			s.member(p, base)
		default:
			s.value(tok, p, base)
		}
		s.cut = s.cut[:0]
	}
	return len(p), nil
}

// Close returns a [*lexer.SyntaxError] if the text is not complete.
func (s *Scanner) Close() error { return s.lex.End() }

// begin checks the first byte of the text: it must begin an object.
func (s *Scanner) begin(p []byte) *lexer.SyntaxError {
	s.at.reset()
	for i, c := range p {
		switch c {
		case ' ', '\n', '\r', '\t':
			continue
		case '{':
			return nil
		}
		problem := lexer.Unexpected
		if strings.IndexByte(`["-0123456789tfn`, c) >= 0 {
			problem = lexer.NotObject
		}
		s.lex.Err = &lexer.SyntaxError{Problem: problem, Offset: s.lex.Pos + i}
		return s.lex.Err
	}
	return nil
}

// keep stores a token that is cut by the end of p, as far as it will be looked at.
func (s *Scanner) keep(p []byte, base int) {
	limit := 0
	switch s.lex.State {
	case lexer.InName:
		limit = s.nameLimit()
	case lexer.InString, lexer.InNumber, lexer.InLiteral:
		limit = s.at.next.limit()
	default:
	}
	if limit > 0 {
		s.cut = append(s.cut[:0], s.token(p, base, limit)...) // p belongs to the caller
	}
}

// token returns the token that ends at the lexer's position, or as much of it as there is. A token
// longer than limit is returned with limit+1 bytes.
func (s *Scanner) token(p []byte, base, limit int) []byte {
	part := p[max(s.lex.Start-base, 0) : s.lex.Pos-base]
	part = part[:min(len(part), limit+1-len(s.cut))]
	if s.lex.Start >= base {
		return part
	}
	s.cut = append(s.cut, part...)
	return s.cut
}

func (s *Scanner) nameLimit() int {
	if s.at.container(&s.lex) == memberOther {
		return 0
	}
	return maxName
}

// limit returns how long the spelling of m's value may be to be looked at, including quotes; 0 if only
// the kind and position of the value matter.
func (m member) limit() int {
	switch m {
	case memberJSONRPC:
		return len(`"2.0"`)
	case memberID:
		return MaxID + 2
	case memberMethod:
		return MaxMethod + 2
	case memberResultType:
		return MaxResultType + 2
	case memberStructuredKind:
		return MaxKind + 2
	default:
		return 0
	}
}

// member handles the name of a member.
func (s *Scanner) member(p []byte, base int) {
	limit := s.nameLimit()
	if limit == 0 {
		return
	}
	of := s.at.container(&s.lex)
	s.signs.Members = s.signs.Members || of == memberResult
	raw := s.token(p, base, limit)
	if len(raw) > limit {
		return
	}
	name := raw[1 : len(raw)-1]
	if s.lex.Escaped {
		s.name, _ = json.AppendUnquote(s.name[:0], raw) // the lexer has checked it
		name = s.name
	}
	m := of.child(name)
	if m == memberOther {
		return
	}
	if s.seen>>m&1 == 1 && s.signs.Duplicate == "" {
		s.signs.Duplicate = pointers[m]
	}
	s.seen |= 1 << m
	s.at.next = m
}

// value handles a token that begins or ends a value.
func (s *Scanner) value(tok lexer.Token, p []byte, base int) {
	var raw []byte
	if limit := s.at.next.limit(); limit > 0 && tok > lexer.End {
		if raw = s.token(p, base, limit); len(raw) > limit {
			raw = nil
		}
	}
	m, at := s.at.value(&s.lex, tok)
	if m != memberOther {
		s.note(m, at, tok, raw)
	}
}

// note records the value of m, which ends with tok; raw is its text if that may be looked at.
func (s *Scanner) note(m member, at Span, tok lexer.Token, raw []byte) {
	signs := &s.signs
	switch m {
	case memberJSONRPC:
		signs.JSONRPC = string(raw) == `"2.0"`
	case memberID:
		s.id = append(s.id[:0], raw...)
		signs.ID, signs.IDAt = s.id, at
	case memberMethod:
		signs.Method, signs.MethodAt = s.text(&s.method, tok, raw), at
	case memberError:
		signs.Error = at
	case memberResult:
		signs.Result = at
	case memberResultType:
		signs.ResultType = s.text(&s.resultType, tok, raw)
	case memberResultTTL:
		signs.TTL = true
	case memberResultCacheScope:
		signs.CacheScope = true
	case memberResultIsError:
		signs.OddError = signs.OddError || signs.IsError || tok != lexer.True && tok != lexer.False && tok != lexer.Null
		signs.IsError = tok == lexer.True
	case memberResultContent:
		signs.Content = at
	case memberResultMeta:
		signs.Meta = at
	case memberResultMetaRecord:
		signs.Record = true
	case memberResultError:
		const both = 1<<memberResultErrorCode | 1<<memberResultErrorMessage
		if tok == lexer.End && s.seen&both == both {
			signs.ResultError = at
		}
	default:
		s.noteStructured(m, at, tok, raw)
	}
}

// noteStructured records result.structuredContent and its members.
func (s *Scanner) noteStructured(m member, at Span, tok lexer.Token, raw []byte) {
	signs := &s.signs
	switch m {
	case memberResultStructured:
		signs.Structured = at
	case memberStructuredKind:
		signs.Kind = s.text(&s.kind, tok, raw)
	case memberStructuredSuccess:
		signs.SuccessFalse = tok == lexer.False
	case memberStructuredOK:
		signs.OKFalse = tok == lexer.False
	case memberStructuredError:
		signs.ErrorTrue = tok == lexer.True
	default:
	}
}

// text stores the value of the string raw in memory. It returns nil if raw is not a string.
func (s *Scanner) text(memory *[]byte, tok lexer.Token, raw []byte) []byte {
	if tok != lexer.String || raw == nil {
		return nil
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		*memory = append((*memory)[:0], raw[1:len(raw)-1]...)
	} else {
		*memory, _ = json.AppendUnquote((*memory)[:0], raw) // the lexer has checked it
	}
	return *memory
}
