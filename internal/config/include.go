package config

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// The bounds of what a configuration includes.
const (
	maxFiles    = 10_000
	maxIncluded = 16 << 20 // bytes
)

// sections are what an included file may have: the keys whose values are entries by name.
var sections = []string{"servers", "endpoints", "access", "providers"}

// ListFiles lists the files that an entry of `include` stands for, in the order of their names: those of a folder that are YAML, or
// those that match a pattern. Hidden files do not count.
func ListFiles(dir, entry string) ([]string, error) {
	root := os.DirFS(dir)
	patterns := []string{entry}
	if info, err := fs.Stat(root, entry); err == nil && info.IsDir() {
		patterns = []string{path.Join(entry, "*.yaml"), path.Join(entry, "*.yml")}
	}
	var files []string
	for _, pattern := range patterns {
		matches, err := fs.Glob(root, pattern)
		if err != nil {
			return nil, err
		}
		files = append(files, matches...)
	}
	files = slices.DeleteFunc(files, func(file string) bool { return strings.HasPrefix(path.Base(file), ".") })
	slices.Sort(files)
	return files, nil
}

// An includer reads the files that a configuration includes.
type includer struct {
	doc         *strictyaml.Document
	name        string // of the configuration
	opts        Options
	own, folder string          // the configuration and its folder, without links
	files       map[string]bool // that are part of it, without links
	bytes       int64
}

func include(doc *strictyaml.Document, name string, opts Options) {
	list := doc.Root().Get("include")
	in := includer{
		doc: doc, name: name, opts: opts, own: withoutLinks(name), folder: withoutLinks(filepath.Dir(name)), files: map[string]bool{},
	}
	if in.opts.ListFiles == nil {
		in.opts.ListFiles = ListFiles
	}
	for i := range list.Len() {
		if item := list.Item(i); item.Kind() == strictyaml.KindString {
			in.entry(item)
		}
	}
}

// withoutLinks returns the absolute path of a file, and "" if it is not there.
func withoutLinks(file string) string {
	if file, err := filepath.EvalSymlinks(file); err == nil {
		if whole, err := filepath.Abs(file); err == nil {
			return whole
		}
	}
	return ""
}

// entry reads the files of an entry of `include`.
func (in *includer) entry(item *strictyaml.Node) {
	entry := path.Clean(filepath.ToSlash(item.Text()))
	if item.Text() == "" || !filepath.IsLocal(filepath.FromSlash(entry)) {
		in.doc.Reportf(item.Pos(), "write it as `servers/*.yaml`", "an included file must be in the folder of %s, or below it", in.name)
		return
	}
	files, err := in.opts.ListFiles(filepath.Dir(in.name), entry)
	switch {
	case len(in.files)+len(files) > maxFiles:
		in.doc.Reportf(item.Pos(), "put several servers into a file", "more than %d files are included", maxFiles)
		return
	case err != nil:
		in.doc.Reportf(item.Pos(), "", "this is no pattern of files: %s", err)
	case len(files) == 0:
		in.doc.Reportf(item.Pos(), "names are relative to the folder of "+in.name, "there is no such file")
	}
	for _, file := range files {
		if !in.file(item, filepath.Join(filepath.Dir(in.name), filepath.FromSlash(file))) {
			return
		}
	}
}

// file reads a file, and reports whether to go on with the others.
func (in *includer) file(item *strictyaml.Node, file string) bool {
	at, target := item.Pos(), withoutLinks(file)
	rel, err := filepath.Rel(in.folder, target)
	switch {
	case target == "": // which reading it reports
	case target == in.own:
		in.doc.Reportf(at, "put the other files into a folder of their own: `include: [servers/*.yaml]`", "the file includes itself")
		return false
	case err != nil || !filepath.IsLocal(rel):
		in.doc.Reportf(at, "copy the file to where the link is", "%s is a link that leads out of the folder of %s", file, in.name)
		return true
	case in.files[target]:
		in.doc.Reportf(at, "keep one of the entries or links", "%s is included twice", file)
		return true
	}
	in.files[target] = true
	var size int64 // before it is read; what it is then counts
	if info, err := os.Stat(target); err == nil {
		if size = info.Size(); !info.Mode().IsRegular() {
			in.doc.Reportf(at, "", "%s is not a file", file)
			return true
		}
	}
	var src []byte
	if size <= maxIncluded {
		src, err = in.opts.ReadFile(file)
		size = int64(len(src))
	}
	if in.bytes += size; in.bytes > maxIncluded {
		in.doc.Reportf(at, "", "the included files are larger than %s in all", strictyaml.Size(maxIncluded))
		return false
	}
	if err != nil {
		in.doc.Reportf(at, "check its name and who may read it", "an included file cannot be read: %s", err)
		return true
	}
	in.doc.Include(file, src, sections)
	return true
}

// beside returns the folder of the file that a value stands in.
func (v *validator) beside(node *strictyaml.Node) string { return filepath.Dir(v.doc.File(node.Pos())) }
