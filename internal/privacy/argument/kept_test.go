package argument_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/privacy/argument"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

func TestBrief(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 200)
	for given, want := range map[string]string{
		`{"reference":"A-17","lines":[1, 2]}`:                    `{"reference":"A-17","lines":[1, 2]}`,
		`{"a":{"note":"` + long + `","n":1},"b":"` + long + `"}`: `{"a":{"note":"[202 bytes]","n":1},"b":"[202 bytes]"}`,
		`{"` + long + `":1}`:                                     `{"[202 bytes]":1}`,
		`{"list":[` + strings.Repeat("1,", 5000) + `1]}`:         `{"list":"[array]"}`,
		`{"pin":"p1n","n":[1234],"of":"p1ns"}`:                   `{"pin":"[credential]","n":["[credential]"],"of":"p1ns"}`,
		`"` + long + `"`:                                         `"[202 bytes]"`,
	} {
		if got := argument.Brief([]byte(given), []string{"p1n", "1234"}); string(got) != want {
			t.Errorf("%.60s: %s, want %s", given, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	const all = `{"s":"x","n":1,"b":true,"o":{"in":1},"a":[1],"z":null}`
	const want = `{"s":"[string]","n":"[number]","b":"[boolean]","o":"[object]","a":"[array]","z":"[null]"}`
	if got := argument.Names([]byte(all)); string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	var many strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, `"%03d%s":1,`, i, strings.Repeat("x", i*3))
	}
	got := argument.Names([]byte("{" + strings.TrimSuffix(many.String(), ",") + "}"))
	if !json.Valid(got) || len(got) > 16<<10 || !strings.HasSuffix(string(got), `"...":"[36 more]"}`) {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func FuzzBrief(f *testing.F) {
	f.Add([]byte(`{"a":"b","list":[1,"\u00e4",null]}`))
	f.Fuzz(func(t *testing.T, arguments []byte) {
		if !json.Valid(arguments) {
			return
		}
		for _, kept := range [][]byte{argument.Brief(arguments, []string{"b"}), argument.Names(arguments)} {
			if !json.Valid(kept) {
				t.Errorf("%q becomes %q", arguments, kept)
			}
		}
	})
}
