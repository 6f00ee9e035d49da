package hosts_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/recoursehq/recourse/internal/config/hosts"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want []*hosts.Target
	}{
		"a program": {
			`{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"], "env": {"A": "1"}, "cwd": "/srv", "new": [1]}}}`,
			[]*hosts.Target{{Name: "a", Command: "npx", Args: []string{"-y", "x"}, Env: map[string]string{"A": "1"}, Cwd: "/srv"}},
		},
		"VS Code": {
			`{"inputs": [], "servers": {"a": {"type": "stdio", "command": "x"}, "b": {"type": "http", "url": "http://127.0.0.1/mcp"}}}`,
			[]*hosts.Target{{Name: "a", Command: "x"}, {Name: "b", URL: "http://127.0.0.1/mcp"}},
		},
		"comments and commas": {
			"\ufeff// first\n{\"mcpServers\": {/* a, b */ \"a\": {\"command\": \"http://x, // y\", \"args\": [\"/*\", \"\\\"],\",], },\r\n // c }\n},}",
			[]*hosts.Target{{Name: "a", Command: "http://x, // y", Args: []string{"/*", "\"],"}}},
		},
		"in the order of the file": {
			`{"mcpServers": {"z": {"command": "1"}, "a": {"command": "2", "disabled": true}}}`,
			[]*hosts.Target{{Name: "z", Command: "1"}, {Name: "a", Command: "2", Disabled: true}},
		},
		"the older transport": {
			`{"mcpServers": {"a": {"type": "sse", "url": "http://127.0.0.1/sse", "headers": {"X-A": "b"}}}}`,
			[]*hosts.Target{{Name: "a", URL: "http://127.0.0.1/sse", Headers: map[string]string{"X-A": "b"}, SSE: true}},
		},
		"none": {`{"mcpServers": {}}`, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := hosts.Parse("mcp.json", []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, file.Servers, cmpopts.IgnoreUnexported(hosts.Target{})); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"empty":            {"", "m:1:1: the file ends in the middle of the JSON text"},
		"cut off":          {`{"mcpServers": {`, "m:1:17: the file ends in the middle of the JSON text"},
		"a bare key":       {"{\n  mcpServers: {}}", "m:2:3: this is not JSON: "},
		"two texts":        {`{"mcpServers": {}} {}`, "m:1:21: there is something after the end of the JSON text"},
		"an open comment":  {`{"mcpServers": {}} /* x`, "m:1:"},
		"a list":           {"[]", "m:1:1: the file must be an object"},
		"another file":     {`{"name": "x"}`, "m:1:1: the file has no list of MCP servers"},
		"servers a list":   {`{"mcpServers": []}`, "m:1:16: `mcpServers` must be an object"},
		"an entry a text":  {`{"mcpServers": {"ä": "x"}}`, `m:1:22: the server "ä" must be an object`},
		"neither":          {`{"mcpServers": {"a": {}}}`, `m:1:22: the server "a" has neither`},
		"both":             {`{"mcpServers": {"a": {"command":"x","url":"http://x/"}}}`, `m:1:22: the server "a" has both`},
		"command a list":   {`{"mcpServers": {"a": {"command":["x"]}}}`, "m:1:33: `command` must be a text"},
		"args a number":    {"{\"mcpServers\": {\"a\": {\"command\":\"x\",\n\"args\":[\"-p\", 1]}}}", "m:2:8: `args` must be a list of texts"},
		"args null":        {`{"mcpServers": {"a": {"command":"x","args":null}}}`, "m:1:44: `args` must be a list of texts"},
		"env a number":     {`{"mcpServers": {"a": {"command":"x","env":{"PORT": 80}}}}`, "m:1:52: every value in `env` must be a text"},
		"half an address":  {`{"mcpServers": {"a": {"url":"mcp.example.com"}}}`, "m:1:29: the address must be"},
		"a duplicate name": {"{\"mcpServers\": {\"a\": {\"command\":\"x\"},\n  \"a\": {}}}", "m:2:3: this name appears twice in one object"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := hosts.Parse("m", []byte(test.text))
			mistakes, ok := errors.AsType[strictyaml.Errors](err)
			if !ok || len(mistakes) != 1 || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, want one mistake: %s", err, test.want)
			}
		})
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	lookup := func(name string) (string, bool) {
		value, ok := map[string]string{"TOKEN": "t0", "EMPTY": ""}[name]
		return value, ok
	}
	file, err := hosts.Parse("m", []byte(`{"mcpServers": {"a": {"command": "${env:TOKEN}/x", "args": ["${EMPTY:-d}", "${TOKEN:-d}", "$TOKEN", "${EMPTY}"],
		"env": {"A": "Bearer ${TOKEN}"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Expand(lookup); err != nil {
		t.Fatal(err)
	}
	want := &hosts.Target{Name: "a", Command: "t0/x", Args: []string{"d", "t0", "$TOKEN", ""}, Env: map[string]string{"A": "Bearer t0"}}
	if diff := cmp.Diff(want, file.Servers[0], cmpopts.IgnoreUnexported(hosts.Target{})); diff != "" {
		t.Errorf("server (-want +got):\n%s", diff)
	}

	file, err = hosts.Parse("m", []byte("{\"mcpServers\": {\"a\": {\"command\": \"${GONE}\"},\n\"b\": {\"command\": \"x\", \"args\": [\"${input:key}\"]}}}"))
	if err != nil {
		t.Fatal(err)
	}
	got := file.Expand(lookup).Error()
	for _, want := range []string{
		"m:1:22: the environment variable `GONE` of the server \"a\" is not set",
		"m:2:6: only the host knows what `${input:key}` of the server \"b\" stands for",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"in a line": {
			`{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"], "z": 1.0}}}`,
			`{"mcpServers": {"a": {"command": "/bin/recourse", "args": ["wrap", "--name=a", "--", "npx", "-y", "x"], "z": 1.0}}}`,
		},
		"args first, in lines": {
			"{\"mcpServers\": {\"a\": {\"args\": [\n\t\"-y\" // yes\n], \"command\": \"npx\",},},}",
			"{\"mcpServers\": {\"a\": {\"args\": [\n\t\"wrap\",\n\t\"--name=a\",\n\t\"--\",\n\t\"npx\",\n\t\"-y\" // yes\n], \"command\": \"/bin/recourse\",},},}",
		},
		"no args": {
			`{"servers": {"-a b": {"command": "x \"y\""}}}`,
			`{"servers": {"-a b": {"command": "/bin/recourse", "args": ["wrap", "--name=-a b", "--", "x \"y\""]}}}`,
		},
		"empty args": {
			`{"servers": {"a": {"command": "x", "args": [ /* none */ ]}}}`,
			`{"servers": {"a": {"command": "/bin/recourse", "args": ["wrap", "--name=a", "--", "x" /* none */ ]}}}`,
		},
		"a comment before the args": {
			`{"servers": {"a": {"command": "x", "args": [/* yes */ "-y"]}}}`,
			`{"servers": {"a": {"command": "/bin/recourse", "args": ["wrap", "--name=a", "--", "x", /* yes */ "-y"]}}}`,
		},
		"wrapped, or not a program": {
			`{"servers": {"a": {"command": "C:\\Tools\\Recourse.exe", "args": ["wrap", "--", "x"]}, "b": {"url": "http://x/mcp"}}}`,
			`{"servers": {"a": {"command": "C:\\Tools\\Recourse.exe", "args": ["wrap", "--", "x"]}, "b": {"url": "http://x/mcp"}}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := hosts.Parse("m", []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			got, _ := file.Wrap("/bin/recourse")
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if string(got) == test.text {
				return
			}
			wrapped, err := hosts.Parse("m", got)
			if err != nil {
				t.Fatal(err)
			}
			if back, _ := wrapped.Unwrap(file); string(back) != test.text {
				t.Errorf("after undo: %s", cmp.Diff(test.text, string(back)))
			}
		})
	}
}

// A wrapped file can be read again, means the same, and is not wrapped twice.
func FuzzWrap(f *testing.F) {
	f.Add(`{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"]}, "b": {"url": "http://x/"}}}`)
	f.Add("{\"servers\": {\"a\": {\"args\": [\n// c\n\"-y\",], \"command\": \"npx\",},},}")
	f.Add(`{"servers": {"a": {"command": "x", "command": "y"}}} /*`)
	for _, format := range formats {
		f.Add(format.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"m.json", "m.toml", "m.yaml"} {
			wrapAgain(t, name, text)
		}
	})
}

// wrapAgain adds the wrapper to a file, and removes it.
func wrapAgain(t *testing.T, name, text string) {
	t.Helper()
	file, err := hosts.Parse(name, []byte(text))
	if err != nil {
		if _, ok := errors.AsType[strictyaml.Errors](err); !ok {
			t.Fatalf("not a list of mistakes: %v", err)
		}
		return
	}
	wrapped, names := file.Wrap("/bin/recourse")
	again, err := hosts.Parse(name, wrapped)
	if err != nil {
		t.Fatalf("%q became %q: %v", text, wrapped, err)
	}
	if twice, more := again.Wrap("/bin/recourse"); len(more) > 0 || !bytes.Equal(twice, wrapped) {
		t.Fatalf("wrapped twice: %q", twice)
	}
	if slices.ContainsFunc(file.Servers, (*hosts.Target).Wrapped) || hasTwins(file) {
		return
	}
	if back, _ := again.Unwrap(file); string(back) != text {
		t.Fatalf("%q became %q by way of %q", text, back, wrapped)
	}
	if len(names) == 0 && string(wrapped) != text {
		t.Fatalf("%q became %q", text, wrapped)
	}
	for i, s := range file.Servers {
		now := again.Servers[i]
		if s.Command == "" || s.Wrapped() || s.Command == "/bin/recourse" || now.Command == s.Command {
			continue
		}
		want, _ := json.Marshal(append([]string{"wrap", "--name=" + s.Name, "--", s.Command}, s.Args...))
		got, _ := json.Marshal(now.Args)
		if now.Command != "/bin/recourse" || !bytes.Equal(got, want) {
			t.Fatalf("arguments %s, want %s", got, want)
		}
	}
}

// hasTwins reports whether servers in different lists have the same name.
func hasTwins(file *hosts.File) bool {
	names := map[string]bool{}
	for _, s := range file.Servers {
		if names[s.String()] {
			return true
		}
		names[s.String()] = true
	}
	return false
}

func TestInstallAndUndo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target.json"), filepath.Join(dir, "mcp.json")
	write(t, target, "before")
	if err := os.Chmod(target, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	if err := hosts.Install(link, []byte("after"), []byte("before")); err != nil {
		t.Fatal(err)
	}
	wantFile(t, target, "after")
	wantFile(t, hosts.Backup(link), "before")
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v", err)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the permissions have changed: %v, %v", info.Mode(), err)
	}
	if err := hosts.Install(link, []byte("later"), []byte("earlier")); err != nil {
		t.Fatal(err)
	}
	wantFile(t, target, "later")
	wantFile(t, hosts.Backup(link), "earlier")
	for range 2 { // the first undo removes the copy
		if err := hosts.Undo(link, []byte("before")); err != nil {
			t.Fatal(err)
		}
		wantFile(t, target, "before")
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 2 {
		t.Errorf("leftover files: %v, %v", names, err)
	}
}

func TestLoadBoundsWhatItReads(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "large.json")
	write(t, path, strings.Repeat(" ", hosts.MaxSize+1))
	if _, err := hosts.Load(path); err == nil || !strings.Contains(err.Error(), "larger than 8 MiB") {
		t.Errorf("got %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %q, want %q (%v)", path, got, want, err)
	}
}

// writeFile writes a file into a folder of its own, and returns its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	write(t, path, text)
	return path
}
