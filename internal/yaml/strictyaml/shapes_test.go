package strictyaml_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// picky refuses every value, and quotes it.
type picky struct{}

func (*picky) UnmarshalYAML(n *strictyaml.Node) error {
	return fmt.Errorf("%q is not good enough", n.Text())
}

type nested struct {
	Wait time.Duration `default:"5s" yaml:"wait"`
	Need string        `yaml:"need,required"`
}

// A key is read under its earlier name as well, unless the new one is there.
func TestEarlierName(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"call: a\n": "a", "tool: a\n": "a", "call: a\ntool: b\n": "f.yaml:1:1: unknown key `call`", "look: a\n": "f.yaml:1:1: unknown key `look`",
	} {
		var got struct {
			Tool string `was:"call" yaml:"tool,required"`
		}
		err := strictyaml.Decode("f.yaml", []byte(src), &got)
		if err == nil && got.Tool != want || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %q, %v", src, got.Tool, err)
		}
	}
}

func TestShapes(t *testing.T) {
	t.Parallel()
	type target struct {
		At     strictyaml.Pos             `yaml:",pos"`
		Any    any                        `yaml:"any"`
		Nested nested                     `yaml:"nested"`
		Maybe  *nested                    `yaml:"maybe"`
		Times  map[string]time.Duration   `yaml:"times"`
		Raw    *strictyaml.Node           `yaml:"raw"`
		Picky  picky                      `yaml:"picky"`
		Hidden map[string]picky           `yaml:"hidden,secret"`
		Words  strictyaml.Map[[]string]   `yaml:"words"`
		Small  int8                       `yaml:"small"`
		Floats []float32                  `yaml:"floats"`
		Chan   chan int                   `yaml:"chan"`
		Reader fmt.Stringer               `yaml:"reader"`
		ByNum  map[int]string             `yaml:"by_num"`
		List   []string                   `yaml:"list,required"`
		Sizes  map[string]strictyaml.Size `yaml:"sizes"`
	}
	tests := map[string]struct {
		src  string
		want []string // positions and messages
	}{
		"valid": {src: "list: []\nraw: {a: 1}\ntimes: {a: 1s, b: \"2m\"}\nwords: {a: [b], c: ~}\nfloats: [1, 2.5]\nsmall: -128\n"},
		"keys of every kind": {
			src: "list: []\nany:\n  &k a: 1\n  ? b\n  : 2\n  !!str 3: 4\n  *k : 5\n  ~: 6\n",
			want: []string{
				"7:3 duplicate key `a`, first on line 3",
				"8:3 a key must be a text",
			},
		},
		"true tags": {src: "list: !!seq []\nany: [!!int 1, !!float 2, !!float 2.5, !!bool true, !!null ~, !!map {}, !!str a, !!str 1]\n"},
		"false tags": {
			src: "list: []\nany: [!!int a, !!bool 1, !!binary aGk=]\n",
			want: []string{
				"2:7 the tag `!!int` does not fit here",
				"2:16 the tag `!!bool` does not fit here",
				"2:26 the tag `!!binary` does not fit here",
			},
		},
		"merging a text or a list": {
			src:  "list: []\nany: {<<: [{a: 1}, x]}\n",
			want: []string{"2:20 `<<` takes a mapping or a list of mappings"},
		},
		"missing and without a value": {
			src:  "list:\nmaybe: {}\nnested:\ntimes: {a: }\n",
			want: []string{"1:1 `list` has no value", "2:8 `maybe` lacks the key `need`", "3:1 `nested` lacks the key `need`", "4:9 `a` has no value"},
		},
		"an error of another type": {
			src:  "list: []\npicky: " + strings.Repeat("x", 200) + "\n",
			want: []string{"2:8 `picky`: \"" + strings.Repeat("x", 59) + "..."},
		},
		"an error of another type about a secret": {
			src:  "list: []\nhidden: {a: hunter2}\n",
			want: []string{"2:13 `a` is not valid"},
		},
		"structures in place of scalars": {
			src: "list: [{a: b}, [c], ~, true]\nsmall: [1]\nfloats: [.nan, \"1\", 0x10, {}]\ntimes: {a: [1]}\nwords: [a]\nsizes: {a: {}, b: 1.5, c: ~}\n",
			want: []string{
				"1:8 item 1 of `list` must be a text, not a mapping",
				"1:16 item 2 of `list` must be a text, not a list",
				"1:21 item 3 of `list` has no value",
				"1:24 item 4 of `list` must be a text, not the truth value `true`",
				"2:8 `small` must be a whole number, not a list",
				"3:10 item 1 of `floats` must be a number, not the number `.nan`",
				"3:16 item 2 of `floats` must be a number, not the text `1`",
				"3:21 item 3 of `floats` must be a number, not the number `0x10`",
				"3:27 item 4 of `floats` must be a number, not a mapping",
				"4:12 `a` must be a duration, not a list",
				"5:8 `words` must be a mapping, not a list",
				"6:12 `a` must be a size, not a mapping",
				"6:19 `b` must be a size, not the number `1.5`",
				"6:27 `c` must be a size, not nothing",
			},
		},
		"numbers that people write": {
			src:  "list: []\nsmall: 1_000\nany: [+1, -0o17, 1e400]\n",
			want: []string{"2:8 `small` must be a whole number, not the text `1_000`"},
		},
		"unsupported targets": {
			src: "list: []\nchan: 1\nreader: x\nby_num: {1: x}\n",
			want: []string{
				"2:7 `chan` cannot be decoded into chan int",
				"3:9 `reader` cannot be decoded into fmt.Stringer",
				"4:9 `by_num` cannot be decoded into map[int]string",
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var v target
			err := strictyaml.Decode("f.yaml", []byte(tt.src), &v)
			var all strictyaml.Errors
			errors.As(err, &all)
			var got []string
			for _, e := range all {
				got = append(got, fmt.Sprintf("%d:%d %s", e.Pos.Line, e.Pos.Column, e.Message))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
			if v.At != (strictyaml.Pos{Line: 1, Column: 1}) {
				t.Errorf("got position %v for the mapping", v.At)
			}
			if !strings.HasPrefix(tt.src, "list:\n") && v.Nested.Wait != 5*time.Second {
				t.Errorf("got default %v for a missing struct's field", v.Nested.Wait)
			}
		})
	}
}

func TestNode(t *testing.T) {
	t.Parallel()
	doc, err := strictyaml.Parse("f.yaml", []byte("b: [x, 2]\na: ~\nb2: &m {c: d}\n<<: *m\n"))
	if err != nil {
		t.Fatal(err)
	}
	root := doc.Root()
	var keys []string
	for key, value := range root.All() {
		keys = append(keys, fmt.Sprint(key, " ", value.Kind(), " ", value.Len(), " ", value.Pos(), " ", root.Key(key)))
	}
	want := []string{
		"b 5 2 {1 4} {1 1}",
		"a 0 0 {2 4} {2 1}",
		"b2 6 1 {3 8} {3 1}",
		"c 4 0 {3 12} {3 9}",
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if got := root.Get("b").Item(1).Text() + root.Get("a").Text(); got != "2" {
		t.Errorf("texts = %q", got)
	}

	var none *strictyaml.Node
	if none.Kind() != strictyaml.KindNull || none.Len() != 0 || none.Text() != "" || none.Pos() != (strictyaml.Pos{}) ||
		none.Get("a") != nil || none.Item(0) != nil || none.Key("a") != (strictyaml.Pos{}) || none.Decode(&keys) == nil ||
		none.Errorf("", "x").Error() != "x" {
		t.Error("a nil Node is not empty")
	}
	for range none.All() {
		t.Error("a nil Node has keys")
	}
}

func TestMapGet(t *testing.T) {
	t.Parallel()
	m := strictyaml.Map[int]{{Key: "a", Value: 1}}
	if v, ok := m.Get("a"); v != 1 || !ok {
		t.Errorf("Get(a) = %d, %t", v, ok)
	}
	if v, ok := m.Get("b"); v != 0 || ok {
		t.Errorf("Get(b) = %d, %t", v, ok)
	}
}
