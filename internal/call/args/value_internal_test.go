package args

import (
	"bytes"
	"errors"
	"testing"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/lexer"
)

// The parser accepts exactly what the JSON library accepts, with the same result.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` {"a" : [1, -0.5e+3 ,{"b":null}], "\u0062":"\"\\\u00e9\ud83d\ude00", "c":true} `, `[]`, `7`, ` 7 `, `-`, `"a"`, `null`, ``, ` `, `{} {}`, `{},`, `{"a":1,}`,
		`{"a":1,"\u0061":2}`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}", `{"a"`, `{"a":`, `{"a":1`, `[1`, `[1,`, `[1}`, `{1:2}`,
		`{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1,"9":1,"10":1,"11":1,"12":1,"13":1,"14":1,"15":1,"16":1,"17":1,"18":1,"19":{"1":1}}`,
		`{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1,"9":1,"10":1,"11":1,"12":1,"13":1,"14":1,"15":1,"16":1,"17":1,"18":1,"18":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		v, err := parse(input)
		bad, _ := errors.AsType[*lexer.SyntaxError](err)
		if errors.Is(err, errBounds) || bad != nil && bad.Problem == lexer.TooDeep {
			return
		}
		if got, want := err == nil, json.Valid(input); got != want {
			t.Fatalf("%q: %v, the library says %t", input, err, want)
		}
		if err == nil {
			compare(t, v, bytes.Trim(input, " \t\r\n"))
		}
	})
}

func compare(t *testing.T, v *value, raw json.Value) {
	t.Helper()
	if !bytes.Equal(v.raw, raw) || v.kind != raw.Kind() {
		t.Fatalf("%c %q, want %q", v.kind, v.raw, raw)
	}
	members := json.MembersOf(raw)
	items, _ := json.Items(raw, maxValues)
	if len(v.members) != len(members) || len(v.items) != len(items) {
		t.Fatalf("%q: %d members and %d items, want %d and %d", raw, len(v.members), len(v.items), len(members), len(items))
	}
	for i, m := range members {
		found := v.member(m.Name)
		if found != &v.members[i].value {
			t.Fatalf("%q: no member %q", raw, m.Name)
		}
		compare(t, found, m.Value)
	}
	for i := range items {
		compare(t, &v.items[i], items[i])
	}
}
