package hosts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An Environment is an environment in which hosts keep their files.
type Environment struct {
	GOOS   string                                    // the operating system, as Go calls it
	Lookup func(name string) (value string, ok bool) // finds an environment variable
	Folder string                                    // the folder of the current project
}

// A host is a program that starts MCP servers, with its files, each in one of the folders that [Environment.root]
// knows.
type host struct {
	name  string
	files []string
}

var known = []host{
	{"claude-desktop", []string{"support/Claude/claude_desktop_config.json"}},
	{"claude-code", []string{"~/.claude.json", "./.mcp.json"}},
	{"cursor", []string{"~/.cursor/mcp.json", "./.cursor/mcp.json"}},
	{"vscode", []string{"support/Code/User/mcp.json", "./.vscode/mcp.json"}},
	{"windsurf", []string{"~/.codeium/windsurf/mcp_config.json"}},
	{"zed", []string{"config/zed/settings.json", "./.zed/settings.json"}},
	{"codex", []string{"codex/config.toml", "./.codex/config.toml"}},
	{"gemini", []string{"~/.gemini/settings.json", "./.gemini/settings.json"}},
	{"goose", []string{"goose/config.yaml"}},
	{"opencode", []string{
		"xdg/opencode/opencode.json", "xdg/opencode/opencode.jsonc", "./opencode.json", "./opencode.jsonc",
	}},
	{"lmstudio", []string{"~/.lmstudio/mcp.json"}},
}

// Names returns the hosts whose files can be found.
func Names() []string {
	names := make([]string, len(known))
	for i, h := range known {
		names[i] = h.name
	}
	return names
}

// Files returns the paths at which a host may keep its file, existing or not.
func (p Environment) Files(name string) []string {
	i := slices.IndexFunc(known, func(h host) bool { return h.name == name })
	if i < 0 {
		return nil
	}
	var paths []string
	for _, file := range known[i].files {
		root, rest, _ := strings.Cut(file, "/")
		if folder := p.root(root); folder != "" {
			paths = append(paths, filepath.Join(folder, filepath.FromSlash(rest)))
		}
	}
	return paths
}

// Found returns the existing paths of [Environment.Files], each once: a project may be the home folder.
func (p Environment) Found(name string) []string {
	var paths []string
	var files []os.FileInfo
	for _, path := range p.Files(name) {
		info, err := os.Stat(path)
		isSame := func(other os.FileInfo) bool { return os.SameFile(info, other) }
		if err == nil && info.Mode().IsRegular() && !slices.ContainsFunc(files, isSame) {
			paths, files = append(paths, path), append(files, info)
		}
	}
	return paths
}

// root returns the folder for the first word of a path, or "" if it is unknown.
func (p Environment) root(word string) string {
	home := p.variable("HOME", "")
	if p.GOOS == "windows" {
		home = p.variable("USERPROFILE", home)
	}
	under := func(parts ...string) string {
		if home == "" {
			return ""
		}
		return filepath.Join(append([]string{home}, parts...)...)
	}
	xdg := p.variable("XDG_CONFIG_HOME", under(".config"))
	roaming := p.variable("APPDATA", under("AppData", "Roaming"))
	isWindows := p.GOOS == "windows"
	switch word {
	case ".":
		return p.Folder
	case "~":
		return home
	case "xdg":
		return xdg
	case "codex":
		return p.variable("CODEX_HOME", under(".codex"))
	case "support": // where the system keeps the data of programs
		switch p.GOOS {
		case "darwin":
			return under("Library", "Application Support")
		case "windows":
			return roaming
		default:
			return xdg
		}
	case "config":
		if isWindows {
			return roaming
		}
		return xdg
	case "goose":
		if isWindows {
			return filepath.Join(roaming, "Block", "goose", "config")
		}
		return filepath.Join(xdg, "goose")
	default:
		return ""
	}
}

// variable returns an environment variable, or otherwise if it is empty.
func (p Environment) variable(name, otherwise string) string {
	if value, ok := p.Lookup(name); ok && value != "" {
		return value
	}
	return otherwise
}
