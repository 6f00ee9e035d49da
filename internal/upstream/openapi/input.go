package openapi

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// places are the places of arguments, in the order in which they are named.
var places = []string{inPath, inQuery, inHeader, inCookie, inBody}

// An input is the input of a tool while it is built.
type input struct {
	conv       *converter
	properties map[string]any
	required   []string
	params     []*param
}

// input adds the input of a tool, with descriptions of about usual bytes. If the schema is too large,
// it is rebuilt with less.
func (b *builder) input(t *Offer, o *operation, usual int) error {
	declared, err := b.doc.params(o)
	if err != nil {
		return err
	}
	slices.SortStableFunc(declared, func(a, b rawParam) int {
		return cmp.Compare(slices.Index(places, a.In), slices.Index(places, b.In))
	})
	declared = slices.DeleteFunc(declared, func(p rawParam) bool {
		if p.In == inHeader && http.CanonicalHeaderKey(p.Name) == idempotencyKey {
			t.Keyed = true
			return true
		}
		return b.hides(&p)
	})
	send, bodySchema, err := b.doc.readBody(o)
	if err != nil {
		return err
	}
	for budget := usual; budget >= leastBudget; budget /= 4 {
		in := &input{conv: newConverter(b.doc, budget, false), properties: map[string]any{}}
		for i := range declared {
			if err := in.param(&declared[i]); err != nil {
				return fmt.Errorf("%s parameter %s: %w", declared[i].In, clip(declared[i].Name, maxTitle), err)
			}
		}
		if send != nil {
			if err := in.body(send, bodySchema); err != nil {
				return fmt.Errorf("body: %w", err)
			}
		}
		schema, err := in.schema()
		if err != nil {
			return err
		}
		t.params, t.body, t.InputSchema = in.params, send, schema
		if len(schema) <= usual {
			break
		}
	}
	if len(t.InputSchema) <= maxSchema {
		return checkPath(t)
	}
	return fmt.Errorf("what it takes is described in more than %d KiB", maxSchema>>10)
}

// checkPath reports a placeholder in the path that no parameter fills.
func checkPath(t *Offer) error {
	for _, name := range placeholders(t.Path) {
		if !slices.ContainsFunc(t.params, func(p *param) bool { return p.in == inPath && p.name == name }) {
			return fmt.Errorf("the path has {%s}, and there is no such path parameter", clip(name, maxTitle))
		}
	}
	return nil
}

// placeholders returns the names in braces in a path.
func placeholders(path string) (names []string) {
	for {
		_, rest, found := strings.Cut(path, "{")
		name, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			return names
		}
		names, path = append(names, name), after
	}
}

// name returns the argument's name for a value: the value's own name, as far as clients accept it,
// followed by the place if another argument has that name.
func (in *input) name(name, place string) string {
	const others = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
	arg := name
	if strings.Trim(arg, others) != "" || len(arg) > MaxName || arg == "" {
		arg = toName(arg)
		arg = cmp.Or(arg[:min(len(arg), MaxName)], place)
	}
	free := func(arg string) bool { _, taken := in.properties[arg]; return !taken }
	if free(arg) {
		return arg
	}
	arg = arg[:min(len(arg), MaxName-len(place)-4)] + "_" + place
	for i, base := 2, arg; !free(arg); i++ {
		arg = fmt.Sprintf("%s_%d", base, i)
	}
	return arg
}

// param adds a parameter.
func (in *input) param(raw *rawParam) error {
	p, schema, err := raw.bind()
	if err != nil {
		return err
	}
	p.arg = in.name(raw.Name, raw.In)
	if in.properties[p.arg], err = in.convert(schema, raw.Description); err != nil {
		return err
	}
	if p.required {
		in.required = append(in.required, p.arg)
	}
	in.params = append(in.params, p)
	return nil
}

