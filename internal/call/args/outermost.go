package args

import (
	"slices"
	"strings"
)

// maxOutermost is the size in bytes of the largest schema of which the outermost level is compiled.
const maxOutermost = 2 << 20

// CompileOutermost prepares the outermost level of an inputSchema that is too large for [Compile]: which arguments there are, which
// of them are required, and what each has to be by itself. It refuses less than the whole schema does, and nothing else.
func CompileOutermost(inputSchema []byte, budget *Budget) (*Schema, error) {
	return compileWithin(inputSchema, maxOutermost, budget, outermost)
}

// alone are the keywords that say something of a value by themselves.
var alone = strings.Fields("type enum const nullable format pattern writeOnly minimum maximum exclusiveMinimum exclusiveMaximum " +
	"multipleOf minLength maxLength minItems maxItems uniqueItems minProperties maxProperties")

func outermost(doc any) any {
	whole, ok := doc.(map[string]any)
	if !ok || refers(whole) {
		return map[string]any{}
	}
	level := only(whole, append(slices.Clip(alone), "$schema", "required"))
	if closed := whole["additionalProperties"]; closed == false && whole["patternProperties"] == nil {
		level["additionalProperties"] = closed
	}
	properties, _ := whole["properties"].(map[string]any)
	simple := make(map[string]any, len(properties))
	for name, property := range properties {
		switch property := property.(type) {
		case map[string]any:
			simple[name] = only(property, alone)
			if refers(property) {
				simple[name] = map[string]any{}
			}
		default:
			simple[name] = property
		}
	}
	if properties != nil {
		level["properties"] = simple
	}
	return level
}

// refers reports whether a schema consists of a reference: older drafts ignore what stands beside it.
func refers(schema map[string]any) bool { return schema["$ref"] != nil }

// only returns the members of a schema with those names.
func only(schema map[string]any, names []string) map[string]any {
	kept := map[string]any{}
	for _, name := range names {
		if value, ok := schema[name]; ok {
			kept[name] = value
		}
	}
	return kept
}
