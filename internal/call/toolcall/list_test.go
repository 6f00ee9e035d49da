package toolcall_test

import (
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// tool returns a tool with a parameter n of that type.
func tool(name, kind string) *toolcall.Entry {
	return &toolcall.Entry{
		Name: name, Flawed: func(*toolcall.Entry, error) {},
		InputSchema: func() ([]byte, error) { return []byte(`{"properties":{"n":{"type":"` + kind + `"}}}`), nil },
	}
}

func list(tools ...*toolcall.Entry) *toolcall.List {
	l := &toolcall.List{Tools: map[string]*toolcall.Entry{}}
	for _, t := range tools {
		l.Add(t)
	}
	return l
}

// A call is refused only after the list was fetched again.
func TestRefusalNeedsAFreshList(t *testing.T) {
	t.Parallel()
	const good, bad = `{"n":1}`, `{"n":"x"}`
	same := list(tool("say", "integer"))
	for name, test := range map[string]struct {
		before, after *toolcall.List
		call          string
		arguments     string
		want          recourse.Kind
		fetches       int
	}{
		"valid":                          {same, nil, "say", good, "", 0},
		"no list":                        {nil, same, "say", bad, "", 0},
		"invalid":                        {same, list(tool("say", "integer")), "say", bad, recourse.KindInvalidType, 1},
		"valid by a new list":            {same, list(tool("say", "string")), "say", bad, "", 1},
		"invalid, unchanged list":        {same, same, "say", bad, recourse.KindInvalidType, 1},
		"invalid, list unavailable":      {same, nil, "say", bad, recourse.KindInvalidType, 1},
		"tool removed":                   {same, list(tool("see", "integer")), "say", bad, recourse.KindUnknownTool, 1},
		"unknown tool":                   {same, list(tool("say", "integer")), "sai", good, recourse.KindUnknownTool, 1},
		"tool added":                     {same, list(tool("sai", "integer")), "sai", good, "", 1},
		"unknown tool, list unavailable": {same, nil, "sai", good, recourse.KindUnknownTool, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fetches := 0
			anew := func() *toolcall.List { fetches++; return test.after }
			listed := test.before.In(test.call)
			e := listed.Find(test.call, anew)
			if e == nil {
				e = listed.Check(func(tool *toolcall.Entry) *recourse.Error {
					return tool.Refuse(t.Context(), json.Value(test.arguments))
				}, anew)
			}
			kind := recourse.Kind("")
			if e != nil {
				kind = e.Kind
			}
			if kind != test.want || fetches != test.fetches {
				t.Errorf("%q after %d fetches, want %q after %d", kind, fetches, test.want, test.fetches)
			}
		})
	}
}

func TestUnknownToolNamesTheNearest(t *testing.T) {
	t.Parallel()
	all := list(tool("order_create", "integer"), tool("order_get", "integer"))
	nothing := func() *toolcall.List { return nil }
	for name, want := range map[string]string{
		"order_gett": `There is no tool named "order_gett". Did you mean order_get?`,
		"fly":        `There is no tool named "fly".`,
	} {
		listed := all.In(name)
		e := listed.Find(name, nothing)
		if e == nil || e.Message != want || e.Origin != recourse.OriginCaller || e.Effect != recourse.EffectNone {
			t.Errorf("%s: %+v, want %q", name, e, want)
		}
	}
}
