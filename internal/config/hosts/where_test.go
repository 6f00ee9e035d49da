package hosts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/config/hosts"
)

// The places of hosts' files, from their documentation.
func TestFiles(t *testing.T) {
	t.Parallel()
	lookup := func(values map[string]string) func(string) (string, bool) {
		return func(name string) (string, bool) { value, ok := values[name]; return value, ok }
	}
	linux := hosts.Environment{GOOS: "linux", Lookup: lookup(map[string]string{"HOME": "/home/ada"}), Folder: "."}
	mac := hosts.Environment{GOOS: "darwin", Lookup: lookup(map[string]string{"HOME": "/Users/ada"}), Folder: "."}
	windows := hosts.Environment{GOOS: "windows", Lookup: lookup(map[string]string{"USERPROFILE": "/u", "APPDATA": "/u/roaming"}), Folder: "."}
	for _, tt := range []struct {
		place hosts.Environment
		host  string
		want  []string
	}{
		{linux, "claude-desktop", []string{"/home/ada/.config/Claude/claude_desktop_config.json"}},
		{mac, "claude-desktop", []string{"/Users/ada/Library/Application Support/Claude/claude_desktop_config.json"}},
		{windows, "claude-desktop", []string{"/u/roaming/Claude/claude_desktop_config.json"}},
		{linux, "claude-code", []string{"/home/ada/.claude.json", ".mcp.json"}},
		{linux, "cursor", []string{"/home/ada/.cursor/mcp.json", ".cursor/mcp.json"}},
		{mac, "vscode", []string{"/Users/ada/Library/Application Support/Code/User/mcp.json", ".vscode/mcp.json"}},
		{linux, "windsurf", []string{"/home/ada/.codeium/windsurf/mcp_config.json"}},
		{mac, "zed", []string{"/Users/ada/.config/zed/settings.json", ".zed/settings.json"}},
		{windows, "zed", []string{"/u/roaming/zed/settings.json", ".zed/settings.json"}},
		{linux, "codex", []string{"/home/ada/.codex/config.toml", ".codex/config.toml"}},
		{linux, "gemini", []string{"/home/ada/.gemini/settings.json", ".gemini/settings.json"}},
		{linux, "goose", []string{"/home/ada/.config/goose/config.yaml"}},
		{windows, "goose", []string{"/u/roaming/Block/goose/config/config.yaml"}},
		{mac, "opencode", []string{
			"/Users/ada/.config/opencode/opencode.json", "/Users/ada/.config/opencode/opencode.jsonc", "opencode.json", "opencode.jsonc",
		}},
		{linux, "lmstudio", []string{"/home/ada/.lmstudio/mcp.json"}},
		{linux, "another", nil},
	} {
		var got []string
		for _, path := range tt.place.Files(tt.host) {
			got = append(got, filepath.ToSlash(path))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s on %s (-want +got):\n%s", tt.host, tt.place.GOOS, diff)
		}
	}
	if len(hosts.Names()) != 11 {
		t.Errorf("hosts: %v", hosts.Names())
	}
}

// If the project is the home folder, its file is found once.
func TestFoundOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, ".cursor", "mcp.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	home := func(name string) (string, bool) { return dir, name == "HOME" }
	got := hosts.Environment{GOOS: "linux", Lookup: home, Folder: dir + "/.cursor/.."}.Found("cursor")
	if diff := cmp.Diff([]string{path}, got); diff != "" {
		t.Error(diff)
	}
}

// The file from which a host reads environment variables is read, too; the entry's own variables take precedence.
func TestEnvFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".vscode"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".env"), "# keys\nexport A=1\nB = 'two # 2'\n\nC=three # 3\nD=\"x\"\n")
	write(t, filepath.Join(dir, "bad.env"), "A=1\nn0rth-t0ken\n")
	entry := func(envFile string) *hosts.File {
		file, err := hosts.Parse(filepath.Join(dir, ".vscode", "mcp.json"),
			[]byte(`{"servers": {"a": {"command": "x", "env": {"D": "own"}, "envFile": "`+envFile+`"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	none := func(string) (string, bool) { return "", false }
	file := entry("${workspaceFolder}/.env")
	if err := file.Expand(none); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"A": "1", "B": "two # 2", "C": "three", "D": "own"}
	if diff := cmp.Diff(want, file.Servers[0].Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	err := entry("${workspaceFolder}/bad.env").Expand(none)
	if err == nil || !strings.Contains(err.Error(), "line 2 of ") || strings.Contains(err.Error(), "n0rth-t0ken") {
		t.Errorf("invalid file: %v", err)
	}
	if err := entry("gone.env").Expand(none); err == nil || !strings.Contains(err.Error(), "envFile") {
		t.Errorf("missing file: %v", err)
	}
}

// References that only the host can resolve are found, so that such a server can be left to it.
func TestNeedsHost(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"${input:key}": "${input:key}", "${env:A}": "", "${A:-b}": "", "${A}": "", "x ${config:y} z": "${config:y}",
	} {
		s := &hosts.Target{Env: map[string]string{"A": text}}
		if got := s.NeedsHost(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
