package hosts

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// A fileReader reads a file and collects its mistakes.
type fileReader struct {
	file     *File
	mistakes strictyaml.Errors
}

func (r *fileReader) mistakef(at int, hint, format string, args ...any) {
	r.mistakes = append(r.mistakes, r.file.mistakef(at, hint, format, args...))
}

// A dialect is a host's format of its list of servers.
type dialect struct {
	path    []string // the path of the list
	program string   // the member of an entry with the program; "" means command
	inList  bool     // that member is a list with the program and its arguments
}

var dialects = []dialect{
	{path: []string{"mcpServers"}},                 // Claude, Cursor, Windsurf, Gemini, LM Studio
	{path: []string{"servers"}},                    // VS Code
	{path: []string{"mcp", "servers"}},             // VS Code, in its settings
	{path: []string{"context_servers"}},            // Zed
	{path: []string{"mcp_servers"}},                // Codex
	{path: []string{"extensions"}, program: "cmd"}, // Goose
}

// openCode is the dialect of OpenCode. Other hosts use its list for something else.
var openCode = dialect{path: []string{"mcp"}, inList: true}

// servers reads the whole file.
func (r *fileReader) servers(root *node) {
	if root.kind != object {
		r.mistakef(root.at.start, "", "the file must be an object")
		return
	}
	found := false
	for _, d := range dialects {
		entries := root
		var named *pair
		for _, name := range d.path {
			named = entries.member(name)
			entries = entries.get(name)
		}
		if named != nil {
			found = true
			r.entries(named, d, "")
		}
	}
	found = r.openCode(root) || found
	if projects := root.get("projects"); projects != nil && projects.kind == object { // Claude Code
		for _, project := range projects.members {
			found = true
			if named := project.value.member("mcpServers"); named != nil {
				r.entries(named, dialects[0], project.name)
			}
		}
	}
	r.file.bare = !found
}

// openCode reads the list of OpenCode.
func (r *fileReader) openCode(root *node) (found bool) {
	for _, entry := range root.get("mcp").all() {
		if kind := entry.value.get("type"); kind != nil && (kind.text == "local" || kind.text == "remote") {
			r.entry(entry, openCode, "")
			found = true
		}
	}
	return found
}

// all returns the members of an object.
func (n *node) all() []*pair {
	if n == nil {
		return nil
	}
	return n.members
}

func (r *fileReader) entries(named *pair, d dialect, project string) {
	if named.value.kind != object {
		r.mistakef(named.value.at.start, "", "`%s` must be an object", named.name)
		return
	}
	for _, entry := range named.value.members {
		r.entry(entry, d, project)
	}
}

// An entryReader reads an entry, and collects its mistakes.
type entryReader struct {
	*Target

	file    *File
	dialect dialect
}

func (e *entryReader) mistakef(at int, hint, format string, args ...any) {
	e.mistakes = append(e.mistakes, e.file.mistakef(at, hint, format, args...))
}

// entry reads an entry.
func (r *fileReader) entry(entry *pair, d dialect, project string) {
	s := &Target{Name: entry.name, Project: project, at: entry.value.at.start}
	r.file.Servers = append(r.file.Servers, s)
	e := &entryReader{s, r.file, d}
	if entry.value.kind != object {
		e.mistakef(s.at, "", "the server %q must be an object", entry.name)
		return
	}
	e.members(entry.value)
	switch {
	case len(s.mistakes) > 0 || s.Internal:
	case s.Command == "" && s.URL == "":
		e.mistakef(s.at, "", "the server %q has neither `command` nor `url`", s.Name)
	case s.Command != "" && s.URL != "":
		e.mistakef(s.at, "remove one of them", "the server %q has both `command` and `url`", s.Name)
	}
}

func (e *entryReader) members(of *node) {
	for _, m := range of.members {
		switch m.name {
		case cmp.Or(e.dialect.program, "command"):
			e.commandLine(m)
		case "args":
			e.args = m.value
			if e.Args = e.texts(m.value); e.Args == nil {
				e.mistakef(m.value.at.start, `write it as ["-y", "PACKAGE"]`, "`args` must be a list of texts")
			}
		case "env", "environment", "envs":
			e.Env = e.byName(m)
		case "envFile":
			e.EnvFile = e.text(m)
		case "cwd":
			e.Cwd = e.text(m)
		case "url", "serverUrl", "httpUrl", "uri":
			e.URL = e.text(m)
			e.checkURL(m.value.at.start)
		case "headers", "http_headers":
			e.Headers = e.byName(m)
		case "type", "transport":
			e.SSE = m.value.text == "sse"
			e.Internal = e.Internal || slices.Contains([]string{"builtin", "platform", "frontend", "inline_python"}, m.value.text)
		case "source":
			e.Internal = e.Internal || m.value.text == "extension"
		case "settings":
			e.Internal = e.Internal || of.get("command") == nil && of.get("url") == nil
		case "disabled":
			e.Disabled = e.Disabled || m.value.kind == truth && m.value.text == "true"
		case "enabled":
			e.Disabled = e.Disabled || m.value.kind == truth && m.value.text == "false"
		}
	}
}

// commandLine reads the program: a text, for OpenCode a list with its arguments, and for Zed also an object
// with both.
func (e *entryReader) commandLine(m *pair) {
	program := m.value.member("path")
	switch words := e.texts(m.value); {
	case m.value.kind == object && program != nil:
		e.commandLine(program)
		e.members(m.value)
	case e.dialect.inList && len(words) > 0:
		e.command, e.args, e.inList = m, m.value, true
		e.Command, e.Args = words[0], words[1:]
	default:
		e.command, e.Command = m, e.text(m)
	}
}

// text returns the text of a member.
func (e *entryReader) text(m *pair) string {
	if m.value.kind != text {
		e.mistakef(m.value.at.start, "", "`%s` must be a text", m.name)
		return ""
	}
	return m.value.text
}

// texts returns the texts of a list, or nil if it is not a list.
func (*entryReader) texts(n *node) []string {
	if n.kind != list {
		return nil
	}
	texts := []string{}
	for _, item := range n.items {
		if item.kind != text {
			return nil
		}
		texts = append(texts, item.text)
	}
	return texts
}

// byName returns the texts in an object by name.
func (e *entryReader) byName(m *pair) map[string]string {
	if m.value.kind != object {
		e.mistakef(m.value.at.start, "", "`%s` must be an object", m.name)
		return nil
	}
	texts := make(map[string]string, len(m.value.members))
	for _, inner := range m.value.members {
		if inner.value.kind != text {
			e.mistakef(inner.value.at.start, "", "every value in `%s` must be a text", m.name)
		}
		texts[inner.name] = inner.value.text
	}
	return texts
}

// checkURL reports a URL that is not absolute. The host completes a URL with a variable in it.
func (e *entryReader) checkURL(at int) {
	if e.URL == "" || variable.MatchString(e.URL) {
		return
	}
	u, err := url.Parse(e.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		e.mistakef(at, "write it as `https://example.com/mcp`", "the address must be an absolute http or https URL")
	}
}

// String returns the server's name, with the project if it belongs to one.
func (s *Target) String() string {
	if s.Project == "" {
		return s.Name
	}
	return fmt.Sprintf("%s (of %s)", s.Name, s.Project)
}
