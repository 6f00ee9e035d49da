package args_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/recoursehq/recourse/internal/call/args"
)

// drawSchema draws a schema with any of the evaluated keywords, over few names and values, so that rules interact.
// References go to ref or into a member, so that none leads back to itself.
func drawSchema(t *rapid.T, depth int, ref string) any {
	if depth == 0 || rapid.IntRange(0, 9).Draw(t, "leaf") == 0 {
		return rapid.SampledFrom([]any{
			true, false,
			map[string]any{},
			map[string]any{"type": "integer"},
			map[string]any{"type": "string"},
			map[string]any{"properties": map[string]any{"c": map[string]any{"$ref": "#"}}},
			map[string]any{"$ref": ref},
		}).Draw(t, "schema")
	}
	sub := func() any { return drawSchema(t, depth-1, ref) }
	subs := func() any {
		list := []any{sub()}
		for range rapid.IntRange(0, 2).Draw(t, "more") {
			list = append(list, sub())
		}
		return list
	}
	name := func() string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name") }
	small := func() any { return rapid.IntRange(0, 3).Draw(t, "small") }
	schema := map[string]any{}
	keywords := map[string]func() any{
		"type":                  func() any { return rapid.SampledFrom(types).Draw(t, "type") },
		"enum":                  func() any { return []any{drawValue(t, 1), drawValue(t, 1)} },
		"const":                 func() any { return drawValue(t, 1) },
		"allOf":                 subs,
		"anyOf":                 subs,
		"oneOf":                 subs,
		"not":                   sub,
		"if":                    sub,
		"then":                  sub,
		"else":                  sub,
		"properties":            func() any { return map[string]any{name(): sub(), name(): sub()} },
		"patternProperties":     func() any { return map[string]any{"^[ab]": sub(), "c": sub()} },
		"additionalProperties":  sub,
		"propertyNames":         func() any { return map[string]any{"enum": []any{name(), name()}} },
		"required":              func() any { return []any{name()} },
		"minProperties":         small,
		"maxProperties":         small,
		"dependentRequired":     func() any { return map[string]any{name(): []any{name()}} },
		"dependentSchemas":      func() any { return map[string]any{name(): sub()} },
		"dependencies":          func() any { return map[string]any{name(): sub(), "c": []any{name()}} },
		"unevaluatedProperties": sub,
		"prefixItems":           subs,
		"items":                 sub,
		"additionalItems":       sub,
		"contains":              sub,
		"minContains":           small,
		"maxContains":           small,
		"unevaluatedItems":      sub,
		"minItems":              small,
		"maxItems":              small,
		"uniqueItems":           func() any { return true },
		"minLength":             small,
		"maxLength":             small,
		"pattern":               func() any { return "^x|b$" },
		"minimum":               small,
		"maximum":               func() any { return 1.5 },
		"exclusiveMinimum":      small,
		"exclusiveMaximum":      func() any { return 2.50 },
		"multipleOf":            func() any { return 0.5 },
	}
	for range rapid.IntRange(1, 4).Draw(t, "keywords") {
		keyword := rapid.SampledFrom(keywordNames).Draw(t, "keyword")
		schema[keyword] = keywords[keyword]()
	}
	return schema
}

var (
	types        = []string{"null", "boolean", "integer", "number", "string", "array", "object"}
	keywordNames = strings.Fields(`type enum const allOf anyOf oneOf not if then else properties patternProperties additionalProperties
		propertyNames required minProperties maxProperties dependentRequired dependentSchemas dependencies unevaluatedProperties
		prefixItems items additionalItems contains minContains maxContains unevaluatedItems minItems maxItems uniqueItems
		minLength maxLength pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf`)
)

