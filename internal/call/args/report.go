package args

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// maxViolations is how many violations are reported.
const maxViolations = 20

// place is the location of a value in the arguments.
type place struct {
	parent *place // nil: the arguments themselves
	name   string // of a member
	at     int    // of an item; -1: it is a member
}

// whole is the place of the arguments themselves.
var whole = new(place)

// item returns the place of an item of the array at p.
func (p *place) item(i int) *place { return &place{parent: p, at: i} }

// member returns the place of a member of the object at p.
func (p *place) member(name string) *place { return &place{parent: p, name: name, at: -1} }

// text returns the name of a member, or the number of an item.
func (p *place) text() string {
	if p.at >= 0 {
		return strconv.Itoa(p.at)
	}
	return p.name
}

// path returns the names that lead to p. Names that are too long to show are cut.
func (p *place) path() []string {
	var path []string
	for ; p.parent != nil; p = p.parent {
		path = append(path, cut(p.text(), maxShown))
	}
	slices.Reverse(path)
	return path
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// pointer returns the JSON Pointer to p (RFC 6901).
func (p *place) pointer() string {
	var b strings.Builder
	for _, name := range p.path() {
		b.WriteByte('/')
		b.WriteString(escapePointer.Replace(name))
	}
	return b.String()
}

// param returns p in the form that people write.
func (p *place) param() string { return strings.Join(p.path(), ".") }

// A leaf is a cause that has no other. Its texts are only made if it is reported.
type leaf struct {
	pointer string
	at      *place
	rule    string
	node    *schemaNode // the schema that was broken
	value   *value      // the value there; nil: none, or not shown
	want    string      // replaces what node says about rule
	of      *value      // the object that has an unknown parameter
	names   []string    // other parameters involved
}

// report holds the first findings by pointer, then by kind and rule.
type report struct {
	found []leaf
}

func (r *report) add(f leaf) {
	i, known := slices.BinarySearchFunc(r.found, f, compareFindings)
	if known && r.found[i].node == f.node && slices.Equal(r.found[i].names, f.names) || i == maxViolations {
		return
	}
	if len(r.found) == maxViolations {
		r.found = r.found[:maxViolations-1]
	}
	r.found = slices.Insert(r.found, i, f)
}

func (r *report) merge(o *report) {
	for _, f := range o.found {
		r.add(f)
	}
}

func compareFindings(x, y leaf) int {
	return cmp.Or(
		strings.Compare(x.pointer, y.pointer),
		slices.Index(deciding, kindOf(x.rule))-slices.Index(deciding, kindOf(y.rule)),
		strings.Compare(x.rule, y.rule),
	)
}
