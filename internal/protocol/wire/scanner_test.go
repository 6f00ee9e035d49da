package wire_test

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/protocol/lexer"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// found is a copy of Signs with the text in place of each position.
type found struct {
	Kind                                                 string
	ID, Method, Result, Error                            string
	ResultType, Content, Structured, SKind, Meta, Error2 string
	JSONRPC, IsError, Record                             bool
	SuccessFalse, OKFalse, ErrorTrue                     bool
	Duplicate                                            string
}

func foundIn(text []byte, s *wire.Signs) found {
	return found{
		Kind: s.Message().String(),
		ID:   s.ID.String(), Method: string(s.Method), Result: string(s.Result.Of(text)), Error: string(s.Error.Of(text)),
		ResultType: string(s.ResultType), Content: string(s.Content.Of(text)),
		Structured: string(s.Structured.Of(text)), SKind: string(s.Kind), Meta: string(s.Meta.Of(text)),
		Error2:  string(s.ResultError.Of(text)),
		JSONRPC: s.JSONRPC, IsError: s.IsError, Record: s.Record,
		SuccessFalse: s.SuccessFalse, OKFalse: s.OKFalse, ErrorTrue: s.ErrorTrue, Duplicate: s.Duplicate,
	}
}

func TestScannerSigns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     found
	}{
		{
			"a success", `{"jsonrpc":"2.0","id":1,"result":{"content":[{"isError":true,"type":"text"}]}}`,
			found{Kind: "response", JSONRPC: true, ID: `1`, Result: `{"content":[{"isError":true,"type":"text"}]}`, Content: `[{"isError":true,"type":"text"}]`},
		},
		{
			"an error of the tool, id last, escaped names", ` { "result" : { "content" : [ ] , "is\u0045rror" : true } , "jsonrpc":"2\u002e0", "i\u0064" : "a\u0062" } `,
			found{Kind: "response", ID: `"a\u0062"`, Result: `{ "content" : [ ] , "is\u0045rror" : true }`, Content: `[ ]`, IsError: true},
		},
		{
			"isError of another type", `{"id":1,"result":{"isError":"true"}}`,
			found{Kind: "response", ID: `1`, Result: `{"isError":"true"}`},
		},
		{
			"a JSON-RPC error without id", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"},"id":null}`,
			found{Kind: "response", JSONRPC: true, ID: `null`, Error: `{"code":-32700,"message":"x"}`},
		},
		{
			"an error in the result", `{"id":1,"result":{"error":{"message":"m","code":2001,"data":{"code":1}}}}`,
			found{Kind: "response", ID: `1`, Result: `{"error":{"message":"m","code":2001,"data":{"code":1}}}`, Error2: `{"message":"m","code":2001,"data":{"code":1}}`},
		},
		{
			"an error in the result without message", `{"id":1,"result":{"error":{"code":2001,"data":{"message":1}}}}`,
			found{Kind: "response", ID: `1`, Result: `{"error":{"code":2001,"data":{"message":1}}}`},
		},
		{
			"an error in the result that is an array", `{"id":1,"result":{"error":[{"code":1,"message":"m"}]}}`,
			found{Kind: "response", ID: `1`, Result: `{"error":[{"code":1,"message":"m"}]}`},
		},
		{
			"all of structuredContent", `{"id":1,"result":{"structuredContent":{"kind":"toolError:v1","success":false,"ok":false,"error":true}}}`,
			found{
				Kind: "response", ID: `1`, Result: `{"structuredContent":{"kind":"toolError:v1","success":false,"ok":false,"error":true}}`,
				Structured: `{"kind":"toolError:v1","success":false,"ok":false,"error":true}`,
				SKind:      "toolError:v1", SuccessFalse: true, OKFalse: true, ErrorTrue: true,
			},
		},
		{
			"the same words where they mean nothing", `{"id":1,"result":{"structuredContent":{"data":{"kind":"k","success":false,"ok":false,"error":true}},"kind":"k","ok":false}}`,
			found{
				Kind: "response", ID: `1`,
				Result:     `{"structuredContent":{"data":{"kind":"k","success":false,"ok":false,"error":true}},"kind":"k","ok":false}`,
				Structured: `{"data":{"kind":"k","success":false,"ok":false,"error":true}}`,
			},
		},
		{
			"structuredContent that is a list", `{"id":1,"result":{"structuredContent":[{"ok":false}]}}`,
			found{Kind: "response", ID: `1`, Result: `{"structuredContent":[{"ok":false}]}`, Structured: `[{"ok":false}]`},
		},
		{
			"the gateway's record", `{"id":1,"result":{"resultType":"input_required","_meta":{"io.github.recoursehq\/error":{"v":1}}}}`,
			found{
				Kind: "response", ID: `1`, ResultType: "input_required", Record: true,
				Result: `{"resultType":"input_required","_meta":{"io.github.recoursehq\/error":{"v":1}}}`,
				Meta:   `{"io.github.recoursehq\/error":{"v":1}}`,
			},
		},
		{
			"the gateway's record elsewhere", `{"id":1,"_meta":{"io.github.recoursehq/error":{}},"result":{"data":{"_meta":{"io.github.recoursehq/error":{}}}}}`,
			found{Kind: "response", ID: `1`, Result: `{"data":{"_meta":{"io.github.recoursehq/error":{}}}}`},
		},
		{
			"a request of the server", `{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"result":1,"name":"x"}}`,
			found{Kind: "request", JSONRPC: true, ID: `"s1"`, Method: "sampling/createMessage"},
		},
		{
			"a notification", `{"method":"notifications/message"}`,
			found{Kind: "notification", Method: "notifications/message"},
		},
		{"an empty object", `{}`, found{Kind: "invalid"}},
		{"a result without id", `{"result":{}}`, found{Kind: "invalid", Result: `{}`}},
		{"a result and an error", `{"id":1,"result":1,"error":2}`, found{Kind: "invalid", ID: `1`, Result: `1`, Error: `2`}},
		{"two ids", `{"id":1,"id":2,"result":{}}`, found{Kind: "response", ID: `2`, Result: `{}`, Duplicate: "/id"}},
		{
			"two of isError, one escaped", `{"id":1,"result":{"isError":true,"\u0069sError":false}}`,
			found{Kind: "response", ID: `1`, Result: `{"isError":true,"\u0069sError":false}`, Duplicate: "/result/isError"},
		},
		{"an id that is an object", `{"id":{"id":2},"result":{}}`, found{Kind: "response", Result: `{}`}},
		{
			"an id of 4096 bytes", `{"id":"` + strings.Repeat("i", 4096) + `","result":{}}`,
			found{Kind: "response", ID: `"` + strings.Repeat("i", 4096) + `"`, Result: `{}`},
		},
		{"an id of 4097 bytes", `{"id":"` + strings.Repeat("i", 4097) + `","result":{}}`, found{Kind: "response", Result: `{}`}},
		{"a method of 257 bytes", `{"id":1,"method":"` + strings.Repeat("m", 257) + `"}`, found{Kind: "request", ID: `1`}},
		{"names longer than any known name", `{"` + strings.Repeat("id", 500) + `":1,"result":{"` + strings.Repeat("k", 500) + `":1}}`, found{Kind: "invalid", Result: `{"` + strings.Repeat("k", 500) + `":1}`}},
		{"halves of surrogate pairs", `{"id":"\ud800","result":"\udc00"}`, found{Kind: "response", ID: `"\ud800"`, Result: `"\udc00"`}},
	}
	var s wire.Scanner
	for _, tt := range tests {
		text := []byte(tt.in)
		for _, size := range []int{len(text), 1, 2, 3, 7} {
			s.Reset()
			for piece := range slicesOf(text, size) {
				if n, err := s.Write(piece); err != nil || n != len(piece) {
					t.Fatalf("%s: Write = %d, %v", tt.name, n, err)
				}
			}
			if err := s.Close(); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			if diff := cmp.Diff(tt.want, foundIn(text, s.Signs())); diff != "" {
				t.Errorf("%s, %d bytes a time (-want +got):\n%s", tt.name, size, diff)
			}
		}
	}
}

