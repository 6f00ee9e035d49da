package openapi

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	// maxSchema limits the schema of a tool, in bytes, and usualSchema the descriptions in it, beyond
	// the names of its arguments: a model reads all of it in each conversation.
	maxSchema   = 64 << 10
	usualSchema = 16 << 10
	// maxSchemas limits the schemas of all tools together; the gateway reads lists of up to 4 MiB.
	maxSchemas = 2 << 20
	// leastBudget is the smallest budget for a schema.
	leastBudget = 64
	// maxEnum limits the values that a schema lists.
	maxEnum = 500
	// nodeSize is the approximate size of an object in a schema besides its texts, in bytes.
	nodeSize = 24
)

// keyType is the keyword for the type of a value.
const keyType = "type"

// A converter converts OpenAPI schemas to JSON Schema draft 2020-12. Targets of references become
// definitions, so cycles do no harm. Once the budget is spent, the rest is described as anything; the
// levels closest to the root come first.
type converter struct {
	doc    *document
	output bool // the schema is for answers

	left    int               // approximate bytes
	names   map[string]string // of definitions, by reference
	taken   map[string]bool
	defs    map[string]any
	pending []string // references that still need a definition
}

func newConverter(doc *document, budget int, output bool) *converter {
	return &converter{doc: doc, output: output, left: budget, names: map[string]string{}, taken: map[string]bool{}, defs: map[string]any{}}
}

// define adds the definitions that are still missing.
func (c *converter) define() error {
	for len(c.pending) > 0 {
		ref := c.pending[0]
		c.pending = c.pending[1:]
		v, err := c.doc.schemaAt(ref)
		if err != nil {
			return err
		}
		if err := c.checkCycle(ref); err != nil {
			return err
		}
		if c.defs[c.names[ref]], err = c.schema(v); err != nil {
			return fmt.Errorf("%s: %w", clip(ref, maxTitle), err)
		}
	}
	return nil
}

// checkCycle refuses a reference that leads back to itself through references only, since it means nothing.
func (c *converter) checkCycle(ref string) error {
	for range maxHops {
		v, err := c.doc.schemaAt(ref)
		if err != nil {
			return err
		}
		members, _ := v.(map[string]any)
		next, isRef := members["$ref"].(string)
		if !isRef {
			return nil
		}
		ref = next
	}
	return fmt.Errorf("the reference %q leads to more than %d others in a row", clip(ref, maxTitle), maxHops)
}

