package contractdoc_test

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/docs/contractdoc"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// Everything that a contract writes matches its schema, wherever it is in the result.
func TestSchemaAcceptsEveryAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range contracttest.Every(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			object, defs := compileSchema(t, c)
			written := 0
			all := append(contracttest.Records(), recourse.NotFound("field", "x").WithHint("a\nb").WithDetail("note", 1))
			for i := 0; i < len(all); i += 11 { // some of every kind
				e := all[len(all)-1-i]
				for name, call := range contracttest.Calls() {
					call.FormatArgument, call.Arguments = true, []byte(`{"format":"json"}`)
					a := c.Write(e, &call)
					if a.Surface != contract.SurfaceResult {
						continue
					}
					written++
					for place, raw := range standing(t, a.Result) {
						schema := object
						if _, isText := raw.(string); isText {
							schema = defs["text"]
						} else if returned := defs[call.Tool]; returned != nil {
							schema = returned
						}
						if schema == nil {
							continue
						}
						if err := schema.Validate(raw); err != nil {
							t.Fatalf("%s %s, %s: %v\n%s", e.Kind, name, place, err, a.Result)
						}
					}
				}
			}
			if written == 0 {
				t.Error("nothing was written")
			}
		})
	}
}

// standing returns the contract's part of a result: an object, or a line.
func standing(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	result, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	members, _ := result.(map[string]any)
	found := map[string]any{}
	for _, name := range []string{"structuredContent", "error"} {
		if object, ok := members[name]; ok {
			found[name] = object
		}
	}
	var content struct {
		Content []struct{ Text string }
	}
	contracttest.Unmarshal(t, raw, &content)
	text := content.Content[0].Text
	if object, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text))); err == nil {
		found["text"] = object
	} else {
		found["text"] = text
	}
	return found
}

// compileSchema returns the schema of the object and those in $defs: of the text, if it is a line, and of the tools
// that return their failures.
func compileSchema(t *testing.T, c *contract.Contract) (object *jsonschema.Schema, defs map[string]*jsonschema.Schema) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(contractdoc.Schema(c)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	const url = "urn:contract"
	if err := compiler.AddResource(url, doc); err != nil {
		t.Fatal(err)
	}
	object = compiler.MustCompile(url)
	var schema struct {
		Defs map[string]any `json:"$defs"`
	}
	contracttest.Unmarshal(t, contractdoc.Schema(c), &schema)
	defs = map[string]*jsonschema.Schema{}
	for name := range schema.Defs {
		defs[name] = compiler.MustCompile(url + "#/$defs/" + name)
	}
	return object, defs
}

// The schema refuses what the contract never writes.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"fieldmcp": `{"error":false,"code":"FIELD_NOT_FOUND","message":"x","retryable":false}`,
		"recourse": `{"v":2,"kind":"timeout","retry":"never"}`,
	} {
		object, _ := compileSchema(t, contract.MustBuiltin(name))
		var v any
		contracttest.Unmarshal(t, []byte(raw), &v)
		if object.Validate(v) == nil {
			t.Errorf("%s takes %s", name, raw)
		}
	}
	_, defs := compileSchema(t, contract.MustBuiltin("recourse"))
	if defs["text"] == nil || defs["text"].Validate("no code here") == nil {
		t.Error("the schema accepts any text")
	}
}
