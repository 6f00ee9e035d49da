package openapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/call/args"
	"github.com/recoursehq/recourse/internal/upstream/openapi"
)

// A hostile description is quickly refused, or harmless.
func TestHostileDescriptions(t *testing.T) {
	t.Parallel()
	many := func(n int, each string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, each, i)
		}
		return b.String()
	}
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + func() string {
		var b strings.Builder
		for i := 1; i < 12; i++ {
			fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), i-1)
		}
		return b.String()
	}()
	for name, tt := range map[string]struct{ text, want string }{
		"100,000 operations":    {`{"openapi":"3.0.0","paths":{` + strings.TrimSuffix(many(100_000, `"/p%d":{"get":{}},`), ",") + `}}`, "more than 20000 operations"},
		"too many tools":        {`{"openapi":"3.0.0","servers":[{"url":"http://a"}],"paths":{` + strings.TrimSuffix(many(3000, `"/p%d":{"get":{}},`), ",") + `}}`, "more than 2000 operations are offered"},
		"too large":             {strings.Repeat(" ", openapi.MaxSize+1), "larger than 32 MiB"},
		"deep JSON":             {`{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, "more than 100 levels"},
		"deep YAML":             {"a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "more than 100 levels"},
		"deeper YAML":           {"a: " + strings.Repeat("[", 50_000), "neither JSON nor YAML"},
		"a YAML bomb":           {bomb + "openapi: 3.0.0\npaths: {}\n", "aliases"},
		"an alias in itself":    {"a: &a [*a]", "description"},
		"a merge with itself":   {"a: &a {<<: *a}", "description"},
		"an odd key":            {"? [a]\n: b\n", "a key must be a word"},
		"a merge of a text":     {"a: {<<: b}", "takes a mapping"},
		"references everywhere": {describe(`/x: {get: {parameters: [`+many(200, `{$ref: '#/paths/~1y/get/parameters/%d'},`)+`]}}`, ""), "leads nowhere"},
		"a wrong document":      {`{"openapi":"3.0.0","paths":[]}`, "not an OpenAPI description"},
		"wrong components":      {`{"openapi":"3.0.0","paths":{},"components":7}`, "cannot be read"},
		"wrong names":           {`{"openapi":"3.0.0","info":{"title":7},"paths":{}}`, "cannot be read"},
		"a wrong path":          {`{"openapi":"3.0.0","servers":[{"url":"http://a"}],"paths":{"/x":7}}`, "path /x: it must be a mapping"},
		"a hash as a name": {describe(`
/a: {get: {operationId: a}, put: {operationId: A}}
/b: {get: {operationId: a_3faa227c}}
/c: {get: {operationId: A_3faa227c}}`, ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			api, problems := openapi.Compile([]byte(tt.text), openapi.Options{Routes: everything})
			if tt.want != "" && (api != nil || !strings.Contains(problems[0].Message, tt.want)) {
				t.Errorf("%+v", problems)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("took %s", took)
			}
			for _, p := range problems {
				if len(p.Message) > 1000 {
					t.Errorf("a message of %d bytes: %.200s", len(p.Message), p.Message)
				}
			}
		})
	}
}

// A limited number of aliases is expanded.
func TestAliases(t *testing.T) {
	t.Parallel()
	api := compile(t, `
openapi: 3.0.0
servers: [{url: "http://a"}]
x-common: &common {parameters: [{name: id, in: path, required: true, schema: {type: integer, maximum: 0x10}}]}
paths:
  /a/{id}: {get: {<<: *common, operationId: a, summary: "2"}}
  /b/{id}: {get: {<<: [*common, {summary: c}], operationId: b}}
`)
	for i, want := range []string{`"maximum":16`, `"maximum":16`} {
		if tool := api.Tools[i]; !strings.Contains(string(tool.InputSchema), want) || len(tool.Summary) != 1 {
			t.Errorf("%s %s", tool.Summary, tool.InputSchema)
		}
	}
}

// A pattern that would take too long, or that Go does not support, is left to the provider.
func TestExplodingPatterns(t *testing.T) {
	t.Parallel()
	api := compile(t, takes(`{type: string, pattern: '^(((a{1,500}){1,500}){1,500})*$'}, {pattern: '(?=x)y'}, {minLength: 2}`, ""))
	schema, err := args.Compile(api.Tools[0].InputSchema, nil)
	if err != nil {
		t.Fatal(err)
	}
	if found := schema.Check(context.Background(), []byte(`{"body":"b"}`)); len(found) != 1 {
		t.Errorf("%+v", found)
	}
}

// Texts for the model are limited in length, without invisible characters.
func TestTexts(t *testing.T) {
	t.Parallel()
	api := compile(t, describe(`/x: {get: {operationId: x, deprecated: true, summary: "Get \u200Ban\u202E x", description: "`+strings.Repeat("word ", 5000)+`"}}`, ""))
	if text := api.Tools[0].Summary; len(text) > 1100 || !strings.HasPrefix(text, "Deprecated. Get an x\n\nword ") {
		t.Errorf("%d bytes: %.60q", len(text), text)
	}
}

// Fetching a description is limited in size, and to the given host.
func TestFetch(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/there", http.StatusFound) })
	mux.HandleFunc("/there", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("here")) })
	mux.HandleFunc("/elsewhere", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://other.example/", http.StatusFound)
	})
	mux.HandleFunc("/round", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/round", http.StatusFound) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		for range 33 {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	for path, want := range map[string]string{
		"/moved": "", "/elsewhere": "only redirects on the same host", "/round": "redirects", "/large": "32 MiB", "/none": "status 404",
	} {
		text, err := openapi.Fetch(t.Context(), srv.URL+path+"?key=secret")
		switch {
		case want == "" && (err != nil || string(text) != "here"):
			t.Errorf("%s: %v", path, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%s: %v", path, err)
		}
	}
}

// FuzzCompile checks that any description is compiled within the limits.
func FuzzCompile(f *testing.F) {
	f.Add([]byte(describe(orders, "")))
	f.Add([]byte(takes(`{$ref: '#/components/schemas/A'}`, `schemas: {A: {properties: {a: {$ref: '#/components/schemas/A'}}}}`)))
	f.Add([]byte(`{"openapi":"3.1.0","servers":[{"url":"http://{a}","variables":{"a":{"default":"b"}}}],"paths":{"/{a}":{"get":{"parameters":[{"name":"a","in":"path"}]}}}}`))
	f.Add([]byte("a: &a [*a]\nopenapi: 3.0.0\npaths: {}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		api, problems := openapi.Compile(text, openapi.Options{Routes: everything, BaseURL: "http://a", Trusted: true})
		if (api == nil) != (len(problems) > 0) {
			t.Fatalf("%v %v", api, problems)
		}
		if api == nil {
			return
		}
		names := map[string]bool{}
		for _, tool := range api.Tools {
			if names[tool.Name] || !openapi.IsName(tool.Name) {
				t.Errorf("name %q", tool.Name)
			}
			names[tool.Name] = true
			if _, err := args.Compile(tool.InputSchema, nil); err != nil {
				t.Errorf("%s: %s", err, tool.InputSchema)
			}
			_, _ = tool.Request([]byte(`{"a":"b","body":{"a":[1]}}`))
		}
	})
}

// A text quoted in a mistake can neither look like the program's own output nor control the terminal.
func TestMistakesInOneLine(t *testing.T) {
	t.Parallel()
	const hidden = `\u001b[31m\u202e\nrecourse.yaml: no mistakes\r\n`
	for _, paths := range []string{
		`"/f": {"get": {"parameters": [{"name": "X-` + hidden + `", "in": "header"}]}}`,
		`"/f` + hidden + `": {"get": {"parameters": [7]}}`,
		`"/f": {"post": {"operationId": "f` + hidden + `"}}`, // no route matches: it is listed
	} {
		text := `{"openapi": "3.1.0", "info": {"title": "F", "version": "1"}, "servers": [{"url": "https://api.example.com"}], "paths": {` + paths + `}}`
		_, problems := openapi.Compile([]byte(text), openapi.Options{Routes: []openapi.Route{{Methods: []string{"GET"}}}})
		if len(problems) == 0 {
			t.Errorf("offered %s", paths)
		}
		for _, p := range problems {
			if said := p.Message + p.Hint; strings.ContainsAny(said, "\n\r\x1b\u202e") {
				t.Errorf("%q", said)
			}
		}
	}
}
