package args_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/call/args"
)

// Of a schema that is too large, the outermost level is checked; what the whole schema allows is never refused.
func TestCompileOutermost(t *testing.T) {
	t.Parallel()
	deep := make([]string, 5000)
	for i := range deep {
		deep[i] = fmt.Sprintf(`"p%d":{"type":"string"}`, i)
	}
	const form = `{"type":"object","required":["id"],"additionalProperties":false,"allOf":[{"required":["never"]}],"properties":{` +
		`"id":{"type":"string","minLength":2},"state":{"enum":["open","done"]},"any":{"$ref":"#/$defs/x","type":"number"},` +
		`"more":{"type":"object","additionalProperties":false,"properties":{%s}}}}`
	large := fmt.Appendf(nil, form, strings.Join(deep, ","))
	for name, schema := range map[string][]byte{"objects": large, "bytes": append(large, make([]byte, 0)...)} {
		if name == "bytes" {
			schema = []byte(strings.Replace(string(large), `{"type"`, `{"description":"`+strings.Repeat("d", args.MaxSchema)+`","type"`, 1))
		}
		if _, err := args.Compile(schema, nil); !errors.Is(err, args.ErrTooLarge) {
			t.Fatalf("%s: got %v", name, err)
		}
		s, err := args.CompileOutermost(schema, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for arguments, violations := range map[string]int{
			`{"id":"A-1","state":"open","any":"text","more":{"p7":1,"unknown":2}}`: 0,
			`{}`: 1, `{"id":"A"}`: 1, `{"id":7,"state":"shut","extra":1}`: 3, `{"id":"A-1","more":1}`: 1,
		} {
			if got := s.Check(t.Context(), []byte(arguments)); len(got) != violations {
				t.Errorf("%s: %s: got %+v", name, arguments, got)
			}
		}
	}
	for _, schema := range []string{`{`, `{"properties":{` + strings.Join(deep, ",") + `}}`} {
		if s, err := args.CompileOutermost([]byte(schema), nil); err == nil {
			t.Errorf("got %+v for %.40s", s, schema)
		}
	}
	for _, schema := range []string{`true`, `{"$ref":"#/x","required":["a"]}`, `{"patternProperties":{"^a":{}},"additionalProperties":false}`} {
		s, err := args.CompileOutermost([]byte(schema), nil)
		if err != nil || len(s.Check(t.Context(), []byte(`{"abc":1}`))) > 0 {
			t.Errorf("%s refuses a call: %v", schema, err)
		}
	}
}
