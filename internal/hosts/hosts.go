// Package hosts reads the files in which desktop hosts list their MCP servers, and
// puts a program in front of those servers.
//
// Such a file is JSON with an object mcpServers, in VS Code servers, of entries by
// name: command, args, env and cwd, or url and headers. Comments and trailing commas
// are tolerated, as hosts do; members that are not known are left alone.
package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"

	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/strictyaml"
)

// MaxSize is the size in bytes of the largest file that is read.
const MaxSize = 8 << 20

// A File is a hosts file.
type File struct {
	Servers []*Server // in the order of the file

	name string
	text []byte // as it was read
}

// A Server is an entry of a hosts file: a program, or a URL.
type Server struct {
	Name     string
	Command  string
	Args     []string
	Env      map[string]string
	Cwd      string
	URL      string
	Headers  map[string]string
	SSE      bool // the URL is that of the transport of 2024-11-05
	Disabled bool // the host does not start it

	at        int  // where its name stands
	commandAt span // where the value stands
	argsAt    span // zero: there are none
}

// A span is the half-open range of bytes in which a value stands.
type span struct{ start, end int }

// Load reads the file at path. The error is [strictyaml.Errors] with every mistake in
// it, or that of reading it.
func Load(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the hosts file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read the hosts file: %w", err)
	}
	return Parse(path, text)
}

// Parse reads a hosts file as [Load] does; mistakes carry its name.
func Parse(name string, text []byte) (*File, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("read the hosts file: %s is larger than %d MiB", name, MaxSize>>20)
	}
	f := &File{name: name, text: text}
	r := &reader{file: f}
	r.servers(value{raw: plain(text)})
	if len(r.mistakes) > 0 {
		slices.SortStableFunc(r.mistakes, func(a, b *strictyaml.Error) int {
			if a.Pos.Before(b.Pos) {
				return -1
			}
			return 1
		})
		return nil, r.mistakes
	}
	return f, nil
}

// Text returns the file as it was read.
func (f *File) Text() []byte { return f.text }

// Mistakef returns a mistake in the entry of a server.
func (f *File) Mistakef(s *Server, hint, format string, args ...any) *strictyaml.Error {
	return f.mistakef(s.at, hint, format, args...)
}

// A value is a part of the file, and the offset at which it stands.
type value struct {
	raw json.Value
	at  int
}

func (v value) span() span { return span{v.at, v.at + len(v.raw)} }

// A member is a member of an object.
type member struct {
	name   string
	nameAt int
	value  value
}

// A reader reads a file and collects the mistakes in it.
type reader struct {
	file     *File
	mistakes strictyaml.Errors
}

func (r *reader) mistakef(at int, hint, format string, args ...any) {
	r.mistakes = append(r.mistakes, r.file.mistakef(at, hint, format, args...))
}

// mistakef makes a mistake without an excerpt: the line may hold a secret.
func (f *File) mistakef(at int, hint, format string, args ...any) *strictyaml.Error {
	return &strictyaml.Error{File: f.name, Pos: position(f.text, at), Message: fmt.Sprintf(format, args...), Hint: hint}
}

// members returns the members of an object; ok is false after a mistake.
func (r *reader) members(of value, what string) (list []member, ok bool) {
	d := json.NewDecoder(bytes.NewReader(of.raw))
	if kind := d.PeekKind(); kind != '{' && kind != 0 {
		r.mistakef(of.at, "", "%s must be an object", what)
		return nil, false
	}
	if _, err := d.ReadToken(); err != nil {
		r.syntax(of.at, err)
		return nil, false
	}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			r.syntax(of.at, err)
			return nil, false
		}
		m := member{name: token.String(), nameAt: of.at + int(d.InputOffset())}
		raw, err := d.ReadValue()
		if err != nil {
			r.syntax(of.at, err)
			return nil, false
		}
		m.value = value{raw: raw.Clone(), at: of.at + int(d.InputOffset()) - len(raw)}
		list = append(list, m)
	}
	if _, err := d.ReadToken(); err != nil {
		r.syntax(of.at, err)
		return nil, false
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		r.mistakef(of.at+int(d.InputOffset()), "", "something follows the end of the JSON text")
		return nil, false
	}
	return list, true
}

