package strictyaml

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// A filePart is one of the files of a document. Its lines follow those of the files before it, so that a [Pos] says which file it is in.
type filePart struct {
	name  string
	begin int // how many lines the files before it have
}

// maxAll is how many values the files of a document may have in all, aliases expanded.
const maxAll = 1_000_000

// Include reads another file into the document, and adds what it has under each of the sections, which are mappings at the
// top, to what is there. It may have nothing else, and no key of a section that a file before it has. Its mistakes become those
// of the document.
func (d *Document) Include(name string, src []byte, sections []string) {
	d.files = append(d.files, filePart{name, len(d.lines)})
	root, fatal := d.parse(src)
	switch {
	case fatal != nil && fatal.Pos == (Pos{}):
		fatal.File = name
		d.add(fatal)
	case fatal != nil:
		d.add(fatal)
	case root.kind != KindMapping:
		d.wrongType(root, "a mapping", "", "an included file")
	case d.root.weight+root.weight > maxAll:
		d.add(d.fault(root.pos, "", "more than %d values in all files when every alias is expanded", maxAll))
	case d.root.kind == KindMapping: // otherwise that is the mistake
		d.root.weight += root.weight
		d.adopt(root, sections)
	}
}

// adopt adds the sections of an included file to those of the document.
func (d *Document) adopt(root *Node, sections []string) {
	known := "`" + strings.Join(sections, "`, `") + "`"
	for _, e := range root.entries {
		switch {
		case !slices.Contains(sections, e.key):
			d.Hide(e.value) // it may hold secrets
			d.add(d.fault(e.pos, "move it to "+d.name+"; an included file may have "+known,
				"`%s` cannot stand in an included file", quotable(e.key)))
		case e.value.kind == KindNull:
		case e.value.kind != KindMapping:
			d.wrongType(e.value, "a mapping", "", "`"+e.key+"`")
		default:
			d.extend(e)
		}
	}
}

// extend adds a section of an included file to that of the document.
func (d *Document) extend(section keyValue) {
	at := d.root.find(section.key)
	switch {
	case at == nil:
		d.root.entries, d.root.index = append(d.root.entries, section), nil
		return
	case at.value.kind == KindNull:
		at.value = section.value
		return
	case at.value.kind != KindMapping:
		return // it is reported when it is decoded
	}
	into := at.value
	for _, e := range section.value.entries {
		if first := into.find(e.key); first != nil {
			d.Hide(e.value)
			d.add(d.fault(e.pos, "keep one of them", "`%s` is already in `%s`, %s", quotable(e.key), section.key, d.Place(first.pos)))
			continue
		}
		into.entries = append(into.entries, e)
		if into.index != nil {
			into.index[e.key] = len(into.entries) - 1
		}
	}
}

// Place returns a position as FILE:LINE.
func (d *Document) Place(at Pos) string {
	return d.File(at) + ":" + strconv.Itoa(d.local(at).Line)
}

// File returns the name of the file that a position is in.
func (d *Document) File(at Pos) string { return d.files[d.fileOf(at)].name }

// fileOf returns the index of the file that a position is in.
func (d *Document) fileOf(at Pos) int {
	return max(sort.Search(len(d.files), func(i int) bool { return d.files[i].begin >= at.Line })-1, 0)
}

// local returns a position as it is in its own file.
func (d *Document) local(at Pos) Pos {
	return Pos{Line: at.Line - d.files[d.fileOf(at)].begin, Column: at.Column}
}

// start returns the position at which the last file begins.
func (d *Document) start() Pos { return Pos{Line: d.files[len(d.files)-1].begin + 1, Column: 1} }

// shift moves the tokens of the last file behind the files before it.
func (d *Document) shift(tokens token.Tokens) {
	for _, tk := range tokens {
		tk.Position.Line += d.start().Line - 1
	}
}