// reference returns the schema for a reference.
func (c *converter) reference(ref string) map[string]any {
	name, known := c.names[ref]
	if !known {
		name = c.definition(ref)
		c.names[ref], c.taken[name] = name, true
		c.pending = append(c.pending, ref)
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

// definition returns an unused name for the target of a reference.
func (c *converter) definition(ref string) string {
	name := toName(ref[strings.LastIndexByte(ref, '/')+1:])
	if name = name[:min(len(name), MaxName)]; name == "" {
		name = "schema"
	}
	for i, base := 2, name; c.taken[name]; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	return name
}

var errSchema = errors.New("a schema must be a mapping")

// schema converts a schema.
func (c *converter) schema(v any) (any, error) {
	if allows, ok := v.(bool); ok {
		return allows, nil
	}
	from, ok := v.(map[string]any)
	if !ok {
		return nil, errSchema
	}
	if c.left -= nodeSize; c.left < 0 {
		return map[string]any{}, nil
	}
	to := map[string]any{}
	if ref, ok := from["$ref"].(string); ok {
		to = c.reference(ref)
		if c.doc.old { // keywords beside it are ignored
			return to, nil
		}
	}
	for _, key := range slices.Sorted(maps.Keys(from)) {
		if err := c.keyword(to, key, from[key]); err != nil {
			return nil, err
		}
	}
	if err := c.members(to, from); err != nil {
		return nil, err
	}
	if err := c.branches(to, from); err != nil {
		return nil, err
	}
	if c.doc.old {
		modernise(to, from)
	}
	return to, nil
}

// Keywords that are kept unchanged, by the type of their value.
var (
	numberWords = words("maximum minimum exclusiveMaximum exclusiveMinimum multipleOf")
	countWords  = words("maxLength minLength maxItems minItems maxProperties minProperties maxContains minContains")
	flagWords   = words("uniqueItems writeOnly deprecated")
	textWords   = words("pattern format")
	schemaWords = words("items additionalProperties not if then else contains propertyNames unevaluatedProperties unevaluatedItems")
	listWords   = words("allOf anyOf prefixItems")
	mapWords    = words("patternProperties dependentSchemas")
	elsewhere   = words("$id $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor")
)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

// keyword converts one keyword. Keywords that say nothing about values are dropped.
func (c *converter) keyword(to map[string]any, key string, value any) error {
	fits := true
	switch {
	case elsewhere[key]:
		return fmt.Errorf("`%s` is not supported in schemas", key)
	case numberWords[key]:
		_, isFlag := value.(bool) // in version 3.0
		_, fits = value.(stdjson.Number)
		fits = fits || isFlag && strings.HasPrefix(key, "exclusive")
	case countWords[key]:
		number, ok := value.(stdjson.Number)
		fits = ok && strings.Trim(string(number), "0123456789") == ""
	case flagWords[key]:
		_, fits = value.(bool)
	case textWords[key]:
		_, fits = value.(string)
	case schemaWords[key]:
		inner, err := c.schema(value)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		to[key] = inner
		return nil
	case listWords[key]:
		return c.list(to, key, value)
	case mapWords[key]:
		return c.mapping(to, key, value)
	case key == "description":
		text, ok := value.(string)
		if ok && text != "" {
			text = plain(text, maxNote)
			to[key] = text
			c.left -= len(text)
		}
		return nil
	case key == keyType:
		fits = isType(value)
	case key == "enum":
		return c.enum(to, value)
	case key == "const", key == "default":
		if len(toJSON(value)) > maxNote { // useless to a model
			return nil
		}
	case key == "dependentRequired":
		_, fits = value.(map[string]any)
	default:
		return nil
	}
	if !fits {
		return fmt.Errorf("`%s` has a value of the wrong type", key)
	}
	to[key] = value
	return nil
}

var types = words("string number integer boolean array object null")

func isType(value any) bool {
	if text, ok := value.(string); ok {
		return types[text]
	}
	list, ok := value.([]any)
	return ok && len(list) > 0 && !slices.ContainsFunc(list, func(v any) bool {
		text, ok := v.(string)
		return !ok || !types[text]
	})
}

func (c *converter) list(to map[string]any, key string, value any) error {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return fmt.Errorf("`%s` must be a list of schemas", key)
	}
	converted := make([]any, len(list))
	for i, v := range list {
		inner, err := c.schema(v)
		if err != nil {
			return fmt.Errorf("%s/%d: %w", key, i, err)
		}
		converted[i] = inner
	}
	to[key] = converted
	return nil
}

func (c *converter) mapping(to map[string]any, key string, value any) error {
	members, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("`%s` must be a mapping", key)
	}
	converted := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		c.left -= len(name)
		inner, err := c.schema(members[name])
		if err != nil {
			return fmt.Errorf("%s/%s: %w", key, clip(name, maxTitle), err)
		}
		converted[name] = inner
	}
	to[key] = converted
	return nil
}

// enum keeps the values, unless there are too many to be useful: then only the provider checks them.
func (c *converter) enum(to map[string]any, value any) error {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return errors.New("`enum` must be a list of values")
	}
	if size := len(toJSON(list)); len(list) <= maxEnum && size <= max(c.left, maxNote) {
		to["enum"] = list
		c.left -= size
		return nil
	}
	first := toJSON(list[:min(len(list), 3)])
	if _, described := to["description"]; !described {
		to["description"] = clip(fmt.Sprintf("One of %d values, such as %s.", len(list), first), maxNote)
	}
	return nil
}