// syntax reports that the text is no JSON.
func (r *reader) syntax(base int, err error) {
	_, offset, _ := json.Position(err)
	why := err
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		why = syntax.Err
	}
	if errors.Is(err, json.ErrDuplicateName) {
		r.mistakef(base+int(offset), "remove one of them", "this name stands twice in one object")
		return
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		r.mistakef(len(r.file.text), "", "the file ends in the middle of the JSON text")
		return
	}
	r.mistakef(base+int(offset), "", "this is not JSON: %s", why)
}

// text returns the text of a string.
func (r *reader) text(v value, what string) string {
	var text string
	if v.raw.Kind() != '"' || json.Unmarshal(v.raw, &text) != nil {
		r.mistakef(v.at, "", "%s must be a text", what)
	}
	return text
}

// texts returns the texts of an object, by name.
func (r *reader) texts(v value, what string) map[string]string {
	members, _ := r.members(v, what)
	texts := make(map[string]string, len(members))
	for _, m := range members {
		texts[m.name] = r.text(m.value, "every value in "+what)
	}
	return texts
}

// servers reads the whole file.
func (r *reader) servers(file value) {
	members, ok := r.members(file, "the file")
	if !ok {
		return
	}
	found := false
	for _, m := range members {
		if m.name != "mcpServers" && m.name != "servers" {
			continue
		}
		found = true
		entries, _ := r.members(m.value, "`"+m.name+"`")
		for _, entry := range entries {
			r.server(entry)
		}
	}
	if !found {
		r.mistakef(0, "this is said to be the file in which a host lists its MCP servers",
			"the file has neither `mcpServers` nor `servers`")
	}
}

// server reads an entry.
func (r *reader) server(entry member) {
	members, ok := r.members(entry.value, fmt.Sprintf("the server %q", entry.name))
	if !ok {
		return
	}
	s := &Server{Name: entry.name, at: entry.value.at}
	before := len(r.mistakes)
	for _, m := range members {
		switch m.name {
		case "command":
			s.Command, s.commandAt = r.text(m.value, "`command`"), m.value.span()
		case "args":
			s.argsAt = m.value.span()
			if json.Unmarshal(m.value.raw, &s.Args) != nil || m.value.raw.Kind() != '[' {
				r.mistakef(m.value.at, `write it as ["-y", "PACKAGE"]`, "`args` must be a list of texts")
			}
		case "env":
			s.Env = r.texts(m.value, "`env`")
		case "cwd":
			s.Cwd = r.text(m.value, "`cwd`")
		case "url", "serverUrl", "httpUrl":
			s.URL = r.text(m.value, "`"+m.name+"`")
			r.checkURL(s.URL, m.value.at)
		case "headers":
			s.Headers = r.texts(m.value, "`headers`")
		case "type", "transport":
			s.SSE = string(m.value.raw) == `"sse"`
		case "disabled":
			s.Disabled = m.value.raw.Kind() == 't'
		}
	}
	switch {
	case len(r.mistakes) > before:
	case s.Command == "" && s.URL == "":
		r.mistakef(s.at, "", "the server %q has neither `command` nor `url`", s.Name)
	case s.Command != "" && s.URL != "":
		r.mistakef(s.at, "remove one of them", "the server %q has both `command` and `url`", s.Name)
	}
	r.file.Servers = append(r.file.Servers, s)
}

// checkURL reports an address that is not absolute. One with a variable in it is the
// host's to complete.
func (r *reader) checkURL(text string, at int) {
	if text == "" || variable.MatchString(text) {
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		r.mistakef(at, "write it as `https://example.com/mcp`", "the address must be an absolute http or https URL")
	}
}
