package contract

import (
	"slices"

	"github.com/recoursehq/recourse/internal/contractform"
)

// An ownResult is the layout of tools that do not fail: they return what went wrong as
// a result of their own kind, so that a caller goes on.
type ownResult struct {
	tools  []string
	layout *layout
}

// ownResults compiles the layouts of single tools.
func (k *compiler) ownResults(files []contractform.ReturnsFile) []ownResult {
	var list []ownResult
	var tools []string
	for _, f := range files {
		if f.Write == nil || f.Shape == nil {
			continue // reported as missing
		}
		l := k.layout(f.Write)
		if l.shape = k.shape(f.Shape, contractform.RecordType); !l.shape.marked() {
			k.mistakef(f.Shape, "for example ok: =false", "nothing in the object tells it from a success")
		}
		if !l.shape.places("code") && !l.shape.places("code.number") {
			k.mistakef(f.Shape, "for example error_kind: code", "the object has no member for the code")
		}
		for i, tool := range f.Tools {
			if slices.Contains(tools, tool) {
				k.mistakef(f.Node.Get("tools").Item(i), "give each tool one layout", "%s has a layout already", tool)
			}
			tools = append(tools, tool)
		}
		list = append(list, ownResult{f.Tools, &l})
	}
	return list
}

// layout returns where the failure stands.
func (s *subject) layout() *layout {
	if l := s.c.ownLayout(s.call.Tool); l != nil {
		return l
	}
	return &s.c.layout
}

// ownLayout returns the layout of a tool that returns its failures, or nil.
func (c *Contract) ownLayout(tool string) *layout {
	for _, r := range c.ownResults {
		if slices.Contains(r.tools, tool) {
			return r.layout
		}
	}
	return nil
}

// layouts returns all of the layouts, the contract's own first.
func (c *Contract) layouts() []*layout {
	list := []*layout{&c.layout}
	for _, r := range c.ownResults {
		list = append(list, r.layout)
	}
	return list
}

// hasObject reports whether the contract has an object of its own in any layout.
func (c *Contract) hasObject() bool { return c.layout.shape != nil || len(c.ownResults) > 0 }
