//go:build unix

package cli_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/lab/inject"
)

// An example is a code block of a page.
type example struct {
	page     string
	line     int
	language string
	text     string
}

// An exampleKind is what a YAML example is by its first top-level key, and how such a file is loaded.
type exampleKind struct {
	key  string
	load func(text string) error
}

var exampleKinds = []exampleKind{
	{"family", func(text string) error { _, err := contract.LoadFamily("page.yaml", []byte(text)); return err }},
	{"npm", func(text string) error { _, err := config.ParseProfile("page.yaml", []byte(text)); return err }},
	{"codes", loadContract},
	{"source", func(text string) error { _, err := config.ParseProfile("page", []byte(text)); return err }},
	{"rules", func(text string) error {
		_, err := inject.Parse("page.yaml", []byte(text), inject.Options{})
		return err
	}},
	{"verify", func(text string) error {
		return loadContract("form: 1\nname: page\nextends: commerce\ncodes: []\n" + text)
	}},
	{"grants", func(text string) error {
		return loadServer("url: http://127.0.0.1:9101/mcp\naccess: [loopback]\n" + text)
	}},
	{"operations", func(text string) error { return loadServer("openapi: openapi.yaml\n" + text) }},
	{"headers", func(text string) error { return loadServer("openapi: openapi.yaml\n" + text) }},
	{"servers", loadConfig},
	{"access", func(text string) error { return loadConfig(text + withAccount) }},
	{"", func(text string) error {
		return loadConfig(text + "\nservers: {farm: {url: http://127.0.0.1:9101/mcp}}\n")
	}},
}

// withAccount completes a configuration with access control, one way of which can lead to an account.
const withAccount = `
public_url: https://tools.example.com
store: sqlite:recourse.db
connection_keys: [0123456789abcdef0123456789abcdef]
providers: {deere: {flow: api_key}}
servers: {farm: {url: http://127.0.0.1:9101/mcp, connection: deere, access: [staff]}}
`

func loadContract(text string) error {
	_, err := contract.Builtin().Load("page.yaml", []byte(text))
	return err
}

func loadServer(entry string) error {
	return loadConfig("servers:\n  page:\n    " + strings.ReplaceAll(strings.TrimSpace(entry), "\n", "\n    ") + "\n")
}

// elsewhere matches a mistake about a file that does not exist here.
var elsewhere = regexp.MustCompile(`(?m)^page\.yaml:\S+ (the file cannot be read|contract files cannot be used here)[^\n]*\n( [^\n]*\n?)*`)

func loadConfig(text string) error {
	_, err := config.Parse("page.yaml", []byte(text), config.Options{
		LookupEnv: func(name string) (string, bool) { return strings.Repeat(name, 4), true },
		KnownContracts: []string{
			"recourse", "fieldmcp", "commerce", "studies", "patterns", "terra",
			"orders", "github", "stripe", // drafted or written on the pages
		},
	})
	if err != nil && elsewhere.ReplaceAllString(err.Error(), "") == "" {
		return nil
	}
	return err
}

// isYAML matches an indented block that is a part of a configuration or contract.
var isYAML = regexp.MustCompile(`^(#[^\n]*\n)*(listen|servers|operations|headers|verify|form):( |\n)`)

// Every YAML example on every page is valid.
func TestExamplesInYAML(t *testing.T) {
	t.Parallel()
	count := 0
	for _, e := range examples(t) {
		if e.language != "yaml" && (e.language != indented || !isYAML.MatchString(e.text)) {
			continue
		}
		count++
		i := slices.IndexFunc(exampleKinds, func(k exampleKind) bool { return strings.Contains("\n"+e.text, "\n"+k.key+":") || k.key == "" })
		if err := exampleKinds[i].load(e.text); err != nil {
			t.Errorf("%s:%d:\n%s\n%v", e.page, e.line, e.text, err)
		}
	}
	if count < 30 {
		t.Errorf("found only %d examples", count)
	}
}

// runnable matches commands that only need files.
var runnable = regexp.MustCompile(`^recourse (contract (show|schema|diff|gen) |contract lint shop\.yaml$|explain .*answer\.json$)`)

// Every command in an indented block runs if it only needs files; of others the arguments and flags are checked.
// TestPages runs the blocks marked as sh.
func TestExamplesOfCommands(t *testing.T) {
	all := examples(t)
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("answer.json", `{"content": [{"type": "text", "text": "Too many requests, retry after 30 seconds"}], "isError": true}`)
	ran, parsed := 0, 0
	for _, e := range all {
		if strings.HasPrefix(e.language, "sh") && pagesThatRun[e.page] == 0 {
			t.Errorf("%s:%d: TestPages does not run this page", e.page, e.line)
		}
		if e.language != indented {
			continue
		}
		if text, ok := strings.CutPrefix(e.text, "# shop.yaml\n"); ok {
			write("shop.yaml", text)
		}
		for line := range strings.Lines(strings.ReplaceAll(e.text, "\\\n", "")) {
			command, _, _ := strings.Cut(strings.TrimSpace(line), "  #")
			command, _, _ = strings.Cut(strings.TrimSpace(command), " >")
			words := wordsOf(command)
			if len(words) < 2 || words[0] != "recourse" {
				continue
			}
			args := words[1:]
			if runnable.MatchString(command) {
				ran++
			} else {
				parsed++
				args = append([]string{"--help"}, args...)
			}
			var stderr bytes.Buffer
			code := cli.Run(t.Context(), cli.Environment{Args: args, Stdout: &bytes.Buffer{}, Stderr: &stderr, LookupEnv: os.LookupEnv})
			if code != cli.ExitOK {
				t.Errorf("%s:%d: %s\nexit code %d\n%s", e.page, e.line, command, code, &stderr)
			}
		}
	}
	if ran < 8 || parsed < 15 {
		t.Errorf("ran only %d commands, and parsed %d", ran, parsed)
	}
}

var word = regexp.MustCompile(`'([^']*)'|"([^"]*)"|([^\s'"]+)`)

// wordsOf splits a command like a shell.
func wordsOf(command string) []string {
	var words []string
	for _, m := range word.FindAllStringSubmatch(command, -1) {
		words = append(words, m[1]+m[2]+m[3])
	}
	return words
}

// indented is the language of an indented example, which has no fence.
const indented = "indented"

// examples returns the blocks of all pages.
func examples(t *testing.T) []example {
	t.Helper()
	root := filepath.Join("..", "..")
	names := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(root, path); filepath.Ext(name) == ".md" {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var list []example
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, blocksOf(name, string(text))...)
	}
	return list
}

var fence = regexp.MustCompile("^( *)```(.*)$")

// blocksOf returns the blocks of a page.
func blocksOf(page, text string) []example {
	var list []example
	var open *example
	margin, blank := "", true
	for i, line := range strings.Split(text, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case m != nil && open != nil && open.language != indented:
			list, open = append(list, *open), nil
		case m != nil:
			margin, open = m[1], &example{page: page, line: i + 1, language: m[2]}
		case open != nil && open.language != indented:
			open.text += strings.TrimPrefix(line, margin) + "\n"
		case strings.HasPrefix(line, "    ") && (open != nil || blank):
			if open == nil {
				open = &example{page: page, line: i + 1, language: indented}
			}
			open.text += line[4:] + "\n"
		case open != nil:
			list, open = append(list, *open), nil
		}
		blank = line == ""
	}
	return list
}
