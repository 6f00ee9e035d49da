package wire_test

import (
	"bytes"
	stdjson "encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// prune rewrites text to legacy form in pieces of size bytes.
func prune(text, from, to string, cacheable bool, size int) string {
	var r wire.Rewriter
	r.ToLegacy(wire.ID(from), wire.ID(to), cacheable)
	var out []byte
	for p := []byte(text); len(p) > 0; {
		n := min(size, len(p))
		out = r.Append(out, p[:n])
		p = p[n:]
	}
	return string(r.Close(out))
}

func TestRewriterToLegacy(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 10_000)
	blank := strings.Repeat(" ", 10_000)
	tests := []struct{ name, text, want string }{
		{"nothing to change", `{"jsonrpc":"2.0","id":"a","result":{ "x" : [1, 2] }}`, ``},
		{"the only member", `{"id":7,"result":{"resultType":"complete"}}`, `{"id":"seven","result":{}}`},
		{"the first member", `{"id":7,"result":{"resultType":"complete" , "x":{"resultType":1}}}`, `{"id":"seven","result":{  "x":{"resultType":1}}}`},
		{"the last member", `{"result":{"x":1,"resultType":"complete"},"id":7.0}`, `{"result":{"x":1},"id":"seven"}`},
		{
			"what lists have", `{"id" : 7, "result":{"resultType":"complete","ttlMs":5,"tools":[{"ttlMs":1}],"cacheScope":"private","nextCursor":"c"}}`,
			`{"id" : "seven", "result":{"tools":[{"ttlMs":1}],"nextCursor":"c"}}`,
		},
		{"a member spelled with escapes", `{"id":7,"result":{"a":1,"\u0072esultType":{"b":[{}]}}}`, `{"id":"seven","result":{"a":1}}`},
		{"the same names elsewhere", `{"resultType":1,"result":[{"resultType":2}],"id":{"id":7},"ttlMs":3}`, ``},
		{"another id", `{"id":8,"result":{}}`, ``},
		{"an error", `{"id":7,"error":{"code":-1,"message":"m","data":{"resultType":"x","id":7}}}`, `{"id":"seven","error":{"code":-1,"message":"m","data":{"resultType":"x","id":7}}}`},
		{"a notification", `{"jsonrpc":"2.0","method":"m","params":{"id":7,"resultType":"x"}}`, ``},
		{"a long name", `{"id":7,"result":{"resultType":1,"` + long + `":2,"ttlMs":3}}`, `{"id":"seven","result":{"` + long + `":2}}`},
		{"much white space", `{"id":7,"result":{"resultType":1` + blank + `,` + blank + `"x":2}}`, `{"id":"seven","result":{"x":2}}`},
		{"an HTML page", `<html>,"id":7</html>`, ``},
		{"half a message", `{"id":7,"result":{"x":1,"resultTy`, `{"id":"seven","result":{"x":1,"resultTy`},
		{"two messages", `{"id":7,"result":{}}{"id":7}`, `{"id":"seven","result":{}}{"id":7}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := test.want
			if want == "" {
				want = test.text
			}
			for _, size := range []int{len(test.text), 1, 3, 4096} {
				got := prune(test.text, "7", `"seven"`, true, size)
				if test.name == "much white space" {
					got = strings.ReplaceAll(got, " ", "")
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("in pieces of %d (-want +got):\n%s", size, diff)
				}
			}
		})
	}
}

func TestRewriterLeavesWhatItIsNotTold(t *testing.T) {
	t.Parallel()
	const text = `{"id":7,"result":{"ttlMs":1,"cacheScope":"public","resultType":"complete"}}`
	if got, want := prune(text, "", "", false, 5), `{"id":7,"result":{"ttlMs":1,"cacheScope":"public"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Only the record in a result's _meta is left out.
func TestRewriterOfRecords(t *testing.T) {
	t.Parallel()
	const record = `"` + wire.MetaRecord + `"`
	long := strings.Repeat("n", 10_000)
	for _, test := range []struct{ name, text, want string }{
		{"no record", `{"id":7,"result":{"resultType":"complete","_meta":{"a":1}, "ttlMs":2 }}`, ``},
		{"alone", `{"id":7,"result":{"_meta":{` + record + `:{"v":1}},"x":1}}`, `{"id":7,"result":{"_meta":{},"x":1}}`},
		{"first", `{"result":{"_meta" : { ` + record + ` : {"a":[{}]} , "b":2} },"id":7}`, `{"result":{"_meta" : {  "b":2} },"id":7}`},
		{"last", `{"result":{"x":[],"_meta":{"b":2,` + record + `:null}},"id":7}`, `{"result":{"x":[],"_meta":{"b":2}},"id":7}`},
		{"in the middle", `{"result":{"_meta":{"a":1,` + record + `:"x","b":2}}}`, `{"result":{"_meta":{"a":1,"b":2}}}`},
		{"twice", `{"result":{"_meta":{` + record + `:1,` + record + `:2,"b":2}}}`, `{"result":{"_meta":{"b":2}}}`},
		{"in each _meta", `{"result":{"_meta":{` + record + `:1},"_meta":{"a":0,` + record + `:2}}}`, `{"result":{"_meta":{},"_meta":{"a":0}}}`},
		{"spelled with escapes", `{"result":{"_meta":{"io.github.recoursehq\/error":1}}}`, `{"result":{"_meta":{}}}`},
		{"long", `{"result":{"_meta":{"a":1,` + record + `:"` + long + `","b":"` + long + `"}}}`, `{"result":{"_meta":{"a":1,"b":"` + long + `"}}}`},
		{"elsewhere", `{` + record + `:1,"result":{` + record + `:2,"content":[{"_meta":{` + record + `:3}}],"_meta":[{` + record + `:4}]},"_meta":{` + record + `:5}}`, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := test.want
			if want == "" {
				want = test.text
			}
			for _, size := range []int{len(test.text), 1, 3, 4096} {
				var r wire.Rewriter
				r.WithoutRecord()
				var out []byte
				for p := []byte(test.text); len(p) > 0; p = p[min(size, len(p)):] {
					out = r.Append(out, p[:min(size, len(p))])
				}
				if diff := cmp.Diff(want, string(r.Close(out))); diff != "" {
					t.Errorf("in pieces of %d (-want +got):\n%s", size, diff)
				}
			}
		})
	}
}

// The id of an answer is replaced wherever it is; everything else passes unchanged.
func TestRewriterOfIDs(t *testing.T) {
	t.Parallel()
	const record = `"` + wire.MetaRecord + `"`
	for _, test := range []struct{ name, text, want string }{
		{"first", `{"id":7,"result":{"id":7,"resultType":"complete"}}`, `{"id":"seven","result":{"id":7,"resultType":"complete"}}`},
		{"last", `{"result":{"id":7,"_meta":{` + record + `:1}},"id" : 7 }`, `{"result":{"id":7,"_meta":{` + record + `:1}},"id" : "seven" }`},
		{"as a float", `{"result":{},"id":7.0}`, `{"result":{},"id":"seven"}`},
		{"another", `{"id":8,"result":{}}`, `{"id":8,"result":{}}`},
		{"before what is not JSON", `{"id":7,]`, `{"id":"seven",]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{len(test.text), 1, 3} {
				var r wire.Rewriter
				r.Renumber(wire.ID("7"), wire.ID(`"seven"`), false)
				var out []byte
				for piece := range slices.Chunk([]byte(test.text), size) {
					out = r.Append(out, piece)
				}
				if diff := cmp.Diff(test.want, string(r.Close(out))); diff != "" {
					t.Errorf("in pieces of %d (-want +got):\n%s", size, diff)
				}
			}
		})
	}
}

// A megabyte goes through in constant memory.
func TestRewriterHoldsLittle(t *testing.T) {
	text := []byte(`{"id":7,"result":{"content":"` + strings.Repeat("x", 1<<20) + `","resultType":"complete"}}`)
	var r wire.Rewriter
	out := make([]byte, 0, 64<<10)
	total := 0
	allocated := testing.AllocsPerRun(5, func() {
		r.ToLegacy(wire.ID("7"), wire.ID("8"), true)
		total = 0
		for p := text; len(p) > 0; p = p[min(4096, len(p)):] {
			out = r.Append(out[:0], p[:min(4096, len(p))])
			total += len(out)
		}
	})
	if want := len(text) - len(`,"resultType":"complete"`); total != want {
		t.Errorf("%d bytes came out, want %d", total, want)
	}
	if allocated > 2 {
		t.Errorf("got %v allocations, want none", allocated)
	}
}

func FuzzRewriterToLegacy(f *testing.F) {
	for _, text := range []string{
		`{"id":7,"result":{"resultType":"complete","ttlMs":1,"x":[1,{"id":7}]}}`,
		`{"result":{"a":1,"cacheScope":null},"id":7}`, `{"id":7,"error":{}}`, `[{"id":7}]`, `{"result":{"resultType":1,`, ``,
		`{"result":{"resultType":1},"result":{"x":2,"ttlMs":[]},"id":7.0e0}`,
	} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		got := prune(text, "7", `"seven"`, true, max(size, 1))
		if whole := prune(text, "7", `"seven"`, true, len(text)+1); got != whole {
			t.Fatalf("in pieces %q, at once %q", got, whole)
		}
		want, ok := pruned([]byte(text))
		if !ok {
			return
		}
		gotText := json.Value(bytes.Clone([]byte(got)))
		if err := gotText.Canonicalize(); err != nil {
			t.Fatalf("%q became %q: %v", text, got, err)
		}
		if string(gotText) != string(want) {
			t.Fatalf("%q became %s, want %s", text, gotText, want)
		}
	})
}

// pruned does the work of prune on the parsed text.
func pruned(text []byte) (json.Value, bool) {
	var scan wire.Scanner
	if _, err := scan.Write(text); err != nil || scan.Close() != nil || !json.Valid(text) || len(text) > 4096 {
		return nil, false
	}
	var root, result map[string]json.Value
	if json.Unmarshal(text, &root) != nil {
		return nil, false
	}
	if wire.ID(root["id"]).Equal(wire.ID("7")) {
		root["id"] = json.Value(`"seven"`)
	}
	if root["result"].Kind() == '{' && json.Unmarshal(root["result"], &result) == nil {
		maps.DeleteFunc(result, func(name string, _ json.Value) bool {
			return name == "resultType" || name == "ttlMs" || name == "cacheScope"
		})
		root["result"], _ = json.Marshal(result)
	}
	want, err := json.Marshal(root)
	if err != nil {
		return nil, false
	}
	value := json.Value(want)
	return value, value.Canonicalize() == nil
}

// toModern rewrites text to modern form in pieces of size bytes. The text answers a request with the id 7,
// which is "é" at the client.
func toModern(text []byte, size int) (out []byte) {
	var r wire.Rewriter
	r.ToModern(wire.ID("7"), wire.ID(`"é"`), false)
	for len(text) > 0 {
		n := min(size, len(text))
		out = r.Append(out, text[:n])
		text = text[n:]
	}
	return r.Close(out)
}

// rewrite calls toModern with pieces of several sizes, and checks that the size makes no difference, unless
// a member occurs twice: such a text is not an answer, before or after.
func rewrite(tb testing.TB, text []byte) string {
	tb.Helper()
	whole := toModern(text, max(len(text), 1))
	var scan wire.Scanner
	if _, _ = scan.Write(text); scan.Signs().Duplicate != "" {
		return string(whole)
	}
	for _, size := range []int{1, 3, 64, 100} {
		if diff := cmp.Diff(string(whole), string(toModern(text, size))); diff != "" {
			tb.Errorf("%q in pieces of %d (-whole +pieces):\n%s", text, size, diff)
		}
	}
	return string(whole)
}

func TestRewriterToModern(t *testing.T) {
	t.Parallel()
	long := string(bytes.Repeat([]byte("x"), 200))
	for _, tt := range []struct{ name, in, want string }{
		{"id first", `{"jsonrpc":"2.0","id":7,"result":{"a":1}}`, `{"jsonrpc":"2.0","id":"é","result":{"a":1,"resultType":"complete"}}`},
		{"id last", `{"result":{"a":"` + long + `"},"jsonrpc":"2.0","id":7}`, `{"result":{"a":"` + long + `","resultType":"complete"},"jsonrpc":"2.0","id":"é"}`},
		{"id spelled anew", `{"jsonrpc":"2.0","id":7.0,"result":{}}`, `{"jsonrpc":"2.0","id":"é","result":{"resultType":"complete"}}`},
		{"empty result", `{"id":7,"result":{ }}`, `{"id":"é","result":{ "resultType":"complete"}}`},
		{"an array", `{"id":7,"result":[{}]}`, `{"id":"é","result":[{}]}`},
		{"error", `{"id":7,"error":{"code":1}}`, `{"id":"é","error":{"code":1}}`},
		{"another's", `{"id":8,"result":{}}`, `{"id":null,"result":{"resultType":"complete"}}`},
		{"text behind the answer", `{"id":7,"result":{}} x`, `{"id":"é","result":{"resultType":"complete"}} x`},
		{"HTML", `<html>7</html>`, `<html>7</html>`},
		{"nothing", ``, ``},
		{"cut off", `{"id":7,"result":{"a"`, `{"id":"é","result":{"a"`},
		{"resultType already there", `{"id":7,"result":{"resultType":"x", "a":{"resultType":1}}}`, `{"id":"é","result":{"resultType":"x", "a":{"resultType":1}}}`},
		{"an object as id", `{"id":{"a":7},"result":{}}`, `{"id":{"a":7},"result":{"resultType":"complete"}}`},
		{"ids inside", `{"result":{"id":7,"result":{}},"id":7}`, `{"result":{"id":7,"result":{},"resultType":"complete"},"id":"é"}`},
	} {
		if diff := cmp.Diff(tt.want, rewrite(t, []byte(tt.in))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// However an answer is cut into pieces, it stays an answer, and its result gains only the member.
func FuzzRewriterToModern(f *testing.F) {
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
			Result map[string]stdjson.RawMessage `json:"result"`
		}
		if stdjson.Unmarshal(text, &was) != nil || was.Result == nil || was.Result["resultType"] != nil {
			return
		}
		if err := stdjson.Unmarshal([]byte(out), &is); err != nil {
			t.Fatalf("%q has become %q: %v", text, out, err)
		}
		if string(is.Result["resultType"]) != `"complete"` || len(is.Result) != len(was.Result)+1 {
			t.Errorf("%q has become %q", text, out)
		}
	})
}

// Results that may be cached gain two more members.
func TestRewriterOfLists(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"result":{"tools":[]}}`:                       `{"result":{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}}`,
		`{"result":{"ttlMs":5,"cacheScope":"public"}}`:  `{"result":{"ttlMs":5,"cacheScope":"public","resultType":"complete"}}`,
		`{"result":{"resultType":"x","\u0074tlMs":5} }`: `{"result":{"resultType":"x","\u0074tlMs":5,"cacheScope":"private"} }`,
	} {
		var r wire.Rewriter
		r.ToModern(nil, nil, true)
		if got := r.Close(r.Append(nil, []byte(in))); string(got) != want {
			t.Errorf("%s became %s", in, got)
		}
	}
}
