package openapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/upstream/openapi"
)

const orders = `
/orders: {get: {operationId: orders/list, tags: [read]}, post: {operationId: orders/create, tags: [write]}}
/orders/{id}: {parameters: [{name: id, in: path, required: true, schema: {}}], get: {tags: [read]}, delete: {}}
/admin/users: {get: {operationId: users}}
`

// The first matching route decides about an operation; without one, the operation is not offered.
func TestRoutes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		routes []openapi.Route
		want   []string
	}{
		"all":         {everything, []string{"delete_orders_id", "get_orders_id", "orders_create", "orders_list", "users"}},
		"by method":   {[]openapi.Route{{Methods: []string{"get"}}}, []string{"get_orders_id", "orders_list", "users"}},
		"by path":     {[]openapi.Route{{Paths: []string{"/orders/*"}}}, []string{"delete_orders_id", "get_orders_id"}},
		"by any path": {[]openapi.Route{{Paths: []string{"/o**"}}}, []string{"delete_orders_id", "get_orders_id", "orders_create", "orders_list"}},
		"by tag":      {[]openapi.Route{{Tags: []string{"write", "none"}}}, []string{"orders_create"}},
		"by id":       {[]openapi.Route{{IDs: []string{"orders/*"}}}, []string{"orders_create", "orders_list"}},
		"denied":      {[]openapi.Route{{Paths: []string{"/admin/**"}, Deny: true}, {Methods: []string{"GET"}}}, []string{"get_orders_id", "orders_list"}},
		"all must match": {
			[]openapi.Route{{Methods: []string{"POST"}, Tags: []string{"read"}}, {IDs: []string{"users"}}}, nil,
		},
		"named": {[]openapi.Route{{IDs: []string{"users"}, Name: "people"}}, []string{"people"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, problems := openapi.Compile([]byte(describe(orders, "")), openapi.Options{Routes: tt.routes})
			var got []string
			if api != nil {
				for _, tool := range api.Tools {
					got = append(got, tool.Name)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || (api == nil) != (tt.want == nil) {
				t.Errorf("%s%+v", diff, problems)
			}
		})
	}
}

// Names are the same in every run, valid for every client, and unique.
func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("very_", 20)
	text := describe(fmt.Sprintf(`
/a: {get: {operationId: get thing!}, post: {operationId: Get_Thing}, put: {}}
/b: {get: {operationId: %sa}, post: {operationId: %sb}}
/ü: {get: {}}
/: {get: {operationId: '???'}}`, long, long), "")
	seen := map[string]bool{}
	for range 2 {
		for _, tool := range compile(t, text).Tools {
			if !openapi.IsName(tool.Name) {
				t.Errorf("%q", tool.Name)
			}
			seen[strings.ToLower(tool.Name)] = true
		}
	}
	if len(seen) != 7 || !seen["put_a"] {
		t.Errorf("%v", seen)
	}
}

