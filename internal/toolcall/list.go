package toolcall

import (
	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/nearest"
)

// A List is what a server offers. It does not change once it is used.
type List struct {
	Tools map[string]*Tool
	Names []string
}

// Add adds a tool. The last one of a name counts.
func (l *List) Add(t *Tool) {
	if l.Tools[t.Name] == nil {
		l.Names = append(l.Names, t.Name)
	}
	l.Tools[t.Name] = t
}

// Unknown returns the failure of a call of a tool that is not among those with these names.
func Unknown(name string, names []string) *recourse.Error {
	e := recourse.UnknownTool(name).WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
	if other, ok := nearest.Of(name, names); ok {
		e = e.WithMessage("%s Did you mean %s?", e.Message, other)
	}
	return e
}

// Listed is what the server's list says of the tool that is called.
type Listed struct {
	List *List // nil: it cannot be had
	Tool *Tool // nil: it does not name the tool
}

// In returns what a list says of the tool of that name; nil is a list that cannot be had.
func (l *List) In(name string) Listed {
	if l == nil {
		return Listed{}
	}
	return Listed{List: l, Tool: l.Tools[name]}
}

// Find returns why the tool of that name cannot be called: there is none. anew returns the
// list fetched anew, or nil where it is not to be had.
func (l *Listed) Find(name string, anew func() *List) *recourse.Error {
	if l.List == nil || l.Tool != nil {
		return nil
	}
	if newer := anew(); newer != nil {
		*l = newer.In(name)
	}
	if l.Tool != nil {
		return nil
	}
	return Unknown(name, l.List.Names)
}

// Check returns what refuse finds wrong with a call of the tool, by what is listed of it now.
func (l *Listed) Check(refuse func(t *Tool) *recourse.Error, anew func() *List) *recourse.Error {
	if l.Tool == nil {
		return nil
	}
	e := refuse(l.Tool)
	if e == nil {
		return nil
	}
	newer, name := anew(), l.Tool.Name
	if newer == nil || newer == l.List {
		return e
	}
	if *l = newer.In(name); l.Tool == nil {
		return Unknown(name, l.List.Names)
	}
	return refuse(l.Tool)
}