func drawValue(t *rapid.T, depth int) any {
	kinds := 8
	if depth == 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds).Draw(t, "value") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2, 3:
		return json.Number(rapid.SampledFrom([]string{"0", "1", "1.0", "10e-1", "2", "2.5", "-1", "0.1", "1e2"}).Draw(t, "number"))
	case 4, 5:
		return rapid.SampledFrom([]string{"", "a", "b", "xyz", "äb"}).Draw(t, "text")
	case 6:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	default:
		object := map[string]any{}
		for _, name := range []string{"a", "b", "c", "d"} {
			if rapid.Bool().Draw(t, "has") {
				object[name] = drawValue(t, depth-1)
			}
		}
		return object
	}
}

// TestVerdicts compares the verdicts with those of the library that compiles schemas.
func TestVerdicts(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		schema, ok := drawSchema(t, 3, "#/$defs/d").(map[string]any)
		if !ok {
			return
		}
		schema["$defs"] = map[string]any{"d": drawSchema(t, 2, "#/$defs/e"), "e": drawSchema(t, 0, "#/$defs/f"), "f": true}
		schema["$schema"] = rapid.SampledFrom([]string{
			"https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema", "http://json-schema.org/draft-07/schema#",
		}).Draw(t, "draft")
		doc := marshal(t, schema)
		value := marshal(t, drawValue(t, 3))

		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("urn:tool", unmarshal(t, doc)); err != nil {
			t.Fatal(err)
		}
		theirs, err := compiler.Compile("urn:tool")
		ours, ourErr := args.Compile(doc, nil)
		if (err == nil) != (ourErr == nil) {
			t.Fatalf("compile %s: library: %v, args: %v", doc, err, ourErr)
		}
		if err != nil {
			return
		}
		err = theirs.Validate(unmarshal(t, value))
		violations := ours.Check(context.Background(), value)
		if (err == nil) != (len(violations) == 0) {
			t.Fatalf("schema %s\nvalue %s\nlibrary: %v\nargs: %v", doc, value, err, lines(violations))
		}
	})
}

func marshal(t *rapid.T, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func unmarshal(t *rapid.T, b []byte) any {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(orderSchema), []byte(`{"order":{"items":[{"sku":"a"}]},"limit":1e3,"statu":""}`))
	f.Add([]byte(`{"oneOf":[{"required":["a"]},{"type":["string","null"]},{"const":1e400}]}`), []byte(`{"a":"\ud800","b":-0.0e-9}`))
	f.Add([]byte(`{"$ref":"#/$defs/a","$defs":{"a":{"not":{"pattern":"(?=a)\\Z","format":"uri"}}}}`), []byte(`"\u0000"`))
	f.Add([]byte(`{"properties":{"a":{"contains":false,"unevaluatedItems":false}},"patternProperties":{"":true}}`), []byte(`{"a":[{}]}`))
	f.Fuzz(func(t *testing.T, schema, arguments []byte) {
		s, err := args.Compile(schema, nil)
		if err != nil {
			return
		}
		violations := s.Check(context.Background(), arguments)
		if len(violations) > 20 {
			t.Errorf("%d violations", len(violations))
		}
		level, err := args.CompileOutermost(schema, nil)
		if err == nil && len(violations) == 0 && len(level.Check(context.Background(), arguments)) > 0 {
			t.Error("the outermost level refuses what the whole allows")
		}
		for _, v := range violations {
			if v.Message == "" || v.Rule == "" || len([]rune(string(v.Got))) > 128 || v.Got != nil && !json.Valid(v.Got) {
				t.Errorf("violation %+v", v)
			}
		}
		if len(violations) > 0 {
			if _, err := json.Marshal(args.Error("t", violations)); err != nil {
				t.Error(err)
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	s := compile(b, `{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer","minimum":0}},"required":["text"],"additionalProperties":false}`)
	arguments := []byte(`{"text":"` + strings.Repeat("x", 1000) + `","n":7}`)
	b.ReportAllocs()
	for b.Loop() {
		if s.Check(context.Background(), arguments) != nil {
			b.Fatal("valid arguments were refused")
		}
	}
}
