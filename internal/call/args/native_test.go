package args_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A number beyond 64 bits is refused for a program that cannot read it; violations of the schema come first.
func TestCheckNative(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"properties":{"n":{"type":"integer"},"few":{"type":"integer","maximum":100},"either":{"type":["string","integer"]},"x":{"type":"number"},"list":{"items":{"type":"integer"}}}}`)
	const most, least = "must be at most 9200000000000000000", "must be at least -9200000000000000000"
	const wide = "must be a number that fits into 64 bits"
	for arguments, want := range map[string][]string{
		`{"n":9200000000000000000,"x":1e300,"list":[1,-9200000000000000000]}`: nil,
		`{"n":2.0,"x":1e30}`:           nil,
		`{"n":1e20}`:                   {"n " + most},
		`{"n":9223372036854775808}`:    {"n " + most},
		`{"n":9223372036854775807}`:    {"n " + most}, // as a float64 it would be 2^63
		`{"n":-1e30,"either":1e30}`:    {"either " + most, "n " + least},
		`{"list":[1,1e30]}`:            {"list.1 " + most},
		`{"few":1e30}`:                 {"few must be at most 100"},
		`{"few":1e400}`:                {"few must be at most 100", "few " + wide},
		`{"x":1e400}`:                  {"x " + wide},
		`{"n":1e400}`:                  {"n " + wide},
		`{"n":-1e99999999999}`:         {"n " + wide},
		`{"free":{"deep":[0,-1e999]}}`: {"free.deep.1 " + wide},
		`{"either":"1e400"}`:           nil,
	} {
		var got []string
		for _, v := range s.CheckNative(t.Context(), []byte(arguments)) {
			got = append(got, v.Message)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", arguments, diff)
		}
		if s.Check(t.Context(), []byte(`{"n":1e20,"x":1e400}`)) != nil {
			t.Error("Check refuses a number beyond 64 bits")
		}
	}
}
