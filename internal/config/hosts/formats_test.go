package hosts_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/recoursehq/recourse/internal/config/hosts"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// formats are hosts' files without and with the wrapper.
var formats = map[string]struct {
	name, text, want string
	servers          []*hosts.Target
}{
	"Codex": {
		"config.toml",
		"model = \"o4\" # mine\n\n[mcp_servers.\"my files\"]\ncommand = 'npx' # runs\nargs = [\n  \"-y\", # yes\n  'server-files',\n]\n" +
			"env = { TOKEN = \"t\", }\n\n  [mcp_servers.bare]\n  command = \"farmd\" # ours\n\n[mcp_servers.remote]\nurl = \"https://x.example/mcp\"\nenabled = false\n\n[history]\nsize = 1\n",
		"model = \"o4\" # mine\n\n[mcp_servers.\"my files\"]\ncommand = \"/bin/recourse\" # runs\nargs = [\n  \"wrap\",\n  \"--name=my files\",\n  \"--\",\n  \"npx\",\n  \"-y\", # yes\n  'server-files',\n]\n" +
			"env = { TOKEN = \"t\", }\n\n  [mcp_servers.bare]\n  command = \"/bin/recourse\" # ours\n  args = [\"wrap\", \"--name=bare\", \"--\", \"farmd\"]\n\n[mcp_servers.remote]\nurl = \"https://x.example/mcp\"\nenabled = false\n\n[history]\nsize = 1\n",
		[]*hosts.Target{
			{Name: "my files", Command: "npx", Args: []string{"-y", "server-files"}, Env: map[string]string{"TOKEN": "t"}},
			{Name: "bare", Command: "farmd"},
			{Name: "remote", URL: "https://x.example/mcp", Disabled: true},
		},
	},
	"Codex, in single lines": {
		"config.toml",
		"mcp_servers.a.command = \"x\"\r\nmcp_servers.a.env.B = \"c\"\r\nmcp_servers.b = { command = \"y\" }\r\nmcp_servers.c = { args = [ ], command = \"z\" }\r\n",
		"mcp_servers.a.command = \"/bin/recourse\"\r\nmcp_servers.a.args = [\"wrap\", \"--name=a\", \"--\", \"x\"]\r\nmcp_servers.a.env.B = \"c\"\r\n" +
			"mcp_servers.b = { command = \"/bin/recourse\", args = [\"wrap\", \"--name=b\", \"--\", \"y\"] }\r\n" +
			"mcp_servers.c = { args = [\"wrap\", \"--name=c\", \"--\", \"z\" ], command = \"/bin/recourse\" }\r\n",
		[]*hosts.Target{
			{Name: "a", Command: "x", Env: map[string]string{"B": "c"}},
			{Name: "b", Command: "y"},
			{Name: "c", Command: "z", Args: []string{}},
		},
	},
	"Goose": {
		"config.yaml",
		"GOOSE_MODEL: x # mine\nextensions:\n  fetch:\n    args:\n    - mcp-server-fetch # the one\n    - \"-v\"\n    cmd: uvx\n    enabled: true\n    envs: {A: b}\n    type: stdio\n" +
			"  developer:\n    bundled: true\n    type: builtin\n  bare:\n    cmd: 'farm''s d'   # ours\n    type: stdio\n  far: {uri: \"https://x.example/mcp\", type: streamable_http, enabled: false}\n  flow: {cmd: x, args: [-y, z]}\n",
		"GOOSE_MODEL: x # mine\nextensions:\n  fetch:\n    args:\n    - \"wrap\"\n    - \"--name=fetch\"\n    - \"--\"\n    - \"uvx\"\n    - mcp-server-fetch # the one\n    - \"-v\"\n    cmd: \"/bin/recourse\"\n    enabled: true\n    envs: {A: b}\n    type: stdio\n" +
			"  developer:\n    bundled: true\n    type: builtin\n  bare:\n    cmd: \"/bin/recourse\"   # ours\n    args: [\"wrap\", \"--name=bare\", \"--\", \"farm's d\"]\n    type: stdio\n  far: {uri: \"https://x.example/mcp\", type: streamable_http, enabled: false}\n" +
			"  flow: {cmd: \"/bin/recourse\", args: [\"wrap\", \"--name=flow\", \"--\", \"x\", -y, z]}\n",
		[]*hosts.Target{
			{Name: "fetch", Command: "uvx", Args: []string{"mcp-server-fetch", "-v"}, Env: map[string]string{"A": "b"}},
			{Name: "developer", Internal: true},
			{Name: "bare", Command: "farm's d"},
			{Name: "far", URL: "https://x.example/mcp", Disabled: true},
			{Name: "flow", Command: "x", Args: []string{"-y", "z"}},
		},
	},
	"Goose, on Windows": {
		"config.yaml",
		"extensions:\r\n  a:\r\n    cmd: x\r\n    args:\r\n      - 'y'\r\n  b:\r\n    cmd: z\r\n",
		"extensions:\r\n  a:\r\n    cmd: \"/bin/recourse\"\r\n    args:\r\n      - \"wrap\"\r\n      - \"--name=a\"\r\n      - \"--\"\r\n      - \"x\"\r\n      - 'y'\r\n" +
			"  b:\r\n    cmd: \"/bin/recourse\"\r\n    args: [\"wrap\", \"--name=b\", \"--\", \"z\"]\r\n",
		[]*hosts.Target{{Name: "a", Command: "x", Args: []string{"y"}}, {Name: "b", Command: "z"}},
	},
	"OpenCode": {
		"opencode.jsonc",
		`{"mcp": {"a": {"type": "local", "command": ["npx", "-y", "x"], "environment": {"A": "b"}, "enabled": true}, /* c */ "b": {"type": "remote", "url": "https://x.example/mcp"}}}`,
		`{"mcp": {"a": {"type": "local", "command": ["/bin/recourse", "wrap", "--name=a", "--", "npx", "-y", "x"], "environment": {"A": "b"}, "enabled": true}, /* c */ "b": {"type": "remote", "url": "https://x.example/mcp"}}}`,
		[]*hosts.Target{
			{Name: "a", Command: "npx", Args: []string{"-y", "x"}, Env: map[string]string{"A": "b"}},
			{Name: "b", URL: "https://x.example/mcp"},
		},
	},
	"Zed": {
		"settings.json",
		`{"theme": "x", "context_servers": {"a": {"source": "custom", "command": "x", "args": []}, "b": {"command": {"path": "y", "args": ["z"]}}, "c": {"settings": {}}}}`,
		`{"theme": "x", "context_servers": {"a": {"source": "custom", "command": "/bin/recourse", "args": ["wrap", "--name=a", "--", "x"]}, "b": {"command": {"path": "/bin/recourse", "args": ["wrap", "--name=b", "--", "y", "z"]}}, "c": {"settings": {}}}}`,
		[]*hosts.Target{
			{Name: "a", Command: "x", Args: []string{}},
			{Name: "b", Command: "y", Args: []string{"z"}},
			{Name: "c", Internal: true},
		},
	},
	"Claude Code": {
		".claude.json",
		`{"mcpServers": {"a": {"command": "x", "args": ["1"]}}, "projects": {"/home/ada": {"mcpServers": {"a": {"type": "stdio", "command": "y"}}}, "/srv": {"history": []}}}`,
		`{"mcpServers": {"a": {"command": "/bin/recourse", "args": ["wrap", "--name=a", "--", "x", "1"]}}, "projects": {"/home/ada": {"mcpServers": {"a": {"type": "stdio", "command": "/bin/recourse", "args": ["wrap", "--name=a", "--", "y"]}}}, "/srv": {"history": []}}}`,
		[]*hosts.Target{{Name: "a", Command: "x", Args: []string{"1"}}, {Name: "a", Project: "/home/ada", Command: "y"}},
	},
	"Gemini, with another mcp key": {
		"settings.json",
		`{"mcp": {"allowed": ["a"]}, "mcpServers": {"a": {"httpUrl": "https://x.example/mcp"}}}`,
		`{"mcp": {"allowed": ["a"]}, "mcpServers": {"a": {"httpUrl": "https://x.example/mcp"}}}`,
		[]*hosts.Target{{Name: "a", URL: "https://x.example/mcp"}},
	},
	"VS Code": {
		"mcp.json",
		"{\"inputs\": [], \"servers\": {\"a\": {\"type\": \"stdio\", \"command\": \"x\", \"args\": [\"${input:key}\"], \"envFile\": \"${workspaceFolder}/.env\"}}}",
		"{\"inputs\": [], \"servers\": {\"a\": {\"type\": \"stdio\", \"command\": \"/bin/recourse\", \"args\": [\"wrap\", \"--name=a\", \"--\", \"x\", \"${input:key}\"], \"envFile\": \"${workspaceFolder}/.env\"}}}",
		[]*hosts.Target{{Name: "a", Command: "x", Args: []string{"${input:key}"}, EnvFile: "${workspaceFolder}/.env"}},
	},
}

