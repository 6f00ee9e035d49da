package bridge_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/bridge"
	"github.com/recoursehq/recourse/internal/wire"
)

const member = `"more":1`

// rewrite rewrites an answer to a request that was sent with the id 7 for a client that
// has called it "é", and demands that the size of the pieces makes no difference, unless
// a member stands twice: then it is no answer, before as well as after.
func rewrite(tb testing.TB, text []byte) string {
	tb.Helper()
	whole := bridge.Rewrite(text, max(len(text), 1), wire.ID("7"), wire.ID(`"é"`), member)
	var scan wire.Scanner
	if _, _ = scan.Write(text); scan.Signs().Duplicate != "" {
		return string(whole)
	}
	for _, size := range []int{1, 3, 64, 100} {
		if diff := cmp.Diff(string(whole), string(bridge.Rewrite(text, size, wire.ID("7"), wire.ID(`"é"`), member))); diff != "" {
			tb.Errorf("%q in pieces of %d (-whole +pieces):\n%s", text, size, diff)
		}
	}
	return string(whole)
}

func TestRewriter(t *testing.T) {
	t.Parallel()
	long := string(bytes.Repeat([]byte("x"), 200))
	for _, tt := range []struct{ name, in, want string }{
		{"id first", `{"jsonrpc":"2.0","id":7,"result":{"a":1}}`, `{"jsonrpc":"2.0","id":"é","result":{"a":1,"more":1}}`},
		{"id last", `{"result":{"a":"` + long + `"},"jsonrpc":"2.0","id":7}`, `{"result":{"a":"` + long + `","more":1},"jsonrpc":"2.0","id":"é"}`},
		{"id spelled anew", `{"jsonrpc":"2.0","id":7.0,"result":{}}`, `{"jsonrpc":"2.0","id":"é","result":{"more":1}}`},
		{"empty result", `{"id":7,"result":{ }}`, `{"id":"é","result":{ "more":1}}`},
		{"no object", `{"id":7,"result":[{}]}`, `{"id":"é","result":[{}]}`},
		{"error", `{"id":7,"error":{"code":1}}`, `{"id":"é","error":{"code":1}}`},
		{"another's", `{"id":8,"result":{}}`, `{"id":null,"result":{"more":1}}`},
		{"no JSON", `{"id":7,"result":{}} x`, `{"id":"é","result":{"more":1}} x`},
		{"HTML", `<html>7</html>`, `<html>7</html>`},
		{"nothing", ``, ``},
		{"cut off", `{"id":7,"result":{"a"`, `{"id":"é","result":{"a"`},
		{"ids inside", `{"result":{"id":7,"result":{}},"id":7}`, `{"result":{"id":7,"result":{},"more":1},"id":"é"}`},
	} {
		if diff := cmp.Diff(tt.want, rewrite(t, []byte(tt.in))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// Whatever a server answers, in whatever pieces: an answer stays one, and its result
// gains the member and nothing else.
func FuzzRewriter(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":7,"result":{"content":[]}}`, `{"result":{},"id":7.0}`, "{\n\"id\":\n7 ,\"result\" : {\"a\":[1]} }",
		`{"id":7,"id":7,"result":{},"result":{}}`, `{"id":{"a":7}}`, `[]`, `{"id":"7`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		out := rewrite(t, text)
		var scan wire.Scanner
		_, err := scan.Write(text)
		if signs := scan.Signs(); err != nil || scan.Close() != nil || signs.Message() != wire.Response || signs.Duplicate != "" {
			return
		}
		var was, is struct {
			Result map[string]json.RawMessage `json:"result"`
		}
		if json.Unmarshal(text, &was) != nil || was.Result == nil || was.Result["more"] != nil {
			return
		}
		if err := json.Unmarshal([]byte(out), &is); err != nil {
			t.Fatalf("%q has become %q: %v", text, out, err)
		}
		if string(is.Result["more"]) != "1" || len(is.Result) != len(was.Result)+1 {
			t.Errorf("%q has become %q", text, out)
		}
	})
}
