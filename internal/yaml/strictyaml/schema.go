package strictyaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Schema returns the JSON Schema of the files that are read into values of type t, so that editors complete and check
// what people write: keys come from yaml tags, defaults from default tags, and meanings from the comments above fields
// ([DocumentFields]). A type with several forms has a method Forms() []any: each form is a [reflect.Type], or the name of a
// type of JSON Schema. What a type accepts beyond its form is only checked by the program.
//
// The schema is written in draft 7, which every editor knows. Its $id is the address of docs/schemas/NAME.json in the
// repository.
func Schema(t reflect.Type, name, title string) ([]byte, error) {
	w := schemaWriter{doc: Document{types: map[reflect.Type]*structType{}}, definitions: map[string]*schema{}}
	root := w.object(t)
	root.Schema, root.Title = "http://json-schema.org/draft-07/schema#", title
	root.ID = "https://raw.githubusercontent.com/recoursehq/recourse/main/docs/schemas/" + name + ".json"
	root.Definitions = w.definitions
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(root); err != nil {
		return nil, fmt.Errorf("write the schema: %w", err)
	}
	return out.Bytes(), nil
}

// Types of JSON Schema.
const (
	typeString  = "string"
	typeInteger = "integer"
	typeObject  = "object"
)

// A schema is a JSON Schema, as far as it is needed here.
type schema struct {
	Schema      string             `json:"$schema,omitempty"`
	ID          string             `json:"$id,omitempty"`
	Title       string             `json:"title,omitempty"`
	Ref         string             `json:"$ref,omitempty"`
	Type        any                `json:"type,omitempty"`
	Description string             `json:"description,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Default     json.RawMessage    `json:"default,omitempty"`
	AllOf       []*schema          `json:"allOf,omitempty"`
	AnyOf       []*schema          `json:"anyOf,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Additional  any                `json:"additionalProperties,omitempty"`
	Definitions map[string]*schema `json:"definitions,omitempty"`
}

type schemaWriter struct {
	doc         Document // of which only the types count
	definitions map[string]*schema
}

// object describes a struct.
func (w *schemaWriter) object(t reflect.Type) *schema {
	s := &schema{Type: typeObject, Properties: map[string]*schema{}, Additional: false}
	for f := range t.Fields() {
		key, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key == "" {
			if inner := f.Type; f.Anonymous && inner.Kind() == reflect.Struct {
				embedded := w.object(inner)
				maps.Copy(s.Properties, embedded.Properties)
				s.Required = append(s.Required, embedded.Required...)
			}
			continue
		}
		value := w.value(f.Type)
		if value.Ref != "" { // in draft 7, nothing beside it counts
			value = &schema{AllOf: []*schema{{Ref: value.Ref}}}
		}
		value.Description = Comment(t, f.Name)
		value.Default = literal(f.Tag.Get("default"), value.Type)
		s.Properties[key] = value
		if slices.Contains(strings.Split(options, ","), "required") {
			s.Required = append(s.Required, key)
		}
	}
	return s
}

// value describes the value of a key.
func (w *schemaWriter) value(t reflect.Type) *schema {
	if t.Kind() == reflect.Pointer && t != reflect.TypeFor[*Node]() {
		return w.value(t.Elem())
	}
	if words, ok := reflect.TypeAssert[worded](reflect.Zero(t)); ok {
		return &schema{Type: typeString, Enum: words.Words()}
	}
	if several, ok := reflect.TypeAssert[interface{ Forms() []any }](reflect.New(t)); ok {
		return w.anyOf(several.Forms())
	}
	switch t {
	case reflect.TypeFor[*Node]():
		return &schema{} // it has more than one form
	case reflect.TypeFor[time.Duration]():
		return &schema{Type: typeString, Pattern: `^(\$\{.*\}|([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+)$`}
	case reflect.TypeFor[Size]():
		return &schema{Type: []string{typeString, typeInteger}, Pattern: `^(\$\{.*\}|[0-9]+ ?(B|kB|KB|MB|GB|KiB|MiB|GiB)?)$`}
	}
	if _, ok := reflect.TypeAssert[Unmarshaler](reflect.New(t)); ok {
		if elem, isMap := mapElement(t); isMap {
			return &schema{Type: typeObject, Additional: w.value(elem)}
		}
		return &schema{}
	}
	switch t.Kind() {
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Int, reflect.Int64:
		return &schema{Type: typeInteger}
	case reflect.Float64:
		return &schema{Type: "number"}
	case reflect.String:
		return &schema{Type: typeString}
	case reflect.Slice:
		if w.doc.keyOf(t) == nil {
			return &schema{Type: "array", Items: w.value(t.Elem())}
		}
		fallthrough
	case reflect.Map:
		return &schema{Type: typeObject, Additional: w.value(t.Elem())}
	case reflect.Struct:
		return w.definition(t)
	default:
		return &schema{}
	}
}

// anyOf describes a value with several forms.
func (w *schemaWriter) anyOf(forms []any) *schema {
	s := new(schema)
	for _, form := range forms {
		switch form := form.(type) {
		case reflect.Type:
			s.AnyOf = append(s.AnyOf, w.value(form))
		case string:
			s.AnyOf = append(s.AnyOf, &schema{Type: form})
		}
	}
	return s
}

// definition describes a struct once, and refers to it.
func (w *schemaWriter) definition(t reflect.Type) *schema {
	name := t.Name()
	if name == "" {
		return w.object(t)
	}
	if _, described := w.definitions[name]; !described {
		w.definitions[name] = nil // while it is being described, it may refer to itself
		w.definitions[name] = w.object(t)
	}
	return &schema{Ref: "#/definitions/" + name}
}

// mapElement returns what a [Map] maps names to.
func mapElement(t reflect.Type) (element reflect.Type, ok bool) {
	if t.Kind() != reflect.Slice || t.PkgPath() != reflect.TypeFor[Map[any]]().PkgPath() {
		return nil, false
	}
	value, ok := t.Elem().FieldByName("Value")
	return value.Type, ok
}

// literal returns a default as JSON; nil for a default in words.
func literal(text string, kind any) json.RawMessage {
	switch {
	case text == "" || strings.HasPrefix(text, "("):
		return nil
	case kind == typeString:
		return json.RawMessage(strconv.Quote(text))
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	default:
		return json.RawMessage(strconv.Quote(text))
	}
}
