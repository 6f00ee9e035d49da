package contract_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// loadExpecting returns a contract that expects something of successes of the tool get.
func loadExpecting(list string) (*contract.Contract, error) {
	return contract.Builtin().Load("ours.yaml", []byte("form: 1\nname: ours\nextends: recourse\nexpects:\n  get: "+list+"\ncodes: []\n"))
}

// What a success must look like, and what is said of one that does not.
func TestUnmet(t *testing.T) {
	t.Parallel()
	var kit []string // for clients in other languages, to which the server has no name
	const arguments = `{"id":"A-1","number":17,"ids":["A-1"],"none":null}`
	for name, test := range map[string]struct{ list, data, want string }{
		"there":                       {`[{"path":"/order"}]`, `{"order":{"id":1}}`, ""},
		"not there":                   {`[{"path":"/order"}]`, `{"orders":[]}`, "it has no /order"},
		"null":                        {`[{"path":"/order"}]`, `{"order":null}`, "it has no /order"},
		"deep":                        {`[{"path":"/order/lines/0/sku"}]`, `{"order":{"lines":[]}}`, "it has no /order/lines/0/sku"},
		"a text":                      {`[{"path":"/order"}]`, `Done!`, "it is no JSON"},
		"a list with items":           {`[{"path":"/orders","notEmptyFor":"/id"}]`, `{"orders":[{}]}`, ""},
		"an empty list":               {`[{"path":"/orders","notEmptyFor":"/id"}]`, `{"orders":[]}`, "/orders is empty, although the call names /id"},
		"empty, and not asked for":    {`[{"path":"/orders","notEmptyFor":"/reference"}]`, `{"orders":[]}`, ""},
		"empty, and asked for null":   {`[{"path":"/orders","notEmptyFor":"/none"}]`, `{"orders":[]}`, ""},
		"no list":                     {`[{"path":"/orders","notEmptyFor":"/id"}]`, `{}`, "it has no /orders"},
		"the same":                    {`[{"path":"/order/id","equals":"/id"}]`, `{"order":{"id":"A-1"}}`, ""},
		"another":                     {`[{"path":"/order/id","equals":"/id"}]`, `{"order":{"id":"A-2"}}`, "/order/id is not the /id of the call"},
		"a number and its text":       {`[{"path":"/id","equals":"/number"}]`, `{"id":"17"}`, ""},
		"one of many":                 {`[{"path":"/orders/*/id","equals":"/id"}]`, `{"orders":[{"id":"A-2"},{"id":"A-1"}]}`, ""},
		"none of many":                {`[{"path":"/orders/*/id","equals":"/id"}]`, `{"orders":[{"id":"A-2"}]}`, "/orders/*/id is not the /id of the call"},
		"the same list":               {`[{"path":"/ids","equals":"/ids"}]`, `{"ids":["A-1"]}`, ""},
		"not asked for":               {`[{"path":"/id","equals":"/reference"}]`, `{}`, ""},
		"the first that is not met":   {`[{"path":"/a"},{"path":"/b"},{"path":"/c"}]`, `{"a":1}`, "it has no /b"},
		"another tool, and anything":  {`[]`, `Done!`, ""},
		"a list is the whole content": {`[{"path":"/0/id"}]`, `[{"id":1}]`, ""},
	} {
		c, err := loadExpecting(strings.ReplaceAll(test.list, "notEmptyFor", "not_empty_for"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := json.Marshal(test.data)
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if test.want != "" {
			want = "The farm said success, but its answer does not look like one: " + test.want + "."
		}
		results := []string{`{"content":[{"type":"text","text":` + string(text) + `}]}`}
		if strings.HasPrefix(test.data, "{") {
			results = append(results, `{"content":[{"type":"text","text":"{}"}],"structuredContent":`+test.data+`}`)
		}
		for _, result := range results {
			line, err := json.Marshal(map[string]any{
				"name": name, "expects": json.RawMessage(test.list), "arguments": json.RawMessage(arguments),
				"result": json.RawMessage(result), "message": strings.Replace(want, "The farm", "The server", 1),
			})
			if err != nil {
				t.Fatal(err)
			}
			kit = append(kit, string(line))
			e, got := c.Unmet(&contract.Call{Tool: "get", Arguments: json.RawMessage(arguments)}, "The farm", []byte(result)), ""
			if e != nil {
				got = e.Message
			}
			if got != want || e != nil && e.Kind != recourse.KindBadResponse {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
	}
	slices.Sort(kit)
	contracttest.Golden(t, filepath.Join("testdata", "kit", "expects.jsonl"), strings.Join(kit, "\n")+"\n")
}

// Expectations that can never be met are mistakes, and so are those about tools and arguments that a server lacks.
func TestLintExpects(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"[{path: order}]":                                               `"order" is no JSON Pointer`,
		"[{path: /order, equals: id}]":                                  `"id" is no JSON Pointer`,
		"[{path: /order, equals: /id, not_empty_for: /id}]":             "give either `not_empty_for` or `equals`",
		"[{path: /order}, {path: /order}]":                              "this is expected twice",
		"[{path: /ids, not_empty_for: /id}, {path: /ids, equals: /id}]": "/ids cannot be a list and equal an argument",
		"[{equals: /id}]":                                               "path",
	} {
		if _, err := loadExpecting(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", list, err, want)
		}
	}
	tools := []contract.Tool{{Name: "get", InputSchema: json.RawMessage(`{"properties":{"id":{}}}`)}}
	for source, want := range map[string]string{
		"get: [{path: /order/id, equals: /order_id}]": "get has no parameter order_id",
		"got: [{path: /order}]":                       "the server has no tool got",
		"get: [{path: /order/id, equals: /id}]":       "",
	} {
		err := contract.Builtin().LintFor("ours.yaml", []byte("form: 1\nname: ours\nextends: recourse\nexpects: {"+source+"}\ncodes: []\n"), tools)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", source, err, want)
		}
	}
}
