package openapi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/openapi"
)

// spell returns a request as one line.
func spell(r *openapi.Request) string {
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

// A value in the path cannot change the path.
func TestPaths(t *testing.T) {
	t.Parallel()
	api := compile(t, describe(`/a/{x}/b/{y}.json: {get: {operationId: x, parameters: [
	  {name: x, in: path, required: true, schema: {}}, {name: y, in: path, required: true, schema: {}}]}}`, ""))
	for arguments, want := range map[string]string{
		`{"x":"1","y":"2"}`:           "/a/1/b/2.json",
		`{"x":"../..","y":"{x}"}`:     "/a/..%2F../b/%7Bx%7D.json",
		`{"x":["a","/"],"y":"?#%2e"}`: "/a/a,%2F/b/%3F%23%252e.json",
		`{"x":"..","y":"2"}`:          string(recourse.KindInvalidValue),
		`{"x":"","y":"2"}`:            string(recourse.KindInvalidValue),
		`{"x":".","y":"2"}`:           string(recourse.KindInvalidValue),
		`{"x":"1"}`:                   string(recourse.KindMissingParam),
		`{"x":{"a":{"b":1}},"y":"2"}`: string(recourse.KindInvalidType),
		`[1]`:                         string(recourse.KindInvalidType),
	} {
		r, err := api.Tools[0].Request([]byte(arguments))
		var got string
		if e, ok := errors.AsType[*recourse.Error](err); ok {
			if got = string(e.Kind); e.Effect != recourse.EffectNone {
				t.Errorf("%s: effect %s", arguments, e.Effect)
			}
		} else {
			got = r.Target
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", arguments, got, want)
		}
	}
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
