package json_test

import (
	"testing"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Members keep their order; for a duplicate name, the last value counts.
func TestMembers(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"b":1,"a":{"y":2,"x":3},"b":4}`: `{"b":4,"a":{"y":2,"x":3},"end":["p","q"],"n":7}`,
		`[1]`:                             `{"end":["p","q"],"n":7}`,
		`{`:                               `{"end":["p","q"],"n":7}`,
	} {
		members := json.MembersOf([]byte(raw))
		members.Texts("end", []string{"p", "q"})
		members.Text("none", "")
		members.Some("none", json.Value("[]"))
		members.Number("n", 7)
		if got := string(members.AppendTo(nil)); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	for _, test := range [][2]string{
		{`{"b": 1, "a": [2], "c": 3}`, `{"b": 1, "a": [[2]], "c": 3}`}, {`{ "b":1 }`, `{ "b":1 }`}, {`"a"`, `"a"`}, {``, ``},
	} {
		nest := func(v json.Value) json.Value { return json.Value("[" + string(v) + "]") }
		if got := json.Change(json.Value(test[0]), "a", nest); string(got) != test[1] {
			t.Errorf("%s: %s, want %s", test[0], got, test[1])
		}
	}
}

func TestWithout(t *testing.T) {
	t.Parallel()
	for _, test := range [][2]string{
		{`{"b":1,"a":2}`, `{"b":1}`}, {`{"a":1}`, `{}`}, {`{ "b":1 }`, `{ "b":1 }`}, {`[]`, `[]`}, {`{`, `{`}, {``, ``},
	} {
		if got := json.Without(json.Value(test[0]), "a"); string(got) != test[1] {
			t.Errorf("%s: %s, want %s", test[0], got, test[1])
		}
	}
}
