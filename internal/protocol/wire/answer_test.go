package wire_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

func TestIDEqual(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want bool
	}{
		{`1`, `1`, true},
		{`1`, `2`, false},
		{`1`, `"1"`, false},
		{`0`, `-0`, true},
		{`-1`, `1`, false},
		{`1`, `1.0`, true},
		{`100`, `1e2`, true},
		{`1`, `1.5`, false},
		{`9007199254740992`, `9007199254740992.0`, true},
		{`9007199254740991`, `9007199254740992`, false},
		{`9007199254740993`, `9007199254740992`, true},
		{`12345678901234567890`, `12345678901234567000`, true},
		{`12345678901234567890`, `12345678901234597000`, false},
		{`"a"`, `"a"`, true},
		{`"a"`, `"\u0061"`, true},
		{`"a/b"`, `"a\/b"`, true},
		{`"\ud83d\ude00"`, `"😀"`, true},
		{`"a"`, `"A"`, false},
		{`"\u0061"`, `97`, false},
		{`"\""`, `"\\"`, false},
		{``, ``, true},
		{``, `0`, false},
		{``, `""`, false},
		{`null`, `0`, false},
		{`true`, `1`, false},
		{`1e999`, `1e998`, false},
	}
	for _, tt := range tests {
		a, b := wire.ID(tt.a), wire.ID(tt.b)
		if a.Equal(b) != tt.want || b.Equal(a) != tt.want {
			t.Errorf("%s equal to %s: %t and %t, want %t", a, b, a.Equal(b), b.Equal(a), tt.want)
		}
	}
}

func TestIDClone(t *testing.T) {
	t.Parallel()
	raw := []byte(`"a"`)
	id := wire.ID(raw)
	kept := id.Clone()
	raw[1] = 'b'
	if kept.String() != `"a"` || id.String() != `"b"` {
		t.Errorf("got clone %s, want %s", kept, id)
	}
	if !wire.ID(nil).Clone().IsZero() || kept.IsZero() {
		t.Error("IsZero")
	}
	if got := wire.IntID(-12).String(); got != "-12" {
		t.Errorf("IntID(-12) = %s", got)
	}
}

func TestAppendAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, got, want string }{
		{"a result", string(wire.AppendResult(nil, wire.ID(`"a"`), []byte(`{"x":1}`))), `{"jsonrpc":"2.0","id":"a","result":{"x":1}}`},
		{
			"an error", string(wire.AppendError([]byte(`+`), wire.ID(`1`), -32600, "a \"b\"\n\xff", []byte(`{"v":1}`))),
			"+{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"a \\\"b\\\"\\n\ufffd\",\"data\":{\"v\":1}}}",
		},
		{"an error without id and data", string(wire.AppendError(nil, nil, -32700, "m", nil)), `{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}`},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestSplice(t *testing.T) {
	t.Parallel()
	text := []byte(`{"params":{"_meta":{"progressToken":"p"}},"jsonrpc":"2.0","method":"m","id": 17 }`)
	var m wire.Message
	if err := wire.Parse(text, &m); err != nil {
		t.Fatal(err)
	}
	got := wire.Splice([]byte("+"), text,
		wire.Edit{At: m.IDAt, With: []byte(`"a"`)},
		wire.Edit{At: wire.Span{Start: m.MetaAt.Start + 1, End: m.MetaAt.Start + 1}, With: []byte(`"x":1,`)},
		wire.Edit{At: m.ProgressTokenAt, With: []byte(`99`)},
		wire.Edit{At: wire.Span{Start: m.MetaAt.Start + 1, End: m.MetaAt.Start + 1}, With: []byte(`"y":2,`)},
	)
	want := `+{"params":{"_meta":{"x":1,"y":2,"progressToken":99}},"jsonrpc":"2.0","method":"m","id": "a" }`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("Splice (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(string(text), string(wire.Splice(nil, text))); diff != "" {
		t.Errorf("Splice without edits (-want +got):\n%s", diff)
	}
	back := wire.SpliceID(nil, []byte(`{"id":5,"result":{}}`), wire.Span{Start: 6, End: 7}, wire.ID(`"\u0061"`))
	if diff := cmp.Diff(`{"id":"\u0061","result":{}}`, string(back)); diff != "" {
		t.Errorf("SpliceID (-want +got):\n%s", diff)
	}
}

func TestIsMediaType(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"application/json":                  true,
		"application/json; charset=utf-8":   true,
		"Application/JSON ;charset=\"utf-8": true,
		"application/json-rpc":              false,
		"application/problem+json":          false,
		"text/plain":                        false,
		"":                                  false,
		"text/plain; a=application/json":    false,
		"application/json, text/plain":      false,
	} {
		if got := wire.IsMediaType(in, wire.TypeJSON); got != want {
			t.Errorf("IsMediaType(%q) = %t", in, got)
		}
	}
	if !wire.IsMediaType("text/event-stream;charset=utf-8", wire.TypeEventStream) {
		t.Error("text/event-stream with a parameter")
	}
}

func TestAccepts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		accept       []string
		json, stream bool
	}{
		{nil, true, true},
		{[]string{""}, false, false},
		{[]string{"application/json, text/event-stream"}, true, true},
		{[]string{"application/json", "text/event-stream"}, true, true},
		{[]string{"application/json"}, true, false},
		{[]string{"text/event-stream"}, false, true},
		{[]string{"*/*"}, true, true},
		{[]string{"application/*;q=0.5,TEXT/*"}, true, true},
		{[]string{"text/html, */*;q=0.1"}, true, true},
		{[]string{"*/*, text/event-stream;q=0"}, true, false},
		{[]string{"text/event-stream; Q=0.000 , text/*, application/json;q=0.001"}, true, false},
		{[]string{"*/*;q=0, application/json, text/event-stream"}, true, true},
		{[]string{"*/*;q=0"}, false, false},
		{[]string{`application/json;v="a,b;q=0";q=1, text/event-stream`}, true, true},
		{[]string{"application/jsonx, text/event-stream2, application/, /json, *"}, false, false},
		{[]string{",, ;q=1, application/json;;q=1"}, true, false},
	}
	for _, tt := range tests {
		if got := wire.Accepts(tt.accept, wire.TypeJSON); got != tt.json {
			t.Errorf("%q accepts JSON: %t", tt.accept, got)
		}
		if got := wire.Accepts(tt.accept, wire.TypeEventStream); got != tt.stream {
			t.Errorf("%q accepts a stream: %t", tt.accept, got)
		}
	}
}