// slicesOf cuts text into pieces of the given size.
func slicesOf(text []byte, size int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(text) > 0 {
			n := min(size, len(text))
			if !yield(bytes.Clone(text[:n])) { // a copy: the scanner must not keep a piece after Write
				return
			}
			text = text[n:]
		}
	}
}

func TestScannerRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     lexer.SyntaxError
	}{
		{"nothing", "", lexer.SyntaxError{Problem: lexer.Empty}},
		{"white space", "\r\n", lexer.SyntaxError{Problem: lexer.Empty, Offset: 2}},
		{"HTML", " <html>", lexer.SyntaxError{Problem: lexer.Unexpected, Offset: 1}},
		{"an array", " [{}]", lexer.SyntaxError{Problem: lexer.NotObject, Offset: 1}},
		{"a string, even if it is broken later", "\"a\n\"", lexer.SyntaxError{Problem: lexer.NotObject}},
		{"null", "null", lexer.SyntaxError{Problem: lexer.NotObject}},
		{"a second answer", `{"id":1}` + "\n" + `{"id":1}`, lexer.SyntaxError{Problem: lexer.Trailing, Offset: 9}},
		{"a comma after the answer", `{"id":1},`, lexer.SyntaxError{Problem: lexer.Trailing, Offset: 8}},
		{"a brace too many", `{"id":1}}`, lexer.SyntaxError{Problem: lexer.Trailing, Offset: 8}},
		{"cut in a string", `{"id":"1`, lexer.SyntaxError{Problem: lexer.Incomplete, Offset: 8}},
		{"cut in a character", "{\"id\":\"\xe2\x82", lexer.SyntaxError{Problem: lexer.Incomplete, Offset: 9}},
		{"cut after a value", `{"id":1`, lexer.SyntaxError{Problem: lexer.Incomplete, Offset: 7}},
		{"the wrong bracket", `{"a":[1}`, lexer.SyntaxError{Problem: lexer.Unexpected, Offset: 7}},
		{"no colon", `{"a" 1}`, lexer.SyntaxError{Problem: lexer.Unexpected, Offset: 5}},
		{"no name", `{"a":1,}`, lexer.SyntaxError{Problem: lexer.Unexpected, Offset: 7}},
		{"a number as name", `{1:1}`, lexer.SyntaxError{Problem: lexer.Unexpected, Offset: 1}},
		{"a broken literal", `{"a":nul1}`, lexer.SyntaxError{Problem: lexer.Unexpected, Offset: 8}},
		{"a number without digits after the point", `{"a":1.}`, lexer.SyntaxError{Problem: lexer.Unexpected, Offset: 7}},
		{"a lonely minus", `{"a":-}`, lexer.SyntaxError{Problem: lexer.Unexpected, Offset: 6}},
		{"an exponent without digits", `{"a":1e+}`, lexer.SyntaxError{Problem: lexer.Unexpected, Offset: 8}},
		{"a control character", "{\"a\":\"\x1f\"}", lexer.SyntaxError{Problem: lexer.ControlCharacter, Offset: 6}},
		{"an unknown escape", `{"a":"\a"}`, lexer.SyntaxError{Problem: lexer.BadEscape, Offset: 7}},
		{"a broken \\u escape", `{"a":"\u12g4"}`, lexer.SyntaxError{Problem: lexer.BadEscape, Offset: 10}},
		{"an overlong character", "{\"a\":\"\xc0\xaf\"}", lexer.SyntaxError{Problem: lexer.NotUTF8, Offset: 6}},
		{"an encoded surrogate", "{\"a\":\"x\xed\xa0\x80\"}", lexer.SyntaxError{Problem: lexer.NotUTF8, Offset: 7}},
		{"a character that stops in the middle", "{\"a\":\"\xe2\x82\"}", lexer.SyntaxError{Problem: lexer.NotUTF8, Offset: 6}},
		{"too deep", `{"a":` + strings.Repeat("[", 200), lexer.SyntaxError{Problem: lexer.TooDeep, Offset: 132}},
	}
	for _, tt := range tests {
		text := []byte(tt.in)
		for _, size := range []int{len(text) + 1, 1, 2, 3} {
			_, err := scan(text, size)
			got, ok := errors.AsType[*lexer.SyntaxError](err)
			if !ok {
				t.Errorf("%s: got error %v", tt.name, err)
				continue
			}
			if diff := cmp.Diff(tt.want, *got); diff != "" {
				t.Errorf("%s, %d bytes a time (-want +got):\n%s", tt.name, size, diff)
			}
		}
	}
}