// convert converts the schema of an argument, and adds the description if the schema has none.
func (in *input) convert(raw json.Value, description string) (any, error) {
	var schema any = map[string]any{}
	if raw != nil {
		parsed, err := json.UnmarshalAny(raw)
		if err != nil {
			return nil, err
		}
		if schema, err = in.conv.schema(parsed); err != nil {
			return nil, err
		}
	}
	return described(schema, description), nil
}

func described(schema any, description string) any {
	members, ok := schema.(map[string]any)
	if !ok || members["description"] != nil || description == "" {
		return schema
	}
	members["description"] = plain(description, maxNote)
	return members
}

// body adds the body: its members as arguments of their own if it has nothing else, otherwise as a
// whole.
func (in *input) body(send *payload, raw json.Value) error {
	var schema any = map[string]any{}
	if raw != nil {
		var err error
		if schema, err = json.UnmarshalAny(raw); err != nil {
			return err
		}
	}
	send.arg = ""
	properties, required, ok := in.conv.doc.members(schema, send)
	if !ok {
		return in.wholeBody(send, schema)
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if in.conv.hides(properties[name]) {
			continue
		}
		converted, err := in.conv.schema(properties[name])
		if err != nil {
			return fmt.Errorf("%s: %w", clip(name, maxTitle), err)
		}
		p := &param{arg: in.name(name, inBody), name: name, in: inBody, required: slices.Contains(required, any(name))}
		in.properties[p.arg] = converted
		if p.required {
			in.required = append(in.required, p.arg)
		}
		in.params = append(in.params, p)
	}
	return nil
}

func (in *input) wholeBody(send *payload, schema any) error {
	converted, err := in.conv.schema(schema)
	if err != nil {
		return err
	}
	if send.form == formText {
		converted = map[string]any{keyType: "string"}
	}
	send.arg = in.name(inBody, inBody)
	in.properties[send.arg] = described(converted, "The body of the request.")
	if send.required {
		in.required = append(in.required, send.arg)
	}
	return nil
}

// schema returns the whole schema as JSON.
func (in *input) schema() (json.Value, error) {
	if err := in.conv.define(); err != nil {
		return nil, err
	}
	whole := map[string]any{keyType: "object", "properties": in.properties, "additionalProperties": false}
	if len(in.required) > 0 {
		whole["required"] = in.required
	}
	if len(in.conv.defs) > 0 {
		whole["$defs"] = in.conv.defs
	}
	return toJSON(whole), nil
}

// result adds the schema of a trusted tool's result, if that is an object.
func (b *builder) result(t *Offer, o *operation) {
	var responses map[string]json.Value
	if unmarshal(o.Responses, &responses) != nil {
		return
	}
	for _, status := range []string{"200", "201", "202", "203", "2XX"} {
		if responses[status] == nil {
			continue
		}
		response, err := b.doc.follow(responses[status], "responses")
		if err != nil {
			return
		}
		var said struct {
			Content map[string]json.Value `json:"content"`
		}
		if unmarshal(response, &said) != nil {
			return
		}
		for media, content := range said.Content {
			if isJSONType(media) {
				t.OutputSchema = b.outputSchema(json.Lookup(content, "/schema"))
			}
		}
		return
	}
}

// outputSchema returns the schema of an answer; nil if the answer is not an object.
func (b *builder) outputSchema(raw json.Value) json.Value {
	for budget := b.usual / 2; budget >= leastBudget; budget /= 4 {
		conv := newConverter(b.doc, budget, true)
		parsed, err := json.UnmarshalAny(raw)
		if err != nil {
			return nil
		}
		object := b.doc.resolve(parsed)
		if object[keyType] != "object" {
			return nil
		}
		whole, err := conv.schema(object)
		members, ok := whole.(map[string]any)
		if err != nil || !ok || conv.define() != nil {
			return nil
		}
		if len(conv.defs) > 0 {
			members["$defs"] = conv.defs
		}
		if text := toJSON(members); len(text) <= b.usual {
			return text
		}
	}
	return nil
}
