package contract_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/contract"
)

// What the answer of a verify call says of a write, and where it says nothing.
func TestLanded(t *testing.T) {
	t.Parallel()
	const arguments = `{"id":"o-1","title":"New","tags":["a"],"line":{"sku":"x","count":2}}`
	for name, test := range map[string]struct {
		rule, data string // no data: the verify call says that there is no such thing
		want       string // yes, no or open
	}{
		"there is something":              {"path: /orders/0, exists: true", `{"orders":[{}]}`, "yes"},
		"there is nothing":                {"path: /orders/0, exists: true", `{"orders":[]}`, "no"},
		"null is nothing":                 {"path: /order, exists: true", `{"order":null}`, "no"},
		"the list is not there":           {"path: /orders/0, exists: true", `{"results":[]}`, "open"},
		"no such thing":                   {"path: /orders/0, exists: true", ``, "no"},
		"it is gone":                      {"path: /id, exists: false", `{}`, "yes"},
		"it is still there":               {"path: /id, exists: false", `{"id":"o-1"}`, "no"},
		"there is no such thing any more": {"path: /id, exists: false", ``, "yes"},
		"it has the argument's value":     {"path: /title, equals: /title", `{"title":"New"}`, "yes"},
		"it has another":                  {"path: /title, equals: /title", `{"title":"Old"}`, "no"},
		"it has none":                     {"path: /title, equals: /title", `{}`, "open"},
		"such an argument was not given":  {"path: /title, equals: /name", `{"title":"New"}`, "open"},
		"nothing can be equal":            {"path: /title, equals: /title", ``, "open"},
		"a constant":                      {"path: /orders/0/status, equals: cancelled", `{"orders":[{"status":"cancelled"}]}`, "yes"},
		"another constant":                {"path: /up, equals: true", `{"up":false}`, "no"},
		"a number is a number":            {"path: /n, equals: 2", `{"n":2.0}`, "yes"},
		"a text holds it":                 {"path: /text, contains: /title", `{"text":"a New one"}`, "yes"},
		"a list holds it":                 {"path: /tags, contains: a", `{"tags":["b","a"]}`, "yes"},
		"a list holds its members":        {"path: /lines, contains: /line", `{"lines":[{"sku":"x","count":2,"id":7}]}`, "yes"},
		"a list does not":                 {"path: /lines, contains: /line", `{"lines":[{"sku":"x","count":3}]}`, "no"},
		"one of many":                     {"path: /studies/*/title, equals: /title", `{"studies":[{"title":"Old"},{"title":"New"}]}`, "yes"},
		"none of many":                    {"path: /studies/*/title, equals: /title", `{"studies":[{"title":"Old"}]}`, "no"},
		"many without a title":            {"path: /studies/*/title, equals: /title", `{"studies":[{"name":"New"}]}`, "open"},
		"none at all, of which to tell":   {"path: /studies/*/title, contains: /title", `{"studies":[]}`, "no"},
		"no JSON":                         {"path: /title, equals: /title", `Done!`, "open"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := contract.Builtin().Load("ours.yaml", []byte(`form: 1
name: ours
extends: recourse
verify:
  put: {call: get, args: {id: /id}, landed: {`+test.rule+`}}
codes: []
`))
			if err != nil {
				t.Fatal(err)
			}
			var data []byte
			if test.data != "" {
				data = []byte(test.data)
			}
			landed, known := c.Landed(&contract.Call{Tool: "put", Arguments: json.RawMessage(arguments)}, data)
			if got := map[bool]string{true: map[bool]string{true: "yes", false: "no"}[landed], false: "open"}[known]; got != test.want {
				t.Errorf("%s: %s, want %s", test.data, got, test.want)
			}
			if landed, known := c.Landed(&contract.Call{Tool: "put", Arguments: json.RawMessage(`{"title":"New"}`)}, data); landed || known {
				t.Error("it was asked about everything, and has landed")
			}
			if landed, known := c.Landed(&contract.Call{Tool: "get"}, []byte(`{"id":"o-1"}`)); landed || known {
				t.Error("a tool without a rule has landed")
			}
		})
	}
}

func TestLandedMistakes(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		"path: orders, exists: true":             `"orders" is no JSON Pointer`,
		"path: /orders":                          "expected one of",
		"path: /orders, exists: true, equals: 1": "expected one of",
		"exists: true":                           "path",
		"path: /a, is: 1":                        "is",
	} {
		_, err := contract.Builtin().Load("ours.yaml", []byte("form: 1\nname: ours\nextends: recourse\nverify:\n  put: {call: get, landed: {"+rule+"}}\ncodes: []\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", rule, err)
		}
	}
}
