package openapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/call/args"
)

// OpenAPI's own keywords are translated to JSON Schema.
func TestSchema(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ schema, components, want string }{
		"nullable":             {`{type: string, nullable: true, enum: [a]}`, "", `{"enum":["a",null],"type":["string","null"]}`},
		"a nullable choice":    {`{nullable: true, anyOf: [{type: string}]}`, "", `{"anyOf":[{"anyOf":[{"type":"string"}]},{"type":"null"}]}`},
		"an exclusive minimum": {`{type: number, minimum: 1.50, exclusiveMinimum: true}`, "", `{"exclusiveMinimum":1.50,"type":"number"}`},
		"an inclusive maximum": {`{type: number, maximum: 2, exclusiveMaximum: false}`, "", `{"maximum":2,"type":"number"}`},
		"annotations":          {`{type: string, example: a, xml: {name: b}, x-own: 1, externalDocs: {url: c}}`, "", `{"type":"string"}`},
		"read only": {
			`{type: object, required: [id, a], properties: {id: {type: string, readOnly: true}, a: {type: string}}}`, "",
			`{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`,
		},
		"read only by reference": {
			`{type: object, properties: {id: {$ref: '#/components/schemas/Id'}}}`, `schemas: {Id: {type: string, readOnly: true}}`,
			`{"properties":{},"type":"object"}`,
		},
		"write only":    {`{type: string, writeOnly: true, format: password}`, "", `{"format":"password","type":"string","writeOnly":true}`},
		"a large enum":  {`{type: string, enum: [` + strings.Repeat("x, ", 600) + `y]}`, "", `{"description":"One of 601 values, such as [\"x\",\"x\",\"x\"].","type":"string"}`},
		"a flag of 2.0": {`{type: string, required: true}`, "", `{"type":"string"}`},
		"a discriminator": {
			`{oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}], discriminator: {propertyName: kind, mapping: {hound: '#/components/schemas/Dog'}}}`,
			`schemas: {Cat: {type: object}, Dog: {type: object}}`,
			`{"oneOf":[{"allOf":[{"$ref":"#/$defs/Cat"}],"properties":{"kind":{"enum":["Cat"]}},"required":["kind"]},` +
				`{"allOf":[{"$ref":"#/$defs/Dog"}],"properties":{"kind":{"enum":["hound"]}},"required":["kind"]}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := string(compile(t, takes(tt.schema, tt.components)).Tools[0].InputSchema)
			want := `{"body":{"allOf":[` + tt.want + `],"description":"The body of the request."}}`
			if !strings.Contains(schema, want) {
				t.Errorf("got %s, want %s", schema, want)
			}
		})
	}
}

// An invalid schema makes no tool, and the message says where it is.
func TestSchemaMistakes(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{type: 5}`:                     "`type` has a value of the wrong type",
		`{type: file}`:                  "`type` has a value of the wrong type",
		`{properties: {a: {items: 7}}}`: "properties/a: items: a schema must be a mapping",
		`{minLength: -1}`:               "`minLength` has a value of the wrong type",
		`{enum: none}`:                  "`enum` must be a list of values",
		`{required: {a: 1}}`:            "`required` must be a list of names",
		`{allOf: []}`:                   "`allOf` must be a list of schemas",
		`{$ref: 'https://example.com/other.json'}`: "leads out of the description",
		`{$ref: 'other.yaml#/Thing'}`:              "leads out of the description",
		`{$ref: '#/components/schemas/None'}`:      "leads nowhere",
		`{$ref: '#anchor'}`:                        "is not a path",
		`{$dynamicRef: '#x'}`:                      "`$dynamicRef` is not supported",
		`{$ref: '#/components/schemas/Round'}`:     "others in a row",
	} {
		if got := refusal(t, takes(schema, `schemas: {Round: {$ref: '#/components/schemas/Round'}}`)); !strings.Contains(got, want) {
			t.Errorf("%s: %s", schema, got)
		}
	}
}

// Schemas with cyclic references become definitions, which the validator of arguments accepts.
func TestCycles(t *testing.T) {
	t.Parallel()
	api := compile(t, takes(`{$ref: '#/components/schemas/Node'}`, `
schemas:
  Node: {type: object, properties: {next: {$ref: '#/components/schemas/Node'}, other: {$ref: '#/components/schemas/Other'}}}
  Other: {type: array, items: {$ref: '#/components/schemas/Node'}}`))
	schema, err := args.Compile(api.Tools[0].InputSchema, nil)
	if err != nil {
		t.Fatal(err)
	}
	if found := schema.Check(context.Background(), []byte(`{"body":{"next":{"other":[{"next":1}]}}}`)); len(found) != 1 ||
		found[0].Pointer != "/body/next/other/0/next" {
		t.Errorf("%+v", found)
	}
}

// A tool's input schema is limited in size, the nearest parts first, however many references there are.
func TestLargeSchemas(t *testing.T) {
	t.Parallel()
	var components strings.Builder
	components.WriteString("schemas:\n")
	for i := range 300 {
		fmt.Fprintf(&components, "  S%d:\n    type: object\n    properties:\n", i)
		for j := range 40 {
			fmt.Fprintf(&components, "      p%d: {$ref: '#/components/schemas/S%d'}\n", j, (i*7+j)%300)
		}
	}
	api := compile(t, takes(`{$ref: '#/components/schemas/S0'}`, components.String()))
	schema := api.Tools[0].InputSchema
	if len(schema) > 64<<10 || !strings.Contains(string(schema), `"S0":{"properties"`) {
		t.Errorf("%d bytes: %.200s", len(schema), schema)
	}
	if _, err := args.Compile(schema, nil); err != nil {
		t.Error(err)
	}
}

// Version 3.1 uses JSON Schema itself.
func TestNewVersion(t *testing.T) {
	t.Parallel()
	text := strings.Replace(takes(`{$ref: '#/components/schemas/A', description: near}`,
		`schemas: {A: {type: [string, 'null'], const: a, exclusiveMinimum: 3, $defs: {B: {type: string}}, examples: [a]}}`), "3.0.3", "3.1.0", 1)
	schema := string(compile(t, text).Tools[0].InputSchema)
	for _, want := range []string{`{"$ref":"#/$defs/A","description":"near"}`, `{"const":"a","exclusiveMinimum":3,"type":["string","null"]}`} {
		if !strings.Contains(schema, want) {
			t.Errorf("no %s in %s", want, schema)
		}
	}
}
