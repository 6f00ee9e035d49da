package openapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/upstream/openapi"
)

// spell returns a request as one line.
func spell(r *openapi.HTTPRequest) string {
	var line strings.Builder
	line.WriteString(r.Method + " " + r.Target)
	for _, name := range []string{"X-List", "Cookie", "Content-Type"} {
		if values := r.Header[name]; values != nil {
			line.WriteString(" " + name + "=" + strings.Join(values, "|"))
		}
	}
	if r.Body != nil {
		line.WriteString(" " + string(r.Body))
	}
	return line.String()
}

// Values are serialised in each style as OpenAPI defines it.
func TestStyles(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ param, value, want string }{
		"form":             {`in: query`, `["a b","c&d"]`, "?v=a%20b&v=c%26d"},
		"form, one value":  {`in: query`, `"ä/ö"`, "?v=%C3%A4%2F%C3%B6"},
		"form, an object":  {`in: query`, `{"b":2,"a":true}`, "?a=true&b=2"},
		"form, joined":     {`in: query, explode: false`, `["a","b,c"]`, "?v=a%2Cb%2Cc"},
		"form, reserved":   {`in: query, allowReserved: true`, `"a/b?c#d&e"`, "?v=a/b?c%23d%26e"},
		"spaces":           {`in: query, style: spaceDelimited, explode: false`, `["a","b"]`, "?v=a%20b"},
		"pipes":            {`in: query, style: pipeDelimited, explode: false`, `[1,2]`, "?v=1%7C2"},
		"deep":             {`in: query, style: deepObject`, `{"a":{"b":1},"c":["x","y"]}`, "?v%5Ba%5D%5Bb%5D=1&v%5Bc%5D%5B%5D=x&v%5Bc%5D%5B%5D=y"},
		"JSON":             {`in: query, content: {application/json: {schema: {}}}`, `{"a":1.0}`, "?v=%7B%22a%22%3A1.0%7D"},
		"null":             {`in: query`, `null`, ""},
		"a large number":   {`in: query`, `12345678901234567890`, "?v=12345678901234567890"},
		"a cookie":         {`in: cookie`, `"a;b"`, " Cookie=v=a%3Bb"},
		"a header":         {`in: header`, `["a","b"]`, " X-List=a,b"},
		"a header, object": {`in: header, explode: true`, `{"a":1}`, " X-List=a=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			param, arg := "v", "v"
			if strings.Contains(tt.param, "header") {
				param, arg = "X-List", "X-List"
			}
			api := compile(t, describe(`/x: {get: {operationId: x, parameters: [{name: `+param+`, `+tt.param+`}]}}`, ""))
			r, err := api.Tools[0].Request(fmt.Appendf(nil, `{%q: %s}`, arg, tt.value))
			if err != nil {
				t.Fatal(err)
			}
			if got := spell(r); got != "GET /x"+tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// A value in the path cannot change the path, even if the path is decoded on its way, once or more often, and even
// together with another value.
func TestPaths(t *testing.T) {
	t.Parallel()
	api := compile(t, describe(`
/a/{x}/b/{y}.json: {get: {operationId: x, parameters: [
  {name: x, in: path, required: true, schema: {}}, {name: y, in: path, required: true, schema: {}}]}}
/joined/{x}{y}: {get: {operationId: joined, parameters: [
  {name: x, in: path, required: true, schema: {}}, {name: y, in: path, required: true, schema: {}}]}}
/last/{x}: {delete: {operationId: last, parameters: [{name: x, in: path, required: true, schema: {}}]}}
/last/{x}/refund: {post: {operationId: refund, parameters: [{name: x, in: path, required: true, schema: {}}]}}
/slash/{x}/: {get: {operationId: slash, parameters: [{name: x, in: path, required: true, schema: {}}]}}
/a/{x}/b/{y}/secret.json: {delete: {operationId: other, parameters: [
  {name: x, in: path, required: true, schema: {}}, {name: y, in: path, required: true, schema: {}}]}}
`, ""))
	tools := map[string]*openapi.Offer{}
	for _, tool := range api.Tools {
		tools[tool.Name] = tool
	}
	const refused = string(recourse.KindInvalidValue)
	for _, tt := range []struct{ tool, arguments, want string }{
		{"x", `{"x":"1","y":"2"}`, "/a/1/b/2.json"},
		{"x", `{"x":"a b","y":"{x}"}`, "/a/a%20b/b/%7Bx%7D.json"},
		{"x", `{"x":["a","b"],"y":"?#%2e"}`, "/a/a,b/b/%3F%23%252e.json"},
		{"x", `{"x":"100%","y":"a..b"}`, "/a/100%25/b/a..b.json"},
		{"x", `{"x":"...","y":"é"}`, "/a/.../b/%C3%A9.json"},
		{"x", `{"x":"1"}`, string(recourse.KindMissingParam)},
		{"x", `{"x":{"a":{"b":1}},"y":"2"}`, string(recourse.KindInvalidType)},
		{"x", `[1]`, string(recourse.KindInvalidType)},
		{"x", `{"x":"src/main","y":"2"}`, "/a/src%2Fmain/b/2.json"},
		{"x", `{"x":"1","y":"2/secret"}`, refused}, // the path of another operation
		{"x", `{"x":"1","y":"2%2Fsecret"}`, refused},
		{"x", `{"x":"1","y":"2\\secret"}`, refused},
		{"joined", `{"x":"a","y":"b"}`, "/joined/ab"},
		{"joined", `{"x":".","y":"."}`, refused},
		{"joined", `{"x":"","y":"."}`, refused},
		{"joined", `{"x":"%2","y":"fadmin"}`, refused},
		{"joined", `{"x":"%","y":"2e%2e"}`, refused},
		{"joined", `{"x":"%255","y":"cadmin"}`, refused},
		{"x", `{"x":"1","y":"2/SECRET"}`, refused}, // some servers ignore case, and parameters after a semicolon
		{"x", `{"x":"1","y":"2;v=1/secret"}`, refused},
		{"last", `{"x":"1"}`, "/last/1"},
		{"last", `{"x":""}`, refused}, // that would be the path of all
		{"last", `{"x":[""]}`, refused},
		{"last", `{"x":"1/refund;v=1"}`, refused},
		{"slash", `{"x":"1"}`, "/slash/1/"},
		{"slash", `{"x":""}`, refused},
	} {
		if got := target(t, tools[tt.tool], tt.arguments); got != tt.want {
			t.Errorf("%s %s: got %s, want %s", tt.tool, tt.arguments, got, tt.want)
		}
	}
	for _, value := range []string{
		"", ".", "..", "../..", "../admin", "..\\admin", "a/../../admin", "a//b", "a\\\\b", "/", "\\", "/etc", "a/", "a/./b", "%2e%2e", "%2E%2E/x", "..%2Fadmin",
		"..%2fadmin", "..%5Cadmin", "..%5cadmin", "%2e%2e%2fadmin", "%252e%252e%252fadmin", "%25252e%25252e%25252fadmin", "..%252Fadmin",
		"a%2F", "a%5C", "a%252F%252Fb", "a%25252F..", "%252525252e", "a%00b", "a%0d%0aHost: x", "%c0%ae%c0%ae", "%c0%af", "..;", "..;/admin", "..;a=b", ".;x",
		"..%3B", "%2e%2e;x", " ..", ".. ", "..%20", "．．", "‥", "..∕admin", "．．／admin", ".\u200d.", "..\ufeff", "%E2%80%A5", "%E2%80%8B..",
	} {
		argument, _ := json.Marshal(value)
		if got := target(t, tools["x"], `{"x":`+string(argument)+`,"y":"2"}`); got != refused {
			t.Errorf("%q: got %s", value, got)
		}
	}
	for _, value := range []string{`"a\u0000b"`, `"a\nb"`, `"\u007f"`, `"\u0085"`, `["a","b/../c"]`, `{"a":"b/../c"}`, `[".."]`} {
		if got := target(t, tools["x"], `{"x":`+value+`,"y":"2"}`); got != refused {
			t.Errorf("%s: got %s", value, got)
		}
	}
	for _, value := range []string{"１／２", "…", "a\u200db", "v1．2", "日本∕東京"} { // they lead nowhere
		argument, _ := json.Marshal(value)
		if got := target(t, tools["x"], `{"x":`+string(argument)+`,"y":"2"}`); got == refused {
			t.Errorf("%q is refused", value)
		}
	}
	for tool, arguments := range map[string]string{"x": `{"x":"../admin","y":"2"}`, "last": `{"x":""}`} {
		_, err := tools[tool].Request([]byte(arguments))
		if e, ok := errors.AsType[*recourse.Error](err); !ok || len(e.Violations) != 1 || e.Violations[0].Param != "x" {
			t.Errorf("%s: got %+v", tool, err)
		}
	}
}

// target returns the path of the request for a call, or the kind of the failure, which has no effect.
func target(t *testing.T, tool *openapi.Offer, arguments string) string {
	t.Helper()
	r, err := tool.Request([]byte(arguments))
	e, ok := errors.AsType[*recourse.Error](err)
	switch {
	case !ok:
		return r.Target
	case e.Effect != recourse.EffectNone:
		t.Errorf("%s: effect %s", arguments, e.Effect)
	}
	return string(e.Kind)
}

// A body is sent as described: from members or as a whole, as JSON, a form or text.
func TestBodies(t *testing.T) {
	t.Parallel()
	object := `{type: object, required: [a], properties: {a: {type: string}, b: {}, id: {}}}`
	for name, tt := range map[string]struct{ body, arguments, want string }{
		"members":             {`{required: true, content: {application/json: {schema: ` + object + `}}}`, `{"a":"x","b":{"c":1.0},"id":"7","id_body":8}`, `POST /x/7 Content-Type=application/json {"a":"x","b":{"c":1.0},"id":8}`},
		"an optional body":    {`{content: {application/json: {schema: ` + object + `}}}`, `{"id":"7"}`, `POST /x/7`},
		"the whole":           {`{content: {application/json: {schema: ` + object + `}}}`, `{"id":"7","body":{"a":"y"}}`, `POST /x/7 Content-Type=application/json {"a":"y"}`},
		"its own type":        {`{content: {application/vnd.api+json: {schema: {type: array}}}}`, `{"id":"7","body":[]}`, `POST /x/7 Content-Type=application/vnd.api+json []`},
		"a form":              {`{required: true, content: {application/x-www-form-urlencoded: {schema: ` + object + `}}}`, `{"id":"7","a":"x y","b":["1","2"]}`, `POST /x/7 Content-Type=application/x-www-form-urlencoded a=x%20y&b=1&b=2`},
		"a form with objects": {`{required: true, content: {application/x-www-form-urlencoded: {schema: ` + object + `}}}`, `{"id":"7","a":"x","b":{"c":1}}`, `POST /x/7 Content-Type=application/x-www-form-urlencoded a=x&b=%7B%22c%22%3A1%7D`},
		"a deep form":         {`{required: true, content: {application/x-www-form-urlencoded: {schema: ` + object + `, encoding: {b: {style: deepObject, explode: true}}}}}`, `{"id":"7","a":"x","b":{"c":1}}`, `POST /x/7 Content-Type=application/x-www-form-urlencoded a=x&b%5Bc%5D=1`},
		"a text":              {`{content: {text/plain: {schema: {type: string}}}}`, `{"id":"7","body":"a\nb"}`, "POST /x/7 Content-Type=text/plain a\nb"},
		"JSON before others":  {`{required: true, content: {text/plain: {}, application/json: {schema: {type: string}}, application/x-www-form-urlencoded: {}}}`, `{"id":"7","body":"x"}`, `POST /x/7 Content-Type=application/json "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := compile(t, describe(`/x/{id}: {post: {operationId: x, parameters: [{name: id, in: path, required: true, schema: {type: string}}], requestBody: `+tt.body+`}}`, ""))
			r, err := api.Tools[0].Request([]byte(tt.arguments))
			if err != nil {
				t.Fatal(err)
			}
			if got := spell(r); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// Parameters that the entry sets, credentials and headers of the connection are hidden from the model.
func TestHiddenParameters(t *testing.T) {
	t.Parallel()
	text := describe(`
/x:
  get:
    operationId: x
    parameters:
    - {name: key, in: query, schema: {}}
    - {name: version, in: query, schema: {}}
    - {name: authorization, in: header, schema: {}}
    - {name: x-tenant, in: header, schema: {}}
    - {name: MCP-Name, in: header, schema: {}}
    - {name: idempotency-key, in: header, required: true, schema: {}}
    - {name: 'filter[state]', in: query, schema: {}}`, `securitySchemes: {key: {type: apiKey, in: query, name: key}}`)
	api, problems := openapi.Compile([]byte(text), openapi.Options{
		Routes: everything, Headers: map[string]string{"X-Tenant": "1"}, Query: map[string]string{"version": "2"},
	})
	if problems != nil {
		t.Fatal(problems)
	}
	const want = `{"additionalProperties":false,"properties":{"filter_state":{}},"type":"object"}`
	if tool := api.Tools[0]; string(tool.InputSchema) != want || !tool.Keyed {
		t.Errorf("%s", tool.InputSchema)
	}
	r, err := api.Tools[0].Request([]byte(`{"filter_state":"open"}`))
	if err != nil || r.Target != "/x?filter%5Bstate%5D=open" {
		t.Errorf("%v %+v", err, r)
	}
}

// A value cannot add a line to the request.
func TestLineInHeader(t *testing.T) {
	t.Parallel()
	api := compile(t, describe(`/x: {get: {operationId: x, parameters: [{name: X-List, in: header}]}}`, ""))
	if _, err := api.Tools[0].Request([]byte(`{"X-List":"a\r\nHost: b"}`)); err == nil {
		t.Error("the request was built")
	}
}
