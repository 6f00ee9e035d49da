package strictyaml_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// quotedCode matches code between backticks.
var quotedCode = regexp.MustCompile("`([^`]+)`")

// looksLikeConfiguration matches a value between brackets, and a key with its value. `{*}` is a place in a pattern.
var looksLikeConfiguration = regexp.MustCompile(`^(\[.*|\{[^*].*|[a-z_]+: .*)$`)

// Whoever pastes what a hint shows gets a file that can be read: every piece of
// configuration in the program's texts and in the golden files of its mistakes is YAML.
func TestHintsAreYAML(t *testing.T) {
	t.Parallel()
	seen := 0
	check := func(where, text string) {
		for _, found := range quotedCode.FindAllStringSubmatch(text, -1) {
			code := found[1]
			if !looksLikeConfiguration.MatchString(code) || strings.Contains(code, "%") || len(code) == 1 {
				continue
			}
			seen++
			if _, err := strictyaml.Parse("hint", []byte(code)); err != nil {
				t.Errorf("%s: %s\n%v", where, code, err)
			}
		}
	}
	err := filepath.WalkDir(filepath.Join("..", "..", ".."), func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != ".." && (strings.HasPrefix(name, ".") || name == "node_modules"):
			return filepath.SkipDir
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && literal.Value[0] == '"' {
					if text, err := strconv.Unquote(literal.Value); err == nil {
						check(path, text)
					}
				}
				return true
			})
		case strings.HasSuffix(name, ".txt") && strings.Contains(path, "testdata"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(text)) {
				if hint, ok := strings.CutPrefix(strings.TrimSpace(line), "hint: "); ok {
					check(path, hint)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const least = 20
	if seen < least {
		t.Errorf("only %d pieces of configuration were found", seen)
	}
}

// What a hint makes of a value is that value, and not another one.
func TestHintsOfLists(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"npx -y @scope/x":           {"npx", "-y", "@scope/x"},
		`run "a, b" {x} 1 yes null`: {"run", `"a,`, `b"`, "{x}", "1", "yes", "null"},
		"%x":                        {"%x"},
		"a:b #c":                    {"a:b", "#c"},
		"true":                      {"true"},
	} {
		var v struct {
			Args []string `yaml:"args"`
		}
		err := strictyaml.Decode("f.yaml", []byte("args: "+strconv.Quote(text)+"\n"), &v)
		if err == nil {
			t.Fatalf("%q is a list", text)
		}
		found := quotedCode.FindStringSubmatch(err.Error()[strings.LastIndex(err.Error(), "hint: "):])
		if found == nil {
			t.Fatal(err)
		}
		if err := strictyaml.Decode("f.yaml", []byte("args: "+found[1]+"\n"), &v); err != nil {
			t.Errorf("%q: %s: %v", text, found[1], err)
		}
		if diff := cmp.Diff(want, v.Args); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// Only true and false are taken for one; for what people write as well, it is said which.
func TestOnlyTrueAndFalse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"yes": "write `true`", "Off": "write `false`", "1": "write `true`", "True": "write `true`", `"true"`: "write it without quotes",
		"maybe": "", "[true]": "", "0": "write `false`",
	} {
		var v struct {
			On bool `yaml:"on"`
		}
		err := strictyaml.Decode("f.yaml", []byte("on: "+text+"\n"), &v)
		if err == nil || !strings.Contains(err.Error(), "`on` must be true or false, not ") {
			t.Errorf("%s: %v", text, err)
			continue
		}
		_, hint, _ := strings.Cut(err.Error(), "hint: ")
		if hint != want {
			t.Errorf("%s: hint %q, want %q", text, hint, want)
		}
	}
}

// A duration of zero is refused nearly everywhere, so that the hint does not show one.
func TestHintOfZero(t *testing.T) {
	t.Parallel()
	var s struct {
		Servers map[string]server `yaml:"servers"`
	}
	err := strictyaml.Decode("f.yaml", []byte("servers: {a: {url: u, timeout: 0}}\n"), &s)
	if err == nil || !strings.HasSuffix(err.Error(), "hint: write it as `500ms`, `20s` or `1m30s`") {
		t.Error(err)
	}
}
