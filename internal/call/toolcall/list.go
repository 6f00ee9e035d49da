package toolcall

import (
	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/yaml/nearest"
)

// A List is what a server offers. It is immutable once it is used.
type List struct {
	Tools map[string]*Entry
	Names []string
}

// Add adds a tool. The last one of a name counts.
func (l *List) Add(t *Entry) {
	if l.Tools[t.Name] == nil {
		l.Names = append(l.Names, t.Name)
	}
	l.Tools[t.Name] = t
}

// Unknown returns the failure of a call of a tool that is not among names.
func Unknown(name string, names []string) *recourse.Error {
	e := recourse.UnknownTool(name).WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
	if other, ok := nearest.Of(name, names); ok {
		e = e.WithMessage("%s Did you mean %s?", e.Message, other)
	}
	return e
}

// Listed is the entry of the called tool in the server's list.
type Listed struct {
	List *List  // nil: unavailable
	Tool *Entry // nil: not in the list
}

// In returns the entry for the tool of that name; a nil list is one that is unavailable.
func (l *List) In(name string) Listed {
	if l == nil {
		return Listed{}
	}
	return Listed{List: l, Tool: l.Tools[name]}
}

// Find returns the failure if there is no tool of that name. anew returns the list fetched anew, or nil if it
// is unavailable.
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

// Check returns what refuse finds wrong with a call of the tool, according to the current list.
func (l *Listed) Check(refuse func(t *Entry) *recourse.Error, anew func() *List) *recourse.Error {
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
