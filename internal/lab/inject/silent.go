package inject

import (
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// maxItems is how many items of a list are examined.
const maxItems = 1 << 20

// thin returns data with its lists cut by the fault: data itself, or the members of the object.
func (f *Fault) thin(data json.Value) json.Value {
	if data.Kind() == '[' {
		return f.cutList(data)
	}
	members := json.MembersOf(data)
	if members == nil {
		return data
	}
	members = slices.DeleteFunc(members, func(m json.Member) bool {
		return f.Name == cut && namesNextPage(m.Name) && m.Value.Kind() == '"'
	})
	for i, m := range members {
		switch {
		case m.Value.Kind() == '[':
			members[i].Value = f.cutList(m.Value)
		case f.Name == cut && namesNextPage(m.Name) && m.Value.Kind() == 't':
			members[i].Value = json.Value("false")
		}
	}
	return members.AppendTo(nil)
}

// namesNextPage reports whether a member says that there is another page, or where.
func namesNextPage(name string) bool {
	switch strings.ToLower(strings.ReplaceAll(name, "_", "")) {
	case "nextcursor", "cursor", "nextpage", "nextpagetoken", "next", "nextlink", "hasmore", "hasnext", "hasnextpage":
		return true
	default:
		return false
	}
}

func (f *Fault) cutList(list json.Value) json.Value {
	items, _ := json.Items(list, maxItems)
	keep := 0
	if f.Name == cut {
		keep = f.Keep
		if keep < 0 {
			keep = len(items) / 2
		}
	}
	return json.Array(items[:min(keep, len(items))])
}

// thinResult does so with the content of a tool result: its structuredContent, and texts that are JSON. The
// protocol's own lists, such as that of the tools, are cut in the result of their methods.
func (f *Fault) thinResult(method string, result json.Value) json.Value {
	if method != wire.MethodToolsCall {
		return f.thin(result)
	}
	members := json.MembersOf(result)
	for i, m := range members {
		switch m.Name {
		case "structuredContent":
			members[i].Value = f.thin(m.Value)
		case "content":
			members[i].Value = f.thinTexts(m.Value)
		}
	}
	return members.AppendTo(nil)
}

func (f *Fault) thinTexts(content json.Value) json.Value {
	blocks, _ := json.Items(content, maxItems)
	for i, block := range blocks {
		blocks[i] = f.thinText(block)
	}
	return json.Array(blocks)
}

func (f *Fault) thinText(block json.Value) json.Value {
	members := json.MembersOf(block)
	for i, m := range members {
		if m.Name != "text" || m.Value.Kind() != '"' {
			continue
		}
		text, err := json.AppendUnquote(nil, m.Value)
		if err == nil && json.Valid(text) {
			members[i].Value = json.AppendQuote(nil, f.thin(json.Value(text)))
		}
	}
	if members == nil {
		return block
	}
	return members.AppendTo(nil)
}
