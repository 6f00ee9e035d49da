package openapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/upstream/openapi"
)

// everything offers every operation.
var everything = []openapi.Route{{}}

// describe returns a description of version 3.0 in YAML, with these paths and components.
func describe(paths, components string) string {
	indent := func(text string) string { return strings.ReplaceAll("\n"+strings.TrimSpace(text), "\n", "\n  ") }
	text := "openapi: 3.0.3\ninfo: {title: Test, version: '1'}\nservers: [{url: 'https://api.example.com/v1/'}]\npaths:" + indent(paths)
	if components != "" {
		text += "\ncomponents:" + indent(components)
	}
	return text + "\n"
}

// compile compiles a description, and offers all of its operations.
func compile(tb testing.TB, text string) *openapi.API {
	tb.Helper()
	api, problems := openapi.Compile([]byte(text), openapi.Options{Routes: everything})
	if problems != nil {
		tb.Fatalf("%+v", problems)
	}
	return api
}

// refusal returns the reason why a description cannot be offered.
func refusal(tb testing.TB, text string) string {
	tb.Helper()
	api, problems := openapi.Compile([]byte(text), openapi.Options{Routes: everything})
	if api != nil {
		tb.Fatalf("got %d tools", len(api.Tools))
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.Message
	}
	return strings.Join(lines, "\n")
}

// takes returns the description of an operation whose body has that schema, and is a single argument.
func takes(schema, components string) string {
	return describe(fmt.Sprintf(`/x: {post: {operationId: x, requestBody: {content: {application/json: {schema: {allOf: [%s]}}}}}}`, schema), components)
}