// Each host's file is read and edited, and undoing the edit restores it to the byte.
func TestFormats(t *testing.T) {
	t.Parallel()
	for host, tt := range formats {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			file, err := hosts.Parse(tt.name, []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.servers, file.Servers, cmpopts.IgnoreUnexported(hosts.Target{})); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
			wrapped, _ := file.Wrap("/bin/recourse")
			if diff := cmp.Diff(tt.want, string(wrapped)); diff != "" {
				t.Errorf("wrapped (-want +got):\n%s", diff)
			}
			again, err := hosts.Parse(tt.name, wrapped)
			if err != nil {
				t.Fatal(err)
			}
			if twice, names := again.Wrap("/bin/recourse"); len(names) > 0 || !bytes.Equal(twice, wrapped) {
				t.Errorf("wrapped twice: %v", names)
			}
			if back, _ := again.Unwrap(file); string(back) != tt.text {
				t.Errorf("unwrapped (-want +got):\n%s", cmp.Diff(tt.text, string(back)))
			}
		})
	}
}

// Entries that cannot be edited safely are left alone, with the reason.
func TestLeft(t *testing.T) {
	t.Parallel()
	const text = "extensions:\n  a: {uri: \"https://x.example/mcp\"}\n  b: {type: platform}\n  c: {cmd: &c x}\n  d: {cmd: *c}\n  e:\n    cmd: >-\n      x\n      y\n" +
		"  f: {cmd: x, args: [1]}\n  g: {enabled: true}\n"
	file, err := hosts.LoadSome(writeFile(t, "config.yaml", text))
	if err != nil {
		t.Fatal(err)
	}
	got, names := file.Wrap("/bin/recourse")
	if string(got) != text || len(names) > 0 {
		t.Errorf("%v: %s", names, got)
	}
	var why []string
	for _, left := range file.Left() {
		why = append(why, left.Name+": "+left.Why)
	}
	want := []string{
		"a: it has a URL: use `recourse serve` for such a server",
		"b: it is part of the host, or of an extension",
		"c: its command is left alone: it is an alias, or has an anchor or a tag",
		"d: its command is left alone: it is an alias, or has an anchor or a tag",
		"e: its command is left alone: it is written over several lines",
		"f: `args` must be a list of texts",
		"g: has neither `command` nor `url`",
	}
	if diff := cmp.Diff(want, why); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// A syntax error is reported with its position, without showing any of the file.
func TestFormatMistakes(t *testing.T) {
	t.Parallel()
	const secret = "n0rth-t0ken"
	for name, tt := range map[string]struct{ file, text, want string }{
		"TOML":           {"c.toml", "a = 1\nb = \"" + secret + "\n", "c.toml:2:"},
		"TOML twice":     {"c.toml", "[mcp_servers.a]\ncommand = \"x\"\ncommand = \"" + secret + "\"\n", "c.toml:3:"},
		"YAML":           {"c.yaml", "extensions:\n  a: {cmd: \"" + secret + "\n", "c.yaml:"},
		"YAML twice":     {"c.yaml", "extensions:\n  a: {cmd: x}\n  a: {cmd: " + secret + "}\n", "c.yaml:3:3: duplicate key"},
		"no servers":     {"c.toml", "a = \"" + secret + "\"\n", "c.toml:1:1: the file has no list of MCP servers"},
		"servers a text": {"c.toml", "mcp_servers = \"" + secret + "\"\n", "c.toml:1:15: `mcp_servers` must be an object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := hosts.Parse(tt.file, []byte(tt.text))
			if _, ok := errors.AsType[strictyaml.Errors](err); !ok || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}
