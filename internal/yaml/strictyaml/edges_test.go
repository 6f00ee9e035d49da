package strictyaml_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n")
	for i := range 9 {
		ten := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", ")
		fmt.Fprintf(&laughs, "a%d: &a%d [%s]\n", i+1, i+1, ten)
	}
	tests := map[string]struct {
		src  string
		want string // the first line of the only mistake
	}{
		"empty":             {"", "f.yaml: the file is empty"},
		"only comments":     {"# nothing\n---\n", "f.yaml: the file is empty"},
		"not UTF-8":         {"a: 1\nb: \xff\n", "f.yaml:2:4: byte 0xff is not UTF-8"},
		"UTF-16":            {"\xff\xfea\x00", "f.yaml: the file is UTF-16"},
		"control character": {"a: \x1b[31m\n", "f.yaml:1:4: the control character U+001B is not allowed in YAML"},
		"tab":               {"a:\n\t- b\n", "f.yaml:2:1: a tab cannot indent YAML"},
		"two documents":     {"a: 1\n---\nb: 2\n", "f.yaml:2:1: a second YAML document begins here"},
		"colon in a text":   {"a: b: c\n", "f.yaml:1:4: not valid YAML: mapping value is not allowed in this context"},
		"open quotes":       {"a: \"b\nc: d\n", "f.yaml:1:4: not valid YAML: could not find end character of double-quoted text"},
		"open bracket":      {"a: [1, 2\nb: 3\n", "f.yaml:2:1: not valid YAML: ',' or ']' must be specified"},
		"bare reference":    {"a: {b: ${C}}\n", "f.yaml:1:9: not valid YAML: ',' or '}' must be specified"},
		"bare asterisk":     {"tools:\n  *_get: {a: 1}\n", "f.yaml:2:10: not valid YAML: value is not allowed in this context"},
		"at sign":           {"a: @b\n", "f.yaml:1:4: not valid YAML: '@' is a reserved character"},
		"missing colon":     {"a: 1\nb\nc: 2\n", "f.yaml:2:1: not valid YAML: non-map value is specified"},
		"too large":         {strings.Repeat("# comment\n", 30_000), "f.yaml: the file is larger than 256 KiB"},
		"too many tokens":   {"a: [" + strings.Repeat("1,", 30_000) + "1]", "f.yaml: the file has more than 50000 words and signs"},
		"deep brackets":     {strings.Repeat("[", 100_000), "f.yaml: the file has more than 50000 words and signs"},
		"deeper brackets":   {strings.Repeat("[", 10_000), "f.yaml:1:129: nested more than 128 levels deep"},
		"deep dashes":       {strings.Repeat("- ", 10_000), "f.yaml:1:257: nested more than 128 levels deep"},
		"billion laughs":    {laughs.String(), "f.yaml:5:9: more than 100000 values when every alias is expanded"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			_, err := strictyaml.Parse("f.yaml", []byte(tt.src))
			var all strictyaml.Errors
			var one *strictyaml.Error
			if !errors.As(err, &all) || !errors.As(err, &one) || len(all) != 1 {
				t.Fatalf("got %v, want one mistake", err)
			}
			got, _, _ := strings.Cut(err.Error(), "\n")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("mistake (-want +got):\n%s\n%v", diff, err)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	yes := true
	tests := map[string]struct {
		src  string
		want file
	}{
		"BOM, CRLF, directives, markers": {
			src:  "\ufeff%YAML 1.2\r\n---\r\nlisten: \"a\"\r\nhint: b\r\n...\r\n",
			want: file{Listen: "a", Hint: oneOrMany{"b"}},
		},
		"defaults, and order of the file": {
			src: "servers: {z: {url: u}, a: {url: v, timeout: 1m30s, max: 256KiB, reads: true, ratio: 1e-1, port: 0x10, calls: 7}}\n",
			want: file{Listen: "127.0.0.1:8787", Servers: strictyaml.Map[server]{
				{Key: "z", Value: server{URL: "u", Timeout: 20 * time.Second, Max: 4 << 20}},
				{Key: "a", Value: server{
					URL: "v", Timeout: 90 * time.Second, Max: 256 << 10, Reads: &yes, Ratio: 0.1, Port: 16,
					limits: limits{Calls: 7},
				}},
			}},
		},
		"anchors and merge keys": {
			src: "body: &b {headers: &h {A: x, B: y}, tags: [p]}\nservers:\n  one:\n    <<: [*b, {tags: [q], contract: c}]\n    url: u\n    headers: {<<: *h, B: z}\n",
			want: file{
				Listen: "127.0.0.1:8787",
				Body: strictyaml.Map[any]{
					{Key: "headers", Value: strictyaml.Map[any]{{Key: "A", Value: "x"}, {Key: "B", Value: "y"}}},
					{Key: "tags", Value: []any{"p"}},
				},
				Servers: strictyaml.Map[server]{{Key: "one", Value: server{
					URL: "u", Contract: "c", Timeout: 20 * time.Second, Max: 4 << 20, Tags: []string{"p"},
					Headers: map[string]string{"A": "x", "B": "z"},
				}}},
			},
		},
		"anything": {
			src: "body: {n: ~, t: true, no: no, i: 12, f: 1.5, big: 99999999999999999999, zip: 012, s: !!str 5, l: [a, {b: c}], 429: x,\n" +
				"  b: 'it''s', d: \"a\\tb\", date: 2026-07-28}\nlisten: |\n  two\n  lines\nhint: >-\n  folded\n  text\n",
			want: file{
				Listen: "two\nlines\n", Hint: oneOrMany{"folded text"},
				Body: strictyaml.Map[any]{
					{Key: "n", Value: nil},
					{Key: "t", Value: true},
					{Key: "no", Value: "no"},
					{Key: "i", Value: int64(12)},
					{Key: "f", Value: 1.5},
					{Key: "big", Value: 1e20},
					{Key: "zip", Value: "012"},
					{Key: "s", Value: "5"},
					{Key: "l", Value: []any{"a", strictyaml.Map[any]{{Key: "b", Value: "c"}}}},
					{Key: "429", Value: "x"},
					{Key: "b", Value: "it's"},
					{Key: "d", Value: "a\tb"},
					{Key: "date", Value: "2026-07-28"},
				},
			},
		},
		"null collections": {
			src:  "servers:\nbody: ~\nlisten: x\n",
			want: file{Listen: "x"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got file
			if err := strictyaml.Decode("f.yaml", []byte(tt.src), &got); err != nil {
				t.Fatal(err)
			}
			ignore := cmpopts.IgnoreTypes(strictyaml.Pos{}, &strictyaml.Node{})
			if diff := cmp.Diff(tt.want, got, ignore, cmp.AllowUnexported(server{})); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReportsAreSorted(t *testing.T) {
	t.Parallel()
	doc, err := strictyaml.Parse("f.yaml", []byte("servers:\n  farm: {url: x, timeout: 1m, contract: no such, ratio: y, tags: [a, b]}\nlisten: [1]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var f file
	doc.Decode(&f)
	if len(f.Servers) != 1 || f.Servers[0].Value.URL != "x" {
		t.Fatalf("the readable part is missing: %v", f.Servers)
	}
	node := doc.Root().Get("servers").Get("farm")
	doc.Reportf(node.Get("tags").Item(1).Pos(), "", "unknown tag")
	doc.Reportf(node.Get("ratio").Pos(), "", "the ratio must be positive") // a consequence of its invalid value
	doc.Reportf(node.Key("contract"), "", "unknown contract")
	doc.Reportf(node.Key("contract"), "", "unknown contract")
	doc.Reportf(node.Get("no").Get("such").Item(3).Pos(), "", "the file lacks something")

	var all strictyaml.Errors
	if !errors.As(doc.Err(), &all) {
		t.Fatal("no mistakes")
	}
	var got []string
	for _, e := range all {
		got = append(got, fmt.Sprintf("%d:%d %s", e.Pos.Line, e.Pos.Column, e.Message))
	}
	want := []string{
		"0:0 the file lacks something",
		"2:31 unknown contract",
		"2:57 `ratio` must be a number, not the text `y`",
		"2:70 unknown tag",
		"3:9 `listen` must be a text, not a list",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	env := map[string]string{"PORT": "8080", "WAIT": "3s", "TEXT": "a: b"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	src := "listen: ${PORT}\n" +
		"servers:\n  a: {url: 'x/${TEXT}?$$y=${}', timeout: \"${WAIT}\", port: \"${PORT}\", contract: $PORT^$}\n" +
		"  b: {url: \"${NO}${NO}\", timeout: \"${PORT}\", port: \"${WAIT}\", headers: {A: \"Bearer ${TOKEN}\"}}\n"
	doc, err := strictyaml.Parse("f.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	doc.Expand(lookup)
	var f struct {
		Listen  string            `yaml:"listen"`
		Servers map[string]server `yaml:"servers"`
	}
	doc.Decode(&f)
	a := f.Servers["a"]
	got := []any{f.Listen, a.URL, a.Timeout, a.Port, a.Contract}
	if diff := cmp.Diff([]any{"8080", "x/a: b?$y=}", 3 * time.Second, int16(8080), "$PORT^$"}, got); diff != "" {
		t.Errorf("expanded (-want +got):\n%s", diff)
	}
	want := "f.yaml:3:27: `${` does not begin the name of a variable\n" +
		"  3 |   a: {url: 'x/${TEXT}?$$y=${}', timeout: \"${WAIT}\", port: \"${PORT}\", contract: $PORT^$}\n" +
		"    |                           ^~\n" +
		"  hint: write ${NAME} for a variable, $${ for the text `${`\n" +
		"f.yaml:4:13: the environment variable NO is not set\n" +
		"  4 |   b: {url: \"${NO}${NO}\", timeout: \"${PORT}\", port: \"${WAIT}\", headers: {A: ********}}\n" +
		"    |             ^~~~~\n" +
		"  hint: set NO, or write $${NO} for the text itself\n" +
		"f.yaml:4:18: the environment variable NO is not set\n" +
		"  4 |   b: {url: \"${NO}${NO}\", timeout: \"${PORT}\", port: \"${WAIT}\", headers: {A: ********}}\n" +
		"    |                  ^~~~~\n" +
		"  hint: set NO, or write $${NO} for the text itself\n" +
		"f.yaml:4:35: `timeout` must be a duration, not what `${PORT}` stands for\n" +
		"  4 |   b: {url: \"${NO}${NO}\", timeout: \"${PORT}\", port: \"${WAIT}\", headers: {A: ********}}\n" +
		"    |                                   ^~~~~~~~~\n" +
		"  hint: write it as `500ms`, `20s` or `1m30s`\n" +
		"f.yaml:4:52: `port` must be a whole number, not what `${WAIT}` stands for\n" +
		"  4 |   b: {url: \"${NO}${NO}\", timeout: \"${PORT}\", port: \"${WAIT}\", headers: {A: ********}}\n" +
		"    |                                                    ^~~~~~~~~\n" +
		"f.yaml:4:84: the environment variable TOKEN is not set\n" +
		"  4 |   b: {url: \"${NO}${NO}\", timeout: \"${PORT}\", port: \"${WAIT}\", headers: {A: ********}}\n" +
		"    |                                                                            ^~~~~~~~\n" +
		"  hint: set TOKEN, or write $${TOKEN} for the text itself"
	if diff := cmp.Diff(want, fmt.Sprint(doc.Err())); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want strictyaml.Size
		ok   bool
	}{
		{"0", 0, true},
		{"512", 512, true},
		{"512B", 512, true},
		{"256KiB", 256 << 10, true},
		{"4 MiB", 4 << 20, true},
		{"1MB", 1_000_000, true},
		{"2GiB", 2 << 30, true},
		{"", 0, false},
		{"MiB", 0, false},
		{"-1", 0, false},
		{"1.5MiB", 0, false},
		{"1MiB2", 0, false},
		{"4M", 0, false},
		{"9223372036854775807KiB", 0, false},
		{"99999999999999999999", 0, false},
	}
	for _, tt := range tests {
		got, ok := strictyaml.ParseSize(tt.text)
		if got != tt.want || ok != tt.ok {
			t.Errorf("ParseSize(%q) = %d, %t; want %d, %t", tt.text, got, ok, tt.want, tt.ok)
		}
	}
	for size, want := range map[strictyaml.Size]string{0: "0", 1000: "1000", 256 << 10: "256KiB", 4 << 20: "4MiB"} {
		if got := size.String(); got != want {
			t.Errorf("Size(%d).String() = %q, want %q", size, got, want)
		}
	}
}

func TestManyMistakesAreCut(t *testing.T) {
	t.Parallel()
	var f file
	err := strictyaml.Decode("f.yaml", []byte(strings.Repeat("listen: x\n", 200)), &f)
	if !strings.HasSuffix(err.Error(), "\nand 149 more problems") {
		t.Errorf("got %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"listen: x\nservers: {a: {url: u, headers: {A: b}}}\n", "a: &a [*a]\nb: *a\n", "? [a]\n: b\n", "<<: [{a: 1}, *x]\n",
		"a: |\n  x\n\n  y\n b: 2\n", "- - - ? x\n", "a: !!str\nb: !!int ~\n", "\"a\tb\": '\n\n'\n", "%TAG ! x\n---\n", "hint: ${A}${\n", "a: \"\\u00e9\n\"\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		doc, err := strictyaml.Parse("f.yaml", src)
		if err == nil {
			var v file
			doc.Expand(func(string) (string, bool) { return "x", len(src)%2 == 0 })
			doc.Decode(&v)
			err = doc.Err()
		}
		if err == nil {
			return
		}
		var all strictyaml.Errors
		if !errors.As(err, &all) {
			t.Fatalf("%T is not Errors", err)
		}
		for _, e := range all {
			if strings.ContainsFunc(e.Message+e.Hint, func(r rune) bool { return r < ' ' }) {
				t.Errorf("control characters in %q", e.Error())
			}
			if e.Excerpt != "" && !strings.Contains(e.Excerpt, "^") {
				t.Errorf("no caret in %q", e.Excerpt)
			}
		}
	})
}
