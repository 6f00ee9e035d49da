package config_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// Every profile is read without a mistake, says what each tool does in the words of an entry, and is the only one of its names.
func TestProfiles(t *testing.T) {
	t.Parallel()
	const fewest = 40
	if n := len(config.ProfileNames()); n < fewest {
		t.Errorf("there are %d profiles, want at least %d", n, fewest)
	}
	for _, name := range config.ProfileNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := config.ProfileNamed(name)
			commands := map[string][]string{"npx -y": {p.NPM}, "docker run --rm -i": p.Images, "": p.Commands}
			commands["uvx"] = []string{p.PyPI}
			for runner, names := range commands {
				for _, started := range names {
					command := append(strings.Fields(runner), started)
					if started == "" {
						continue
					}
					if got := config.ProfileOf(command); got != p {
						t.Errorf("%q has another profile: %v", command, got)
					}
				}
			}
		})
	}
}

// The page lists every profile.
func TestProfilesPage(t *testing.T) {
	t.Parallel()
	const page = "../../docs/profiles.md"
	src, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const heading = "## The profiles\n\n"
	before, _, _ := strings.Cut(string(src), heading)
	var b strings.Builder
	b.WriteString("| profile | package | listed by | tools that read | others |\n|---|---|---|---|---|\n")
	for _, name := range config.ProfileNames() {
		p := config.ProfileNamed(name)
		reads := 0
		for _, tool := range p.Tools {
			if tool.Value.ReadOnly != nil && *tool.Value.ReadOnly {
				reads++
			}
		}
		fmt.Fprintf(&b, "| [%s](../profiles/%[1]s.yaml) | `%s` | %s | %d | %d |\n", name, p.Package(), p.Source.Read, reads, len(p.Tools)-reads)
	}
	contracttest.Golden(t, page, before+heading+b.String())
}

// A profile is known by what a command starts, and by nothing else.
func TestProfileOf(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-memory@2026.8.31":                      "server-memory",
		"node /x/node_modules/@modelcontextprotocol/server-memory/dist/index.js":    "server-memory",
		"python3 -m mcp_server_git":                                                 "server-git",
		"uvx awslabs.aws-documentation-mcp-server@latest":                           "aws-documentation",
		"npx -y mcp-remote https://example.com/@modelcontextprotocol/server-memory": "",
		"npx -y @modelcontextprotocol/server-memor":                                 "",
		"npx -y mcp-server-git":                                                     "", // a package for Python
		"farmd":                                                                     "",
	} {
		got := ""
		if p := config.ProfileOf(strings.Fields(command)); p != nil {
			got = p.Name
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
}

// What an entry says about its profile, and mistakes in that.
func TestChosenProfile(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"command: [npx, -y, '@modelcontextprotocol/server-memory']":                "server-memory",
		"command: [npx, -y, '@modelcontextprotocol/server-memory'], profile: none": "",
		"command: [./mine], profile: server-memory":                                "server-memory",
		"command: [./mine], profile: server-memroy":                                "did you mean `server-memory`?",
		"url: 'http://127.0.0.1:1/mcp', profile: server-memory":                    "`profile` belongs to a server with `command`",
		"url: 'http://127.0.0.1:1/@modelcontextprotocol/server-memory/mcp'":        "",
	} {
		cfg, err := config.Parse("recourse.yaml", []byte("servers: {it: {"+entry+"}}"), config.Options{KnownContracts: []string{"recourse"}})
		switch {
		case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v", entry, err)
		case err == nil && (cfg.Servers[0].Known == nil) != (want == ""), err == nil && want != "" && cfg.Servers[0].Known.Name != want:
			t.Errorf("%s: got the profile %v, want %q", entry, cfg.Servers[0].Known, want)
		}
	}
}

// A profile with mistakes is not read.
func TestProfileMistakes(t *testing.T) {
	t.Parallel()
	const source = "source: {version: '1', read: source, on: 2026-11-28}\n"
	for text, want := range map[string]string{
		source + "tools: {a: {read_only: true}}":                                       "the profile names no package",
		"npm: x\ntools: {a: {read_only: true}}":                                        "the file lacks the key `source`",
		"npm: x\n" + source + "tools: {'a*': {read_only: true}}":                       "this is not the name of a tool",
		"npm: x\n" + source + "tools: {a: {}}":                                         "nothing is said about this tool",
		"npm: x\n" + source + "tools: {a: {timeout: 5s}}":                              "timeout",
		"npm: x\n" + source + "tools: {a: {verify: {tool: b}}, b: {idempotent: true}}": "must be one that only reads",
		"npm: x\n" + strings.Replace(source, "read: source", "read: hearsay", 1):       "tools/list",
	} {
		if _, err := config.ParseProfile("x", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
