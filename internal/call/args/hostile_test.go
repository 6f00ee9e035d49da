package args_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/call/args"
)

// within fails if do is not limited: with a limit it takes a tenth of a second, without one more than a lifetime.
func within(t *testing.T, do func()) {
	t.Helper()
	const limit = 10 * time.Second
	start := time.Now()
	do()
	if took := time.Since(start); took > limit {
		t.Errorf("took %v", took)
	}
}

// doubling returns a schema with the members of root, and d0 in its $defs, whose evaluation doubles with each of 60
// levels.
func doubling(root, keyword, leaf string) string {
	var defs []string
	for i := range 60 {
		defs = append(defs, fmt.Sprintf(`"d%d":{%q:[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, keyword, i+1, i+1))
	}
	return fmt.Sprintf(`{%s,"$defs":{%s,"d60":%s}}`, root, strings.Join(defs, ","), leaf)
}

func TestHostileSchemaIsBounded(t *testing.T) {
	t.Parallel()

	nested := func(n int) string { return strings.Repeat("[", n) + "1" + strings.Repeat("]", n) }
	const d0 = `"$ref":"#/$defs/d0"`
	twice := `"$defs":{"d0":{"type":"array","items":{"$ref":"#/$defs/d0"},"contains":{"$ref":"#/$defs/d0"}}}`
	patterns := make([]string, 50)
	for i := range patterns {
		patterns[i] = fmt.Sprintf(`"^%s":{"$ref":"#"}`, strings.Repeat("a?", i))
	}
	tests := map[string]struct{ schema, args string }{
		"2^60 by allOf":            {doubling(d0, "allOf", `{"type":"object"}`), `{}`},
		"2^60 by allOf, all wrong": {doubling(d0, "allOf", `{"type":"string"}`), `{}`},
		"2^60 by anyOf, all wrong": {doubling(d0, "anyOf", `{"type":"string"}`), `{}`},
		"2^60 by oneOf":            {doubling(d0, "oneOf", `{"type":"object"}`), `{}`},
		"2^60 below not":           {doubling(`"not":{"$ref":"#/$defs/d0"}`, "anyOf", `{"type":"string"}`), `{}`},
		"2^100 by items":           {`{` + d0 + `,` + twice + `}`, nested(100)},
		"2^100 by items below not": {`{"not":{` + d0 + `},` + twice + `}`, nested(100)},
		"50^100 by patterns": {
			`{"patternProperties":{` + strings.Join(patterns, ",") + `}}`,
			strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100),
		},
		"a $ref to itself":     {`{"$ref":"#"}`, `{}`},
		"a circle of allOf":    {`{"allOf":[{"allOf":[{"$ref":"#"}]}]}`, `{}`},
		"a circle below not":   {`{"not":{"$ref":"#"}}`, `{}`},
		"a pattern that grows": {`{"properties":{"p":{"pattern":"((a{100}){100}){100}"}}}`, `{"p":"` + strings.Repeat("a", 1<<20) + `"}`},
		"a slow pattern":       {`{"properties":{"p":{"pattern":"(x?){1000}(a|aa|aaa)*$"}}}`, `{"p":"` + strings.Repeat("a", 1<<20) + `b"}`},
		"a million wrong items": {
			`{"properties":{"l":{"items":{"type":"string"}}}}`, `{"l":[` + strings.Repeat("1,", 200_000) + `1]}`,
		},
		"too many values": {`{"properties":{"l":{"uniqueItems":true}}}`, `{"l":[` + strings.Repeat("1,", 1_000_000) + `1]}`},
		"numbers of a million digits": {
			`{"properties":{"l":{"uniqueItems":true,"items":{"type":"integer","multipleOf":3,"minimum":1}}}}`,
			`{"l":[` + strings.Repeat("1e999999,", 50_000) + `1]}`,
		},
		"a huge exponent":  {`{"properties":{"n":{"type":"integer","minimum":1}}}`, `{"n":1e99999999999999999999}`},
		"deep arguments":   {`{"type":"object"}`, nested(100_000)},
		"broken arguments": {`{"type":"object"}`, `{"a":`},
		"many unknown":     {`{"additionalProperties":false}`, manyMembers(50_000)},
		"many secrets":     {`{"additionalProperties":{"writeOnly":true,"type":"string","maxLength":0}}`, manyMembers(50_000)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			within(t, func() {
				if n := len(compile(t, test.schema).Check(context.Background(), []byte(test.args))); n > 20 {
					t.Errorf("%d violations", n)
				}
			})
		})
	}
}

func manyMembers(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"name%d":"%d"`, i, i)
	}
	return "{" + strings.Join(members, ",") + "}"
}

func TestFaultsBeforeTheEndOfStepsAreReported(t *testing.T) {
	t.Parallel()

	schema := doubling(`"properties":{"a":{"type":"string"},"b":{"$ref":"#/$defs/d0"}}`, "allOf", `{"type":"number"}`)
	got := lines(compile(t, schema).Check(context.Background(), []byte(`{"a":1,"b":2}`)))
	if len(got) != 1 || !strings.HasPrefix(got[0], "/a type") {
		t.Errorf("got violations %q, want one of /a", got)
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()

	wide := func(n int) string {
		return `{"allOf":[` + strings.Repeat("{},", n) + `{}]}`
	}
	tests := map[string]string{
		"empty":               ``,
		"half an object":      `{`,
		"a duplicate member":  `{"type":"object","type":"string"}`,
		"an invalid schema":   `{"type":7}`,
		"a text":              `"object"`,
		"a file":              `{"$ref":"file:///etc/passwd"}`,
		"a page":              `{"$ref":"http://127.0.0.1:1/schema.json"}`,
		"a relative page":     `{"properties":{"a":{"$ref":"schema.json"}}}`,
		"a page by its id":    `{"$id":"http://127.0.0.1:1/","$ref":"schema.json"}`,
		"a foreign draft":     `{"$schema":"http://127.0.0.1:1/draft"}`,
		"a dangling $ref":     `{"$ref":"#/$defs/none"}`,
		"too long":            `{"description":"` + strings.Repeat("x", 1<<20) + `"}`,
		"too deep":            strings.Repeat(`{"not":`, 200) + "{}" + strings.Repeat("}", 200),
		"too wide":            wide(5000),
		"names that multiply": `{"properties":{"` + strings.Repeat("x", 1<<19) + `":` + wide(1000) + `}}`,
		"a number too long":   `{"maximum":1e999999}`,
		"dynamic references across resources": `{"$dynamicRef":"#x","$dynamicAnchor":"x",` +
			`"$defs":{"a":{"$id":"urn:a","$dynamicAnchor":"x"},"b":{"$ref":"urn:a"}},"$ref":"#/$defs/b"}`,
	}
	for name, schema := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			within(t, func() {
				if _, err := args.Compile([]byte(schema), nil); err == nil {
					t.Error("accepted")
				}
			})
		})
	}
}

func TestCompileAtItsBounds(t *testing.T) {
	t.Parallel()

	refs := make([]string, 900)
	for i := range refs {
		refs[i] = fmt.Sprintf(`"p%d":{"$ref":"#/x/%d"}`, i, i)
	}
	ids := make([]string, 1800)
	for i := range ids {
		ids[i] = fmt.Sprintf(`"p%d":{"$id":"urn:x:%d"}`, i, i)
	}
	tests := map[string]string{
		"objects":            `{"allOf":[` + strings.Repeat("{},", 3900) + `{}]}`,
		"references outside": `{"properties":{` + strings.Join(refs, ",") + `},"x":[` + strings.Repeat(`{"type":"string"},`, 900) + `{}]}`,
		"resources":          `{"properties":{` + strings.Join(ids, ",") + `}}`,
	}
	for name, schema := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			within(t, func() {
				compile(t, schema)
			})
		})
	}
}
