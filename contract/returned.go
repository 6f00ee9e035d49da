package contract

import (
	"slices"

	"github.com/recoursehq/recourse/internal/json"
)

// A returned is the layout of tools that do not fail: they return what went wrong
// as a result of their own kind, so that a caller goes on.
type returned struct {
	tools  []string
	layout *layout
}

// returned compiles the layouts of single tools.
func (k *compiler) returned(files []returnsFile) []returned {
	var list []returned
	var tools []string
	for _, f := range files {
		if f.Write == nil || f.Shape == nil {
			continue // reported as missing
		}
		l := k.layout(f.Write)
		if l.shape = k.shape(f.Shape, recordType); !l.shape.marked() {
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
		list = append(list, returned{f.Tools, &l})
	}
	return list
}

// layout returns where the failure stands.
func (s *subject) layout() *layout {
	if s.returned() {
		return s.c.returnedBy(s.call.Tool)
	}
	return &s.c.layout
}

// returned reports whether the tool returns its failures.
func (s *subject) returned() bool { return s.c.returnedBy(s.call.Tool) != nil }

// returnedBy returns the layout of a tool that returns its failures, or nil.
func (c *Contract) returnedBy(tool string) *layout {
	for _, r := range c.returned {
		if slices.Contains(r.tools, tool) {
			return r.layout
		}
	}
	return nil
}

// layouts returns all of the layouts, the contract's own first.
func (c *Contract) layouts() []*layout {
	list := []*layout{&c.layout}
	for _, r := range c.returned {
		list = append(list, r.layout)
	}
	return list
}

// hasObject reports whether the contract has an object of its own in any layout.
func (c *Contract) hasObject() bool { return c.layout.shape != nil || len(c.returned) > 0 }

// returnedSchema adds the schema of the object of each tool that returns its
// failures.
func (c *Contract) returnedSchema(defs *memberList) {
	for _, r := range c.returned {
		schema := c.shapeSchema(r.layout.shape, recordType)
		for _, tool := range r.tools {
			defs.object(tool, schema)
		}
	}
}

// returned tells of the tools that return their failures.
func (p *page) returned() {
	for _, r := range p.c.returned {
		p.linef("### Of %s", codesText(r.tools))
		p.linef("Such a tool returns what went wrong as its own result:")
		call := p.exampleCall()
		call.Tool = r.tools[0]
		a := p.c.Write(p.exampleOf(p.c.fallback), call)
		var result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		}
		if json.Unmarshal(a.Result, &result) == nil && len(result.Content) > 0 {
			p.fence("json", indented(json.Value(result.Content[0].Text)))
		}
		p.layout(r.layout)
	}
}
