package once_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// However the same arguments are written, their fingerprint is the same; others have another one.
func TestPrint(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("7", 400)
	for _, same := range [][]string{
		{``, `{}`, ` { } `},
		{`{"a":1,"b":[2,"x"]}`, `{ "b" : [2, "\u0078"], "a" : 1.0 }`, `{"a":10e-1,"b":[0.2e1,"x"]}`},
		{`{"a":0}`, `{"a":-0}`, `{"a":0.00}`, `{"a":0e99}`},
		{`{"a":1e400}`, `{"a":10e399}`},
		{`{"a":` + long + `}`, `{"a":` + long + `.0}`},
		{`{"a":0.1}`, `{"a":1e-1}`},
		{`{"e":"\u20ac"}`, `{"e":"€"}`},
	} {
		first := once.Print(json.Value(same[0]))
		for _, text := range same[1:] {
			if once.Print(json.Value(text)) != first {
				t.Errorf("%.60s is not %.60s", text, same[0])
			}
		}
	}
	seen := map[string]string{}
	for _, text := range []string{
		`{}`, `{"a":1}`, `{"a":"1"}`, `{"a":[1]}`, `{"a":true}`, `{"a":null}`, `{"a":1e400}`, `{"a":1e401}`, `{"a":` + long + `}`, `{"a":` + long + `7}`,
		`{"id":12345678901234567}`, `{"id":12345678901234568}`, `{"a":0.1}`, `{"a":0.10000000000000000001}`, `{"a":"1.0"}`, `{"b":1}`, `{"a":-1}`,
		`{"a":1e99999999999999999999}`, `{"a":1e99999999999999999998}`, `{"a":1e-1}x`,
	} {
		if other, ok := seen[once.Print(json.Value(text))]; ok && text != `{"a":1e-1}x` {
			t.Errorf("%.60s is %.60s", text, other)
		}
		seen[once.Print(json.Value(text))] = text
	}
}

// A number keeps its exact value.
func TestPrintOfNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, shift := rapid.Int64().Draw(t, "n"), rapid.IntRange(0, 30).Draw(t, "shift")
		plain := once.Print(json.Value(strconv.FormatInt(n, 10)))
		shifted := once.Print(json.Value(fmt.Sprintf("%d%se-%d", n, strings.Repeat("0", shift), shift)))
		next := once.Print(json.Value(strconv.FormatInt(n-1, 10)))
		if plain != shifted || plain == next {
			t.Errorf("%d, shifted by %d: %t; next: %t", n, shift, plain == shifted, plain == next)
		}
	})
}

// Words of a scope cannot be moved from one to the other.
func TestID(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, words := range [][]string{{"a", "b"}, {"ab"}, {"", "ab"}, {"ab", ""}, {"a", "", "b"}, {"1:a"}, {"a1:b"}} {
		if id := once.ID(words...); seen[id] || len(id) != 64 {
			t.Errorf("%q: %s", words, id)
		} else {
			seen[id] = true
		}
	}
}

// What differs is named, and no value can be read from what is kept.
func TestDiffering(t *testing.T) {
	t.Parallel()
	kept := once.Fields(json.Value(`{"order":{"id":"A","amount":12,"lines":[{"sku":"x"}]},"note":"hello"}`))
	if strings.Contains(kept, "hello") || strings.Contains(kept, "12}") {
		t.Errorf("kept %s", kept)
	}
	got := once.Differing(kept, json.Value(`{"order":{"id":"A","amount":13,"lines":[{"sku":"x"}],"gift":true}}`))
	if fmt.Sprint(got) != "[/note /order/amount /order/gift]" {
		t.Errorf("got %v", got)
	}
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, `,"field-%d":%d`, i, i)
	}
	if kept := once.Fields(json.Value("{" + many.String()[1:] + "}")); len(kept) > 8<<10 {
		t.Errorf("kept %d bytes", len(kept))
	}
}

// A key is a text of at most 255 bytes.
func TestCheckKey(t *testing.T) {
	t.Parallel()
	for key, good := range map[string]bool{
		"k-1": true, "ß €": true, strings.Repeat("k", 255): true,
		"": false, strings.Repeat("k", 256): false, "a\x00b": false, "a\nb": false, "a\xff": false, "a\u0085b": false,
	} {
		if wrong := once.CheckKey(key); (wrong == "") != good {
			t.Errorf("%.20q: %s", key, wrong)
		}
	}
}
