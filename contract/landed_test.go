package contract_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/contract"
)

// What a verify call's answer shows about a write, and when it shows nothing.
func TestLanded(t *testing.T) {
	t.Parallel()
	const arguments = `{"id":"o-1","title":"New","tags":["a"],"line":{"sku":"x","count":2}}`
	for name, test := range map[string]struct {
		rule, data string // without data, the verify call says that there is no such thing
		want       string // yes, no or open
	}{
		"one exists":               {"path: /orders/0, exists: true", `{"orders":[{}]}`, "yes"},
		"none exists":              {"path: /orders/0, exists: true", `{"orders":[]}`, "no"},
		"null does not exist":      {"path: /order, exists: true", `{"order":null}`, "no"},
		"no such list":             {"path: /orders/0, exists: true", `{"results":[]}`, "open"},
		"no such thing":            {"path: /orders/0, exists: true", ``, "no"},
		"gone":                     {"path: /id, exists: false", `{}`, "yes"},
		"still there":              {"path: /id, exists: false", `{"id":"o-1"}`, "no"},
		"no such thing any more":   {"path: /id, exists: false", ``, "yes"},
		"the argument's value":     {"path: /title, equals: /title", `{"title":"New"}`, "yes"},
		"another value":            {"path: /title, equals: /title", `{"title":"Old"}`, "no"},
		"no value":                 {"path: /title, equals: /title", `{}`, "open"},
		"argument not given":       {"path: /title, equals: /name", `{"title":"New"}`, "open"},
		"no such thing to compare": {"path: /title, equals: /title", ``, "open"},
		"a constant":               {"path: /orders/0/status, equals: cancelled", `{"orders":[{"status":"cancelled"}]}`, "yes"},
		"another constant":         {"path: /up, equals: true", `{"up":false}`, "no"},
		"numbers compare by value": {"path: /n, equals: 2", `{"n":2.0}`, "yes"},
		"a text contains it":       {"path: /text, contains: /title", `{"text":"a New one"}`, "yes"},
		"a list contains it":       {"path: /tags, contains: a", `{"tags":["b","a"]}`, "yes"},
		"a list contains an object with its members": {"path: /lines, contains: /line", `{"lines":[{"sku":"x","count":2,"id":7}]}`, "yes"},
		"a list without it":                          {"path: /lines, contains: /line", `{"lines":[{"sku":"x","count":3}]}`, "no"},
		"one of many":                                {"path: /studies/*/title, equals: /title", `{"studies":[{"title":"Old"},{"title":"New"}]}`, "yes"},
		"none of many":                               {"path: /studies/*/title, equals: /title", `{"studies":[{"title":"Old"}]}`, "no"},
		"many without a title":                       {"path: /studies/*/title, equals: /title", `{"studies":[{"name":"New"}]}`, "open"},
		"an empty list":                              {"path: /studies/*/title, contains: /title", `{"studies":[]}`, "no"},
		"plain text":                                 {"path: /title, equals: /title", `Done!`, "open"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := contract.Builtin().Load("ours.yaml", []byte(`form: 1
name: ours
extends: recourse
verify:
  put: {tool: get, from: {id: /id}, landed: {`+test.rule+`}}
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
				t.Error("a call that lacks the rule's argument has landed")
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
		_, err := contract.Builtin().Load("ours.yaml", []byte("form: 1\nname: ours\nextends: recourse\nverify:\n  put: {tool: get, landed: {"+rule+"}}\ncodes: []\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", rule, err)
		}
	}
}
