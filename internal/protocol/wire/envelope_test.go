package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/lexer"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     wire.Message
	}{
		{
			name: "a call of the modern era",
			in: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get","arguments":{"a":1},` +
				`"_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
				`"io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
			want: wire.Message{
				Kind: wire.Request, ID: wire.ID(`7`), Method: "tools/call", Name: "get", Arguments: []byte(`{"a":1}`),
				ProgressToken: []byte(`"p"`), ProtocolVersion: "2026-07-28",
				ClientInfo: []byte(`{"name":"c"}`), ClientCapabilities: []byte(`{}`),
			},
		},
		{
			name: "members in another order, spelled with escapes and white space",
			in:   " {\n\"params\" : { \"arguments\" : [ ] , \"n\\u0061me\":\"g\\u00e9t\" },\t\"\\u0069d\":\"a\\\"b\",\"method\":\"tools\\/call\",\"jsonrpc\":\"2.0\"}\r\n",
			want: wire.Message{
				Kind: wire.Request, ID: wire.ID(`"a\"b"`), Method: "tools/call", Name: "gét", Arguments: []byte(`[ ]`),
			},
		},
		{
			name: "a resource is called by its uri",
			in:   `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"name":"n","uri":"file:///a"}}`,
			want: wire.Message{Kind: wire.Request, ID: wire.ID(`1`), Method: "resources/read", Name: "file:///a"},
		},
		{
			name: "a cancellation",
			in:   `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"r-1","reason":"x"}}`,
			want: wire.Message{Kind: wire.Notification, Method: "notifications/cancelled", RequestID: wire.ID(`"r-1"`)},
		},
		{
			name: "a request that asks for logs",
			in:   `{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/logLevel":"inf\u006f"}}}`,
			want: wire.Message{Kind: wire.Request, ID: wire.ID(`1`), Method: "x", LogLevel: "info"},
		},
		{
			name: "what is said on a subscription",
			in:   `{"jsonrpc":"2.0","method":"notifications/x","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s-1"}}}`,
			want: wire.Message{Kind: wire.Notification, Method: "notifications/x", Subscription: wire.ID(`"s-1"`)},
		},
		{
			name: "the end of a subscription",
			in:   `{"jsonrpc":"2.0","id":7,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}`,
			want: wire.Message{
				Kind: wire.Response, ID: wire.ID(`7`), Subscription: wire.ID(`7`),
				Result: []byte(`{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}`),
			},
		},
		{
			name: "progress",
			in:   `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":1}}`,
			want: wire.Message{Kind: wire.Notification, Method: "notifications/progress", ProgressToken: []byte(`3`)},
		},
		{
			name: "a result of the client",
			in:   `{"jsonrpc":"2.0","id":"s-1","result":{"action":"accept"}}`,
			want: wire.Message{Kind: wire.Response, ID: wire.ID(`"s-1"`), Result: []byte(`{"action":"accept"}`)},
		},
		{
			name: "an error of the client",
			in:   `{"jsonrpc":"2.0","id":0,"error":{"code":-1,"message":"no"}}`,
			want: wire.Message{Kind: wire.Response, ID: wire.ID(`0`), Error: []byte(`{"code":-1,"message":"no"}`)},
		},
		{
			name: "an unknown method with unknown members",
			in:   `{"jsonrpc":"2.0","id":-0,"method":"x/y","params":[1,{"name":"n"}],"extra":null}`,
			want: wire.Message{Kind: wire.Request, ID: wire.ID(`-0`), Method: "x/y"},
		},
		{
			name: "a name that is a number is left to the next stage",
			in:   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5,"arguments":null}}`,
			want: wire.Message{Kind: wire.Request, ID: wire.ID(`1`), Method: "tools/call", Arguments: []byte(`null`)},
		},
		{
			name: "the same name in different objects",
			in:   `{"jsonrpc":"2.0","id":1,"method":"m","params":{"id":{"id":[{"id":1},{"id":2}]}}}`,
			want: wire.Message{Kind: wire.Request, ID: wire.ID(`1`), Method: "m"},
		},
		{
			name: "a pair of surrogates, and the name that its text would have without escapes",
			in:   `{"jsonrpc":"2.0","id":1,"method":"m","params":{"\ud83d\ude00":1,"\\ud83d\\ude00":2}}`,
			want: wire.Message{Kind: wire.Request, ID: wire.ID(`1`), Method: "m"},
		},
	}
	var reused wire.Message // reused, so that a leftover of one message would show in the next
	for _, tt := range tests {
		if err := wire.Parse([]byte(tt.in), &reused); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		ignore := cmpopts.IgnoreFields(wire.Message{}, "Raw", "IDAt", "NameAt", "Params", "ParamsAt", "Meta", "MetaAt", "ProgressTokenAt", "RequestIDAt", "SubscriptionAt")
		if diff := cmp.Diff(tt.want, reused, ignore, cmpopts.IgnoreUnexported(wire.Message{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if spelled := reused.NameAt.Of(reused.Raw); reused.Name != "" && mustUnquote(t, spelled) != reused.Name {
			t.Errorf("%s: got %s at the place of the name, want %q", tt.name, spelled, reused.Name)
		}
		for what, pair := range map[string][2][]byte{
			"id":             {reused.ID, reused.IDAt.Of(reused.Raw)},
			"_meta":          {reused.Meta, reused.MetaAt.Of(reused.Raw)},
			"params":         {reused.Params, reused.ParamsAt.Of(reused.Raw)},
			"progress token": {reused.ProgressToken, reused.ProgressTokenAt.Of(reused.Raw)},
			"request id":     {reused.RequestID, reused.RequestIDAt.Of(reused.Raw)},
			"subscription":   {reused.Subscription, reused.SubscriptionAt.Of(reused.Raw)},
		} {
			if !bytes.Equal(pair[0], pair[1]) {
				t.Errorf("%s: got %q at the place of the %s, want %q", tt.name, pair[1], what, pair[0])
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const (
		malformed = wire.CodeParseError
		invalid   = wire.CodeInvalidRequest
	)
	call := func(args string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":` + args + `}}`
	}
	tests := []struct {
		name, in string
		code     int
		message  string
		pointer  string
		id       string
	}{
		{"nothing", "", malformed, "the message is not JSON: no JSON text at byte 0", "", ""},
		{"white space", " \n ", malformed, "the message is not JSON: no JSON text at byte 3", "", ""},
		{"HTML", "<html>", malformed, "the message is not JSON: unexpected character '<' at byte 0", "", ""},
		{"a byte order mark", "\ufeff{}", malformed, "the message is not JSON: unexpected character 'ï' at byte 0", "", ""},
		{"cut", strings.TrimSuffix(call(`{"a":[1,2`), "}}"), malformed, "the message is not JSON: end of the text before the end of its value at byte 88, in /params/arguments/a/1", "/params/arguments/a/1", ""},
		{"two messages", `{"jsonrpc":"2.0"} {}`, malformed, "the message is not JSON: data after the end of the object at byte 18", "", ""},
		{"a comma too many", call(`[1,]`), malformed, "the message is not JSON: unexpected character ']' at byte 82, in /params/arguments/1", "/params/arguments/1", ""},
		{"a leading zero", call(`{"n":01}`), malformed, "the message is not JSON: unexpected character '1' at byte 85, in /params/arguments/n", "/params/arguments/n", ""},
		{"a raw newline", call("\"a\nb\""), malformed, "the message is not JSON: control character in a string at byte 81, in /params/arguments", "/params/arguments", ""},
		{"an unknown escape", call(`"\x"`), malformed, "the message is not JSON: invalid escape in a string at byte 81, in /params/arguments", "/params/arguments", ""},
		{"half of a surrogate pair", call(`"\ud800"`), malformed, "the message is not JSON: half of a surrogate pair in a string at byte 86, in /params/arguments", "/params/arguments", ""},
		{"the second half alone", call(`"\udc00\ud800"`), malformed, "the message is not JSON: half of a surrogate pair in a string at byte 85, in /params/arguments", "/params/arguments", ""},
		{"two first halves", call(`"\ud800\ud800"`), malformed, "the message is not JSON: half of a surrogate pair in a string at byte 91, in /params/arguments", "/params/arguments", ""},
		{"invalid UTF-8", call("{\"k\":[0,\"\xc3\"]}"), malformed, "the message is not UTF-8: invalid UTF-8 in a string at byte 88, in /params/arguments/k/1", "/params/arguments/k/1", ""},
		{"no quotes around a name", `{"a":{"b":1,c:2}}`, malformed, "the message is not JSON: unexpected character 'c' at byte 12, in /a", "/a", ""},
		{"no value", `{"a":[{"b":}]}`, malformed, "the message is not JSON: unexpected character '}' at byte 11, in /a/0/b", "/a/0/b", ""},
		{"no comma", `{"a":[1 2]}`, malformed, "the message is not JSON: unexpected character '2' at byte 8, in /a/0", "/a/0", ""},
		{"UTF-16", "{\x00\"\x00", malformed, "the message is not JSON: unexpected character '\\x00' at byte 1", "", ""},

		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, invalid, "the message is a batch; send each message on its own", "", ""},
		{"a number", ` 12`, invalid, "the message is not a JSON object", "", ""},
		{"a member twice", call(`{"a":1,"b":{},"a":2}`), invalid, "the member /params/arguments/a stands twice in its object, the second time at byte 93", "/params/arguments/a", ""},
		{"a member twice, spelled differently", call(`{"a":1,"\u0061":2}`), invalid, "the member /params/arguments/a stands twice in its object, the second time at byte 86", "/params/arguments/a", ""},
		{"a member twice, the escape first", call(`[{"\u0061":1,"a":2}]`), invalid, "the member /params/arguments/0/a stands twice in its object, the second time at byte 92", "/params/arguments/0/a", ""},
		{"two ids", `{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`, invalid, "the member /id stands twice in its object, the second time at byte 24", "/id", ""},
		{"a member twice in what is not JSON", `{"a":1,"a":2`, malformed, "the message is not JSON: end of the text before the end of its value at byte 12, in /a", "/a", ""},
		{"129 levels", call(strings.Repeat("[", 127) + strings.Repeat("]", 127)), invalid, "the message has more than 128 levels of nesting at byte 205", "/params/arguments" + strings.Repeat("/0", 119) + "/...", ""},
		{"a million levels", strings.Repeat("[", 1e6), invalid, "the message has more than 128 levels of nesting at byte 128", strings.Repeat("/0", 128), ""},

		{"id null", `{"jsonrpc":"2.0","id":null,"method":"m"}`, invalid, "the id is null; it must be a string or an integer, at byte 22", "/id", ""},
		{"id fractional", `{"jsonrpc":"2.0","id":1.5,"method":"m"}`, invalid, "the id is a number with a fraction or an exponent; it must be a string or an integer, at byte 22", "/id", ""},
		{"id a whole number with a fraction", `{"jsonrpc":"2.0","id":1.0,"method":"m"}`, invalid, "the id is a number with a fraction or an exponent; it must be a string or an integer, at byte 22", "/id", ""},
		{"id with an exponent", `{"jsonrpc":"2.0","id":1e2,"method":"m"}`, invalid, "the id is a number with a fraction or an exponent; it must be a string or an integer, at byte 22", "/id", ""},
		{"id a boolean", `{"jsonrpc":"2.0","id":true,"method":"m"}`, invalid, "the id is a boolean; it must be a string or an integer, at byte 22", "/id", ""},
		{"id an object", `{"jsonrpc":"2.0","id":{},"method":"m"}`, invalid, "the id is an object; it must be a string or an integer, at byte 22", "/id", ""},
		{"id an array", `{"jsonrpc":"2.0","id":[1],"method":"m"}`, invalid, "the id is an array; it must be a string or an integer, at byte 22", "/id", ""},
		{"id too long", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", wire.MaxID+1) + `","method":"m"}`, invalid, "the id is longer than 4096 bytes, at byte 22", "/id", ""},
		{"no jsonrpc", `{"id":1,"method":"m"}`, invalid, `the member jsonrpc must be "2.0"`, "/jsonrpc", "1"},
		{"jsonrpc a number", `{"jsonrpc":2.0,"id":1,"method":"m"}`, invalid, `the member jsonrpc must be "2.0", at byte 11`, "/jsonrpc", "1"},
		{"method a number", `{"jsonrpc":"2.0","id":"x","method":1}`, invalid, "the method must be a string, at byte 35", "/method", `"x"`},
		{"no method", `{"jsonrpc":"2.0","id":1}`, invalid, "the member method is missing", "/method", "1"},
		{"params a string", `{"jsonrpc":"2.0","id":1,"method":"m","params":"p"}`, invalid, "params must be an object or an array, at byte 46", "/params", "1"},
		{"params null", `{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, invalid, "params must be an object or an array, at byte 46", "/params", "1"},
		{"a method and a result", `{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, invalid, "a message has a method, or a result, or an error, but not two of them, at byte 33", "", "1"},
		{"a result and an error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, invalid, "a response has a result or an error, but not both, at byte 44", "", "1"},
		{"a response without id", `{"jsonrpc":"2.0","result":{}}`, invalid, "a response needs the id of its request", "/id", ""},
		{"a call without an id", `{"jsonrpc":"2.0","method":"tools/call","params":{}}`, invalid, "a request has no id: tools/call, at byte 26", "/id", ""},
		{"a call without an id, spelled differently", `{"jsonrpc":"2.0","method":"tools\u002fcall"}`, invalid, "a request has no id: tools/call, at byte 26", "/id", ""},
		{"an unknown method without an id", `{"jsonrpc":"2.0","method":"foo/bar"}`, invalid, "a request has no id: foo/bar, at byte 26", "/id", ""},
		{"a notification in capitals", `{"jsonrpc":"2.0","method":"Notifications/initialized"}`, invalid, "a request has no id: Notifications/initialized, at byte 26", "/id", ""},
		{"a method without a name, without an id", `{"jsonrpc":"2.0","method":""}`, invalid, "a request has no id: , at byte 26", "/id", ""},
		{"a long name twice", call(`{"` + strings.Repeat("n", 500) + `":1,"` + strings.Repeat("n", 500) + `":2}`), invalid, "the member /params/arguments/" + strings.Repeat("n", 64) + "... stands twice in its object, the second time at byte 585", "/params/arguments/" + strings.Repeat("n", 64) + "...", ""},
	}
	var m wire.Message
	for _, tt := range tests {
		err := wire.Parse([]byte(tt.in), &m)
		got, ok := errors.AsType[*wire.Error](err)
		if !ok {
			t.Errorf("%s: got error %v", tt.name, err)
			continue
		}
		want := wire.Error{Code: tt.code, Message: tt.message, Pointer: tt.pointer, Offset: got.Offset}
		if diff := cmp.Diff(want, *got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if strings.Contains(got.Message, "at byte") && !strings.Contains(got.Message, fmt.Sprintf("at byte %d", got.Offset)) {
			t.Errorf("%s: got offset %d", tt.name, got.Offset)
		}
		if m.ID.String() != tt.id {
			t.Errorf("%s: got id %q for the answer, want %q", tt.name, m.ID, tt.id)
		}
		if m.Kind != wire.Invalid || m.Method != "" {
			t.Errorf("%s: got kind %v and method %q, want none", tt.name, m.Kind, m.Method)
		}
	}
}

func TestParseAccepts128Levels(t *testing.T) {
	t.Parallel()
	var m wire.Message
	in := `{"jsonrpc":"2.0","id":1,"method":"m","params":` + strings.Repeat("[", 127) + strings.Repeat("]", 127) + `}`
	if err := wire.Parse([]byte(in), &m); err != nil {
		t.Error(err)
	}
}

func TestParseAllocatesTheNameOnlyWhenReused(t *testing.T) {
	text := request1KB()
	var m wire.Message
	if n := testing.AllocsPerRun(100, func() { _ = wire.Parse(text, &m) }); n != 1 {
		t.Errorf("got %v allocations, want none", n)
	}
}

// A body of 4 MiB with as many names as fit must not take a multiple of its size.
func TestParseBoundsMemory(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"0":0`)
	for i := 1; b.Len() < 4<<20-20; i++ {
		fmt.Fprintf(&b, `,"%x":0`, i)
	}
	b.WriteString(`}}`)
	text := []byte(b.String())
	var m wire.Message
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := wire.Parse(text, &m); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(6*len(text)); got > limit {
		t.Errorf("%d bytes allocated for %d bytes of text, want at most %d", got, len(text), limit)
	}
	if err := wire.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1,"b":{"a":1}}}`), &m); err != nil {
		t.Errorf("the next message: %v", err)
	}
}

// Names spelled with escapes stay distinct, even after the table of names has grown.
func TestParseManyEscapedNames(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":0`)
	for i := range 1000 {
		fmt.Fprintf(&b, `,"\u%04x":%d`, 0x4e00+i, i)
	}
	names := b.String()
	var m wire.Message
	if err := wire.Parse([]byte(names+`}}`), &m); err != nil {
		t.Error(err)
	}
	for _, again := range []string{`"一"`, `"\u4e00"`, `"\u0061"`} {
		err := wire.Parse([]byte(names+`,`+again+`:0}}`), &m)
		if err == nil || !strings.Contains(err.Error(), "stands twice") {
			t.Errorf("%s again: %v", again, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		string(request1KB()), `{"jsonrpc":"2.0","id":1,"method":"m"}`, `{"a":1,"\u0061":2}`, `{"":{"":[{}]}}`,
		`{"\ud83d\ude00":"\ud800"}`, "{\"a\":\"\xe2\x82\"}", `[1e5,-0.1E+2,true]`, `{"jsonrpc":"2.0","id":"\"","result":[]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var m wire.Message
		err := wire.Parse(in, &m)
		bad, refused := errors.AsType[*wire.Error](err)
		if refused != (err != nil) {
			t.Fatalf("error %v is not an *Error", err)
		}
		// Another reader, as strict as this one, says what is right.
		var v json.Value
		strict := json.Unmarshal(in, &v) == nil
		switch {
		case !refused && !strict:
			t.Errorf("got %q accepted, which is not strict JSON", in)
		case refused && bad.Code == wire.CodeParseError && strict:
			t.Errorf("%q: %v", in, err)
		case refused && (!utf8.ValidString(bad.Message) || len(bad.Message) > 1000):
			t.Errorf("message %q", bad.Message)
		case refused && (bad.Offset < 0 || bad.Offset > len(in)):
			t.Errorf("offset %d of %d", bad.Offset, len(in))
		case !refused && m.Kind == wire.Invalid:
			t.Error("accepted without a kind")
		}
	})
}

// Callers recognise an incomplete text by the errors of package io.
func TestSyntaxErrorIsAnErrorOfPackageIO(t *testing.T) {
	t.Parallel()
	var s wire.Scanner
	if err := s.Close(); !errors.Is(err, io.EOF) {
		t.Errorf("nothing: %v", err)
	}
	s.Reset()
	if _, err := s.Write([]byte(`{"a`)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut: %v", err)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	got := fmt.Sprintf("%v, %v, %v, %v; %v, %v, %v; %v, %v, %v; %v",
		wire.Request, wire.Notification, wire.Response, wire.Invalid,
		wire.Legacy, wire.Modern, wire.Era(0),
		lexer.Trailing, lexer.NotObject, lexer.Problem(0),
		&lexer.SyntaxError{Problem: lexer.TooDeep, Offset: 3})
	want := "request, notification, response, invalid; legacy, modern, unknown; data after the end of the object, " +
		"a value that is not an object, problem 0; more than 128 levels of nesting at byte 3"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func mustUnquote(t *testing.T, spelled []byte) string {
	t.Helper()
	text, err := json.AppendUnquote(nil, spelled)
	if err != nil {
		t.Fatalf("%s: %v", spelled, err)
	}
	return string(text)
}