// members converts the properties of an object. Those that only the other side sets are dropped.
func (c *converter) members(to, from map[string]any) error {
	hidden := map[string]bool{}
	if value, ok := from["properties"]; ok {
		properties, ok := value.(map[string]any)
		if !ok {
			return errors.New("`properties` must be a mapping")
		}
		shown := map[string]any{}
		for name, property := range properties {
			if hidden[name] = c.hides(property); !hidden[name] {
				shown[name] = property
			}
		}
		if err := c.mapping(to, "properties", shown); err != nil {
			return err
		}
	}
	value, ok := from["required"]
	if _, isFlag := value.(bool); !ok || isFlag { // a common mistake, without a meaning here
		return nil
	}
	names, ok := value.([]any)
	if !ok {
		return errors.New("`required` must be a list of names")
	}
	required := []any{}
	for _, name := range names {
		text, ok := name.(string)
		if !ok {
			return errors.New("`required` must be a list of names")
		}
		if !hidden[text] && !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	if len(required) > 0 {
		to["required"] = required
	}
	return nil
}

// hides reports whether only the other side sets a property.
func (c *converter) hides(property any) bool {
	key := "readOnly"
	if c.output {
		key = "writeOnly"
	}
	for members := range c.doc.chain(property) {
		if hidden, _ := members[key].(bool); hidden {
			return true
		}
	}
	return false
}

// branches converts oneOf. With a discriminator, each branch says which of its values belong to it,
// since the schemas themselves are often hard to tell apart.
func (c *converter) branches(to, from map[string]any) error {
	value, ok := from["oneOf"]
	if !ok {
		return nil
	}
	if err := c.list(to, "oneOf", value); err != nil {
		return err
	}
	discriminator, _ := from["discriminator"].(map[string]any)
	property, ok := discriminator["propertyName"].(string)
	if !ok || property == "" {
		return nil
	}
	mapping, _ := discriminator["mapping"].(map[string]any)
	converted, _ := to["oneOf"].([]any)
	branches, _ := value.([]any)
	for i, branch := range branches {
		members, _ := branch.(map[string]any)
		ref, ok := members["$ref"].(string)
		if !ok {
			return nil
		}
		names := namesOf(ref, mapping)
		converted[i] = map[string]any{
			"allOf":      []any{converted[i]},
			"properties": map[string]any{property: map[string]any{"enum": names}},
			"required":   []any{property},
		}
	}
	return nil
}

// namesOf returns the discriminator's values for a schema.
func namesOf(ref string, mapping map[string]any) []any {
	own := ref[strings.LastIndexByte(ref, '/')+1:]
	var names []any
	for _, name := range slices.Sorted(maps.Keys(mapping)) {
		if target := mapping[name]; target == ref || target == own {
			names = append(names, name)
		}
	}
	if names == nil {
		names = []any{own}
	}
	return names
}

// modernise converts what is specific to version 3.0.
func modernise(to, from map[string]any) {
	for _, bound := range []struct{ flag, limit string }{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		exclusive, isFlag := to[bound.flag].(bool)
		if !isFlag {
			continue
		}
		delete(to, bound.flag)
		if limit, ok := to[bound.limit]; ok && exclusive {
			to[bound.flag] = limit
			delete(to, bound.limit)
		}
	}
	if nullable, _ := from["nullable"].(bool); !nullable {
		return
	}
	if values, ok := to["enum"].([]any); ok && !slices.Contains(values, nil) {
		to["enum"] = append(slices.Clone(values), nil)
	}
	if kind, ok := to[keyType].(string); ok {
		to[keyType] = []any{kind, "null"}
		return
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		if branch, ok := to[key]; ok { // the rest applies to null as well
			delete(to, key)
			to["anyOf"] = []any{map[string]any{key: branch}, map[string]any{keyType: "null"}}
			return
		}
	}
}