// A description or operation that cannot be offered is reported in a sentence.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"a list":            {`[1]`, "this is not an OpenAPI description"},
		"another mapping":   {`a: b`, "this is not an OpenAPI description"},
		"version 2":         {`{"swagger": "2.0", "paths": {}}`, "Swagger 2.0"},
		"a later version":   {`{"openapi": "4.0.0", "paths": {}}`, "3.0 and 3.1 are supported"},
		"broken JSON":       {`{"openapi": `, "not valid JSON"},
		"broken YAML":       {"a: [", "neither JSON nor YAML"},
		"Latin 1":           {"openapi: 3.1.0\ninfo: {title: Caf\xe9, version: '1'}\n", "not in UTF-8"},
		"Latin 1, JSON":     {"{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Caf\xe9\"}}", "not in UTF-8"},
		"a duplicate name":  {`{"openapi": "3.0.0", "openapi": "3.0.1"}`, "not valid JSON"},
		"nothing to offer":  {describe(`{}`, ""), "no operation of the description matches this route"},
		"an upload":         {describe(`/f: {post: {requestBody: {content: {multipart/form-data: {}}}}}`, ""), "POST /f cannot be a tool: it takes an upload (multipart/form-data)"},
		"a binary upload":   {describe(`/f: {put: {requestBody: {content: {application/octet-stream: {}}}}}`, ""), "PUT /f cannot be a tool: it takes an upload"},
		"a path parameter":  {describe(`/f/{id}: {get: {}}`, ""), "the path has {id}, and there is no such path parameter"},
		"another style":     {describe(`/f: {get: {parameters: [{name: a, in: path, style: matrix}]}}`, ""), `the style "matrix" is not supported`},
		"a wrong operation": {describe(`/f: {get: {operationId: [1]}}`, ""), "GET /f cannot be a tool"},
		"a wrong parameter": {describe(`/f: {get: {parameters: [7]}}`, ""), "parameter 1 must be a mapping"},
		"a nameless one":    {describe(`/f: {get: {parameters: [{in: query}]}}`, ""), "needs a `name` and a place"},
		"another server":    {describe(`/f: {get: {servers: [{url: 'https://other.example.com'}]}}`, ""), "it has a server of its own"},
		"a far reference":   {describe(`/f: {get: {parameters: [{$ref: 'https://example.com/p'}]}}`, ""), "leads out of the description"},
		"a round reference": {describe(`/f: {get: {parameters: [{$ref: '#/components/parameters/P'}]}}`, `parameters: {P: {$ref: '#/components/parameters/P'}}`), "references in a row"},
	} {
		if got := refusal(t, tt.text); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	relative := strings.Replace(describe(orders, ""), "https://api.example.com", "", 1)
	if got := refusal(t, relative); !strings.Contains(got, "does not say where the API is") {
		t.Error(got)
	}
	for want, route := range map[string]openapi.Route{
		"no operation of the description matches this route": {Tags: []string{"raed"}},
		"`name` is for one operation, and 5 match":           {Name: "all"},
	} {
		_, problems := openapi.Compile([]byte(describe(orders, "")), openapi.Options{Routes: []openapi.Route{route}})
		if len(problems) == 0 || problems[0].Route != 0 || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%+v", problems)
		}
	}
}

// A mistake in an operation that is not offered does not affect the others.
func TestOthersDoNotMatter(t *testing.T) {
	t.Parallel()
	text := describe(`
/good: {get: {operationId: good}}
/bad: {get: {parameters: 7}, post: {requestBody: {content: {image/png: {}}}}}`, "")
	api, problems := openapi.Compile([]byte(text), openapi.Options{Routes: []openapi.Route{{Paths: []string{"/good"}}}})
	if api == nil || len(api.Tools) != 1 {
		t.Errorf("%+v", problems)
	}
}

// For a trusted description, the response schema is declared as outputSchema, without write-only members.
func TestOutputSchema(t *testing.T) {
	t.Parallel()
	text := []byte(describe(`/x: {get: {responses: {"200": {content: {application/json: {schema: {$ref: '#/components/schemas/A'}}}}}}}`,
		`schemas: {A: {type: object, properties: {a: {$ref: '#/components/schemas/A'}, secret: {type: string, writeOnly: true}, id: {readOnly: true}}}}`))
	for trusted, want := range map[bool]string{
		false: "",
		true: `{"$defs":{"A":{"properties":{"a":{"$ref":"#/$defs/A"},"id":{}},"type":"object"}},` +
			`"properties":{"a":{"$ref":"#/$defs/A"},"id":{}},"type":"object"}`,
	} {
		api, problems := openapi.Compile(text, openapi.Options{Routes: everything, Trusted: trusted})
		if problems != nil || string(api.Tools[0].OutputSchema) != want {
			t.Errorf("%v %s", problems, api.Tools[0].OutputSchema)
		}
	}
}