// scan reads text in pieces of the given size and returns the first error.
func scan(text []byte, size int) (*wire.Scanner, error) {
	s := new(wire.Scanner)
	for piece := range slicesOf(text, size) {
		if _, err := s.Write(piece); err != nil {
			if _, again := s.Write([]byte(" ")); !errors.Is(again, err) {
				return s, errors.New("the second error differs from the first")
			}
			if !errors.Is(s.Close(), err) {
				return s, errors.New("Close does not repeat the error")
			}
			return s, err
		}
	}
	err := s.Close()
	return s, err
}

func TestScannerAllocatesNothing(t *testing.T) {
	text := answer1KB()
	var s wire.Scanner
	n := testing.AllocsPerRun(100, func() {
		s.Reset()
		for i := 0; i < len(text); i += 100 {
			_, _ = s.Write(text[i:min(i+100, len(text))])
		}
		if s.Close() != nil || s.Signs().Message() != wire.Response {
			t.Error("not a response")
		}
	})
	if n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

// An answer of 50 MB is read in pieces, in constant memory.
func TestScannerHugeAnswer(t *testing.T) {
	piece := []byte(strings.Repeat("0123456789abcde\\n", 4096))
	head, tail := []byte(`{"result":{"content":[{"type":"text","text":"`), []byte(`"}],"isError":true},"jsonrpc":"2.0","id":"x"}`)
	const pieces = 50 << 20 / (4096 * 17)
	var s wire.Scanner
	write := func(p []byte) {
		if _, err := s.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	n := testing.AllocsPerRun(1, func() {
		s.Reset()
		write(head)
		for range pieces {
			write(piece)
		}
		write(tail)
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n > pieces/100 { // the runtime's own count as well
		t.Errorf("got %v allocations, want none", n)
	}
	if signs := s.Signs(); !signs.IsError || signs.ID.String() != `"x"` || signs.Result.End != s.Offset()-len(`,"jsonrpc":"2.0","id":"x"}`) {
		t.Errorf("signs %+v", signs)
	}
}

func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		string(answer1KB()), `{"jsonrpc":"2.0","id":1,"result":{"isError":true}}`, `{"a":[1,-0.5e+3,{"b":null}]} {}`,
		"{\"a\":\"\xe2\x82\xac\\u20ac\\\"\"}", `{"result":{"structuredContent":{"kind":"needsInput:v1","ok":false}},"id":"\u0041"}`,
		`{"\u0069d":1,"id":2}`, `[1]`, "{\"a\":\"\xed\xa0\x80\"}",
	} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		whole, err := scan(in, len(in)+1)
		parts, errParts := scan(in, int(size)%16+1)
		if diff := cmp.Diff(err, errParts); diff != "" {
			t.Errorf("%q (-one piece +several):\n%s", in, diff)
		}
		if err == nil {
			if diff := cmp.Diff(foundIn(in, whole.Signs()), foundIn(in, parts.Signs())); diff != "" {
				t.Errorf("%q (-one piece +several):\n%s", in, diff)
			}
		}
		want := stdjson.Valid(in) && utf8.Valid(in) && bytes.HasPrefix(bytes.TrimLeft(in, " \t\r\n"), []byte("{"))
		if bad, ok := errors.AsType[*lexer.SyntaxError](err); ok && bad.Problem == lexer.TooDeep {
			return
		}
		if got := err == nil; got != want {
			t.Errorf("%q: %v, encoding/json says %t", in, err, want)
		}
	})
}

