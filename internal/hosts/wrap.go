package hosts

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/json"
)

// Wrap returns the file with program put in front of every server that is one itself,
// as `program wrap --name=NAME -- command args`, and the names of those servers. What
// is wrapped already and what has a URL is left alone, and so is everything else in
// the file, to the byte.
func (f *File) Wrap(program string) (text []byte, wrapped []string) {
	type edit struct {
		at   span
		with []byte
	}
	var edits []edit
	for _, s := range f.Servers {
		if s.Command == "" || s.wrapped(program) {
			continue
		}
		wrapped = append(wrapped, s.Name)
		edits = append(edits, edit{s.commandAt, quote(program)})
		args := []string{"wrap", "--name=" + s.Name, "--", s.Command}
		if s.argsAt == (span{}) {
			after := span{s.commandAt.end, s.commandAt.end}
			edits = append(edits, edit{after, slices.Concat([]byte(`, "args": [`), join(args, ", "), []byte("]"))})
			continue
		}
		gap, first := f.gap(s)
		separator, end := ", ", ""
		if gap != "" {
			separator = "," + gap
		}
		if len(s.Args) > 0 {
			end = separator
		}
		edits = append(edits, edit{span{first, first}, append(join(args, separator), end...)})
	}
	slices.SortFunc(edits, func(a, b edit) int { return a.at.start - b.at.start })
	last := 0
	for _, e := range edits {
		text = append(append(text, f.text[last:e.at.start]...), e.with...)
		last = e.at.end
	}
	return append(text, f.text[last:]...), wrapped
}

// gap returns what stands between the bracket and the first argument, where that is
// white space alone, and where new arguments go.
func (f *File) gap(s *Server) (gap string, first int) {
	inside := f.text[s.argsAt.start+1 : s.argsAt.end]
	first = len(inside) - len(bytes.TrimLeft(inside, " \t\r\n"))
	if len(s.Args) == 0 || inside[first] != '"' { // a comment goes before the arguments
		return "", s.argsAt.start + 1
	}
	return string(inside[:first]), s.argsAt.start + 1 + first
}

// wrapped reports whether the server is started by Recourse already.
func (s *Server) wrapped(program string) bool {
	if len(s.Args) == 0 || s.Args[0] != "wrap" {
		return false
	}
	base := path.Base(strings.ReplaceAll(s.Command, `\`, "/"))
	return s.Command == program || strings.TrimSuffix(strings.ToLower(base), ".exe") == "recourse"
}

func quote(text string) []byte { return json.AppendQuote(nil, text) }

// join returns texts in quotes, with a separator between them.
func join(texts []string, separator string) []byte {
	var joined []byte
	for i, text := range texts {
		if i > 0 {
			joined = append(joined, separator...)
		}
		joined = json.AppendQuote(joined, text)
	}
	return joined
}
