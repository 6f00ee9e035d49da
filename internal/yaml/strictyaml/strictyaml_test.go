package strictyaml_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

type server struct {
	limits

	At       *strictyaml.Node  `yaml:",pos"`
	URL      string            `yaml:"url,required"`
	Contract string            `yaml:"contract"`
	Timeout  time.Duration     `default:"20s"              yaml:"timeout"`
	Max      strictyaml.Size   `default:"4MiB"             yaml:"max"`
	Headers  map[string]string `yaml:"headers,secret"`
	Tags     []string          `yaml:"tags"`
	Reads    *bool             `yaml:"reads"`
	Ratio    float64           `yaml:"ratio"`
	Port     int16             `yaml:"port"`
}

type limits struct {
	Calls int `yaml:"calls"`
}

type file struct {
	Listen  string                 `default:"127.0.0.1:8787" yaml:"listen"`
	Servers strictyaml.Map[server] `yaml:"servers"`
	Body    any                    `yaml:"body"`
	Hint    oneOrMany              `yaml:"hint"`

	_ struct{} `why:"the program finds the port by itself" gone:"port"`
}

// oneOrMany is a text or a list of texts.
type oneOrMany []string

func (o *oneOrMany) UnmarshalYAML(n *strictyaml.Node) error {
	switch n.Kind() {
	case strictyaml.KindString:
		*o = []string{n.Text()}
		return nil
	case strictyaml.KindSequence:
		return n.Decode((*[]string)(o))
	default:
		return n.Errorf("write one text or a list of texts", "a hint must be a text")
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		src  string
		want string
	}{
		"unknown key": {
			src: "servers:\n  farm:\n    url: x\n    timout: 20s\n",
			want: "f.yaml:4:5: unknown key `timout`\n" +
				"  4 |     timout: 20s\n" +
				"    |     ^~~~~~\n" +
				"  hint: did you mean `timeout`?",
		},
		"words that should be a list": {
			src: "servers: {farm: {url: x, tags: npx -y srv}}\n",
			want: "f.yaml:1:32: `tags` must be a list, not the text `npx -y srv`\n" +
				"  1 | servers: {farm: {url: x, tags: npx -y srv}}\n" +
				"    |                                ^~~~~~~~~~\n" +
				"  hint: write `[npx, -y, srv]`, or `[\"npx -y srv\"]` if it is one",
		},
		"unknown key without a similar one": {
			src: "frobnicate: 1\n",
			want: "f.yaml:1:1: unknown key `frobnicate`\n" +
				"  1 | frobnicate: 1\n" +
				"    | ^~~~~~~~~~\n" +
				"  hint: known here: `listen`, `servers`, `body`, `hint`",
		},
		"key that is gone": {
			src: "listen: a\nport: 80\n",
			want: "f.yaml:2:1: the key `port` is gone: the program finds the port by itself\n" +
				"  2 | port: 80\n" +
				"    | ^~~~\n" +
				"  hint: remove the line",
		},
		"key of another level": {
			src: "timeout: 20s\nservers:\n  farm: {url: x, listen: a}\n",
			want: "f.yaml:1:1: unknown key `timeout`\n" +
				"  1 | timeout: 20s\n" +
				"    | ^~~~~~~\n" +
				"  hint: it belongs in an entry of `servers`\n" +
				"f.yaml:3:18: unknown key `listen`\n" +
				"  3 |   farm: {url: x, listen: a}\n" +
				"    |                  ^~~~~~\n" +
				"  hint: it belongs at the top of the file, without indentation",
		},
		"duplicate key": {
			src: "listen: a\nlisten: b\n",
			want: "f.yaml:2:1: duplicate key `listen`, first on line 1\n" +
				"  2 | listen: b\n" +
				"    | ^~~~~~\n" +
				"  hint: keep one of them",
		},
		"all at once, in order": {
			src: "servers:\n  farm: {timeout: 20, max: 4 MX}\n  shop: {url: 7, tags: a, port: 40000, reads: maybe, ratio: x}\nlisten:\n",
			want: "f.yaml:2:9: `farm` lacks the key `url`\n" +
				"  2 |   farm: {timeout: 20, max: 4 MX}\n" +
				"    |         ^\n" +
				"f.yaml:2:19: `timeout` must be a duration, not the number `20`\n" +
				"  2 |   farm: {timeout: 20, max: 4 MX}\n" +
				"    |                   ^~\n" +
				"  hint: say the unit: `20s` or `20ms`\n" +
				"f.yaml:2:28: `max` must be a size, not the text `4 MX`\n" +
				"  2 |   farm: {timeout: 20, max: 4 MX}\n" +
				"    |                            ^~~~\n" +
				"  hint: write it as `4MiB`, `256KiB` or `1MB`\n" +
				"f.yaml:3:15: `url` must be a text, not the number `7`\n" +
				"  3 |   shop: {url: 7, tags: a, port: 40000, reads: maybe, ratio: x}\n" +
				"    |               ^\n" +
				"  hint: put it in quotes: \"7\"\n" +
				"f.yaml:3:24: `tags` must be a list, not the text `a`\n" +
				"  3 |   shop: {url: 7, tags: a, port: 40000, reads: maybe, ratio: x}\n" +
				"    |                        ^\n" +
				"  hint: write `[a]`\n" +
				"f.yaml:3:33: `port` must be a whole number of at most 16 bits, not the number `40000`\n" +
				"  3 |   shop: {url: 7, tags: a, port: 40000, reads: maybe, ratio: x}\n" +
				"    |                                 ^~~~~\n" +
				"f.yaml:3:47: `reads` must be true or false, not the text `maybe`\n" +
				"  3 |   shop: {url: 7, tags: a, port: 40000, reads: maybe, ratio: x}\n" +
				"    |                                               ^~~~~\n" +
				"f.yaml:3:61: `ratio` must be a number, not the text `x`\n" +
				"  3 |   shop: {url: 7, tags: a, port: 40000, reads: maybe, ratio: x}\n" +
				"    |                                                             ^\n" +
				"f.yaml:4:1: `listen` has no value\n" +
				"  4 | listen:\n" +
				"    | ^~~~~~\n" +
				"  hint: give it a value or remove it",
		},
		"quotes forgotten before a brace": {
			src: "listen: {call.tool}\n",
			want: "f.yaml:1:9: `listen` must be a text, not a mapping\n" +
				"  1 | listen: {call.tool}\n" +
				"    |         ^\n" +
				"  hint: a text that begins with `{` must be in quotes",
		},
		"own shape": {
			src: "hint: {a: 1}\n",
			want: "f.yaml:1:7: a hint must be a text\n" +
				"  1 | hint: {a: 1}\n" +
				"    |       ^\n" +
				"  hint: write one text or a list of texts",
		},
		"own shape, decoded further": {
			src: "hint: [a, 2]\n",
			want: "f.yaml:1:11: item 2 of `hint` must be a text, not the number `2`\n" +
				"  1 | hint: [a, 2]\n" +
				"    |           ^\n" +
				"  hint: put it in quotes: \"2\"",
		},
		"secrets are masked": {
			src: "servers:\n  farm: {url: x, headers: {A: hunter2, B: 12345}}\n",
			want: "f.yaml:2:43: `B` must be a text, not this number\n" +
				"  2 |   farm: {url: x, headers: {A: ********, B: ********}}\n" +
				"    |                                            ^~~~~~~~\n" +
				"  hint: put it in quotes",
		},
		"a secret under a misspelt key is masked": {
			src: "servers:\n  farm:\n    url: x\n    haeders: {A: 'hunter2'} # why\n",
			want: "f.yaml:4:5: unknown key `haeders`\n" +
				"  4 |     haeders: {A: ********} # why\n" +
				"    |     ^~~~~~~\n" +
				"  hint: did you mean `headers`?",
		},
		"a secret over several lines is masked": {
			src: "servers:\n  farm:\n    url: x\n    headers:\n      A:\n        hunter2\n        hunter3  # why\n      A: 1\n" +
				"      B: {C:\n       'hunter4\n  hunter5', C: 1}\n",
			want: "f.yaml:8:7: duplicate key `A`, first on line 5\n" +
				"  8 |       A: 1\n" +
				"    |       ^\n" +
				"  hint: keep one of them\n" +
				"f.yaml:9:10: `B` must be a text, not a mapping\n" +
				"  9 |       B: {C:\n" +
				"    |          ^\n" +
				"  hint: a text that begins with `{` must be in quotes\n" +
				"f.yaml:11:13: duplicate key `C`, first on line 9\n" +
				"  11 |   ********, C: 1}\n" +
				"     |             ^\n" +
				"  hint: keep one of them",
		},
		"unknown alias": {
			src: "listen: *her\nbody: &here 1\n",
			want: "f.yaml:1:9: no anchor `&her` precedes this alias\n" +
				"  1 | listen: *her\n" +
				"    |         ^",
		},
		"an alias in itself": {
			src: "body: &a [*a]\n",
			want: "f.yaml:1:11: no anchor `&a` precedes this alias\n" +
				"  1 | body: &a [*a]\n" +
				"    |           ^",
		},
		"merge of a text": {
			src: "body: {<<: x}\n",
			want: "f.yaml:1:12: `<<` takes a mapping or a list of mappings\n" +
				"  1 | body: {<<: x}\n" +
				"    |            ^\n" +
				"  hint: write `<<: *anchor`",
		},
		"a foreign tag": {
			src: "listen: !secret x\n",
			want: "f.yaml:1:9: the tag `!secret` does not fit here\n" +
				"  1 | listen: !secret x\n" +
				"    |         ^~~~~~~\n" +
				"  hint: remove the tag",
		},
		"the root is a list": {
			src: "- a\n",
			want: "f.yaml:1:1: the file must be a mapping, not a list\n" +
				"  1 | - a\n" +
				"    | ^",
		},
		"infinity in anything": {
			src: "body: .inf\n",
			want: "f.yaml:1:7: `body` must be a finite number, not the number `.inf`\n" +
				"  1 | body: .inf\n" +
				"    |       ^~~~\n" +
				"  hint: put it in quotes to make it a text",
		},
		"wide characters, tabs and long lines": {
			src: "body: {日本語:\t\"" + strings.Repeat("長", 60) + "\", x: 1, x: 2, tail: " + strings.Repeat("z", 60) + "}\n",
			want: "f.yaml:1:83: duplicate key `x`, first on line 1\n" +
				"  1 | ...長長長長長長長長長長\", x: 1, x: 2, tail: zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz...\n" +
				"    |                                 ^\n" +
				"  hint: keep one of them",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var f file
			err := strictyaml.Decode("f.yaml", []byte(tt.src), &f)
			if diff := cmp.Diff(tt.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s\n%v", diff, err)
			}
		})
	}
}