// Strings are read eight bytes at a time: every position of a character within the eight gives the same result.
func TestScannerReadsStringsAtAnyOffset(t *testing.T) {
	t.Parallel()
	for before := range 9 {
		for first := range 256 {
			for _, second := range []byte("\"\\nu x\x1f\x7f\x80") {
				for _, start := range []string{"", `\`, `\\`, `\"!`} {
					text := []byte(`{"a":"` + strings.Repeat("p", before) + start)
					text = append(append(text, byte(first), second), `pppppppp"}`...)
					_, err := scan(text, len(text))
					if want := stdjson.Valid(text) && utf8.Valid(text); (err == nil) != want {
						t.Fatalf("%q: %v, encoding/json says %t", text, err, want)
					}
				}
			}
		}
	}
}

// A caller may reuse the memory of a piece for the next; the scanner does not change it.
func TestScannerInReusedMemory(t *testing.T) {
	t.Parallel()
	const text = `{"result":{"resultType":"complete","isError":true},"jsonrpc":"2.0","id":"ab","method":"m"}`
	for size := 1; size < len(text); size++ {
		var s wire.Scanner
		buffer := make([]byte, 2*size)
		for p := text; p != ""; p = p[min(size, len(p)):] {
			n := copy(buffer[:size], p)
			_ = copy(buffer[size:], strings.Repeat("#", size))
			if _, err := s.Write(buffer[:n]); err != nil {
				t.Fatalf("in pieces of %d: %v", size, err)
			}
			if string(buffer[:n]) != p[:n] || strings.Trim(string(buffer[size:]), "#") != "" {
				t.Fatalf("in pieces of %d: the memory has changed: %q", size, buffer)
			}
		}
		if signs := s.Signs(); !signs.JSONRPC || string(signs.ID) != `"ab"` || string(signs.Method) != "m" ||
			string(signs.ResultType) != "complete" || !signs.IsError {
			t.Errorf("in pieces of %d: %+v", size, signs)
		}
	}
}
