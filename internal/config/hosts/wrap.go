package hosts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// An edit replaces a part of a file.
type edit struct {
	at   extent
	with string
}

// edited returns the file with the edits, which must not overlap.
func (f *File) edited(edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.at.start, b.at.start) })
	var text []byte
	last := 0
	for _, e := range edits {
		text = append(append(text, f.text[last:e.at.start]...), e.with...)
		last = e.at.end
	}
	return append(text, f.text[last:]...)
}

// Wrap returns the file with program put in front of every server that is itself a program, as `program wrap
// --name=NAME -- command args`, with flags before the name, and the names of those servers. If a server has a copy of the wrapper in
// front that no longer exists, program replaces it. Everything else stays the same, to the byte; [File.Left]
// lists what is left alone, and why.
func (f *File) Wrap(program string, flags ...string) (text []byte, wrapped []string) {
	var edits []edit
	for _, s := range f.Servers {
		wrapper := slices.Concat([]string{"wrap"}, flags, []string{"--name=" + s.Name, "--"})
		switch {
		case f.left(s) != "" || s.Wrapped() && (s.Command == program || !gone(s.Command)):
			continue
		case s.Wrapped():
			edits = append(edits, edit{s.programAt(), quote(program)})
		case s.inList:
			edits = append(edits, f.insertion(s, append([]string{program}, wrapper...)...))
		default:
			edits = append(edits, edit{s.programAt(), quote(program)}, f.insertion(s, append(wrapper, s.Command)...))
		}
		wrapped = append(wrapped, s.String())
	}
	return f.edited(edits), wrapped
}

// A Left is a server that does not get the wrapper.
type Left struct{ Name, Why string }

// Left returns the servers that [File.Wrap] leaves alone, other than those that are already wrapped.
func (f *File) Left() []Left {
	var all []Left
	for _, s := range f.Servers {
		if why := f.left(s); why != "" {
			all = append(all, Left{s.String(), why})
		}
	}
	return all
}

func (*File) left(s *Target) (why string) {
	switch {
	case len(s.mistakes) > 0:
		return strings.TrimPrefix(s.mistakes[0].Message, fmt.Sprintf("the server %q ", s.Name)) // which the line already names
	case s.Internal:
		return "it is part of the host, or of an extension"
	case s.Command == "":
		return "it has a URL: use `recourse serve` for such a server"
	case s.command.value.fixed != "":
		return "its command is left alone: " + s.command.value.fixed
	case s.args != nil && s.args.fixed != "":
		return "its arguments are left alone: " + s.args.fixed
	default:
		return ""
	}
}

// Wrapped reports whether the server is started by Recourse already.
func (s *Target) Wrapped() bool {
	if len(s.Args) == 0 || s.Args[0] != "wrap" || !slices.Contains(s.Args, "--") {
		return false
	}
	base := path.Base(strings.ReplaceAll(s.Command, `\`, "/"))
	return strings.TrimSuffix(strings.ToLower(base), ".exe") == "recourse"
}

// gone reports whether an absolute path no longer leads to a program.
func gone(program string) bool {
	_, err := os.Stat(program)
	return filepath.IsAbs(program) && errors.Is(err, fs.ErrNotExist)
}

// Unwrap returns the file without the wrapper in front of its servers, and the names of the servers that had
// it. Before is the original file, or nil: with it, the changes of [File.Wrap] are undone to the byte.
func (f *File) Unwrap(before *File) (text []byte, unwrapped []string) {
	var edits []edit
	for _, s := range f.Servers {
		if !s.Wrapped() || f.left(s) != "" {
			continue
		}
		own := slices.Index(s.Args, "--") + 1 // arguments of the wrapper
		if own == len(s.Args) {
			continue // there is no server after it
		}
		unwrapped = append(unwrapped, s.String())
		if s.inList {
			edits = append(edits, edit{f.firstItems(s.args, own+1), ""}) // the program is an item, too
			continue
		}
		program, hadArgs := quote(s.Args[own]), false
		if was := before.find(s); was != nil && was.Command == s.Args[own] && !was.inList {
			at := was.programAt()
			program, hadArgs = string(before.text[at.start:at.end]), was.args != nil
		}
		edits = append(edits, edit{s.programAt(), program})
		added := f.newMember(s.command, s.Args)
		if at := (extent{added.at.start, added.at.start + len(added.with)}); !hadArgs && own+1 == len(s.Args) && f.has(at, added.with) {
			edits = append(edits, edit{at, ""})
			continue
		}
		edits = append(edits, edit{f.firstItems(s.args, own+1), ""})
	}
	return f.edited(edits), unwrapped
}

// find returns the server of another file that has the name of s.
func (f *File) find(s *Target) *Target {
	if f == nil {
		return nil
	}
	i := slices.IndexFunc(f.Servers, func(other *Target) bool {
		return other.Name == s.Name && other.Project == s.Project && len(other.mistakes) == 0
	})
	if i < 0 {
		return nil
	}
	return f.Servers[i]
}

// has reports whether the file has that text at a place.
func (f *File) has(at extent, text string) bool {
	return at.end <= len(f.text) && string(f.text[at.start:at.end]) == text
}

// programAt returns the position of the program.
func (s *Target) programAt() extent {
	if s.inList {
		return s.args.items[0].at
	}
	return s.command.value.at
}

// insertion adds arguments before all others.
func (f *File) insertion(s *Target, args ...string) edit {
	if s.args == nil {
		return f.newMember(s.command, args)
	}
	if len(s.args.items) == 0 {
		at := s.args.at.start + 1
		return edit{extent{at, at}, join(args, ", ")}
	}
	first := s.args.items[0].at.start
	separator := s.args.between
	if separator == "" {
		gap := string(f.text[s.args.at.start+1 : first])
		switch {
		case strings.Trim(gap, " \t\r\n") != "": // a comment goes before the arguments
			first, separator = s.args.at.start+1, ", "
		case gap == "":
			separator = ", "
		default:
			separator = "," + gap
		}
	}
	return edit{extent{first, first}, join(args, separator) + separator}
}

// newMember adds args after the command.
func (f *File) newMember(command *pair, args []string) edit {
	name := "args"
	if command.form.quote {
		name = `"args"`
	}
	value := name + command.form.sign + "[" + join(args, ", ") + "]"
	at := command.value.at.end
	if !command.form.lines {
		return edit{extent{at, at}, ", " + value}
	}
	at += len(line(f.text[at:])) // after a comment
	end := "\n"
	if bytes.HasPrefix(f.text[at:], []byte("\r\n")) {
		end = "\r\n"
	}
	return edit{extent{at, at}, end + command.lead + value}
}

// firstItems returns the span of the first items of a list, with the separator after them.
func (f *File) firstItems(of *node, count int) extent {
	first, last := of.items[0].at, of.items[count-1].at
	if count == len(of.items) {
		return extent{first.start, last.end}
	}
	separator := f.text[first.end:of.items[1].at.start]
	if bytes.HasPrefix(f.text[last.end:], separator) {
		return extent{first.start, last.end + len(separator)}
	}
	return extent{first.start, of.items[count].at.start}
}

// quote returns a quoted text that JSON, TOML and YAML all read the same way.
func quote(text string) string { return string(json.AppendQuote(nil, text)) }

// join returns quoted texts, with a separator between them.
func join(texts []string, separator string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = quote(text)
	}
	return strings.Join(quoted, separator)
}
