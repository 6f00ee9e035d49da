package args

import (
	stdjson "encoding/json"
	"errors"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const formatPassword = "password"

// schemaNode is one schema in the form that is evaluated. Rules that the drafts spell differently are the same
// here.
type schemaNode struct {
	nothing bool // the schema false
	bare    bool // of a value without parts only the type counts
	types   []string
	kinds   string // of their values
	integer bool   // a number must be an integer
	enum    *enum  // enum, or const as an enum of one
	format  *jsonschema.Format
	secret  bool // writeOnly or format: password

	all              []*schemaNode // allOf and all kinds of $ref
	any, one         []*schemaNode
	not              *schemaNode
	cond, then, els  *schemaNode
	dependentSchemas []dependent

	required, defaulted []string
	properties          map[string]*schemaNode
	patternProperties   []patternProperty
	additional          *schemaNode // nil: anything
	propertyNames       *schemaNode
	dependentRequired   []dependency
	unevaluated         *schemaNode // unevaluatedProperties
	minMembers          *int
	maxMembers          *int
	prefix              []*schemaNode
	rest                *schemaNode // of an array, after prefix
	unevaluatedItems    *schemaNode
	contains            *schemaNode
	minContains         int
	maxContains         *int
	containsIsEvaluated bool // since 2020-12
	minItems, maxItems  *int
	unique              bool

	minLength, maxLength *int
	pattern              *pattern

	minimum, maximum           *decimal
	exclusiveMin, exclusiveMax *decimal
	multipleOf                 *big.Rat
}

// enum is a set of allowed values.
type enum struct {
	rule   string // enum or const
	values []value
	set    map[string]bool // of canonical forms
}

type dependent struct {
	name   string
	schema *schemaNode
}

type dependency struct {
	name     string
	required []string
}

type patternProperty struct {
	pattern *pattern
	schema  *schemaNode
}

// builder makes nodes from a compiled schema. Schemas may refer to each other in cycles, so each is made
// once.
type builder struct {
	nodes map[*jsonschema.Schema]*schemaNode
	err   error
	// A dynamic reference is resolved as written, which is right as long as no other resource is embedded.
	dynamic, embedded bool
}

func (b *builder) node(s *jsonschema.Schema) *schemaNode {
	if s == nil {
		return nil
	}
	if n, ok := b.nodes[s]; ok {
		return n
	}
	n := &schemaNode{}
	b.nodes[s] = n
	if s.Bool != nil {
		n.nothing = !*s.Bool
		return n
	}
	b.values(n, s)
	b.inPlace(n, s)
	b.object(n, s)
	b.array(n, s)
	b.dynamic = b.dynamic || s.DynamicRef != nil || s.RecursiveRef != nil
	b.embedded = b.embedded || s.ID != "" && len(b.nodes) > 1
	if b.dynamic && b.embedded {
		b.fail(errors.New("a dynamic reference among several resources is not supported"))
	}
	return n
}

// isBare reports whether a schema has no more than a type for values without parts.
func (n *schemaNode) isBare() bool {
	values := n.nothing || n.secret || n.enum != nil || n.format != nil || n.minLength != nil || n.maxLength != nil || n.pattern != nil ||
		n.minimum != nil || n.maximum != nil || n.exclusiveMin != nil || n.exclusiveMax != nil || n.multipleOf != nil
	others := n.all != nil || n.any != nil || n.one != nil || n.not != nil || n.cond != nil || n.dependentSchemas != nil ||
		n.unevaluated != nil || n.unevaluatedItems != nil
	return !values && !others
}

// withDefaults notes which members a schema, and those of its members and items, requires although they have a default. Zod lists
// them, since they always are there once it has filled them in, and accepts a call without them.
func (b *builder) withDefaults(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	for _, name := range s.Required {
		if member := s.Properties[name]; member != nil && member.Default != nil {
			b.nodes[s].defaulted = append(b.nodes[s].defaulted, name)
		}
	}
	for _, member := range s.Properties {
		b.withDefaults(member)
	}
	items, _ := s.Items.(*jsonschema.Schema)
	b.withDefaults(items)
	b.withDefaults(s.Items2020)
}

func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

func (b *builder) nodesOf(list []*jsonschema.Schema) []*schemaNode {
	var nodes []*schemaNode
	for _, s := range list {
		nodes = append(nodes, b.node(s))
	}
	return nodes
}

func (b *builder) values(n *schemaNode, s *jsonschema.Schema) {
	if s.Types != nil {
		n.types = s.Types.ToStrings()
		if slices.Contains(n.types, "number") { // every integer is a number
			n.types = slices.DeleteFunc(n.types, func(t string) bool { return t == typeInteger })
		}
		for _, t := range n.types {
			n.kinds += kinds[t]
			n.integer = n.integer || t == typeInteger
		}
	}
	if s.Enum != nil {
		n.enum = b.enum("enum", s.Enum.Values)
	}
	if s.Const != nil {
		only := b.enum("const", []any{*s.Const})
		if n.enum == nil {
			n.enum = only
		} else {
			n.all = append(n.all, &schemaNode{enum: only})
		}
	}
	if f := s.Format; f != nil && formats[f.Name] != "" {
		n.format = f
	}
	n.secret = s.WriteOnly || s.Format != nil && s.Format.Name == formatPassword
	n.minLength, n.maxLength = s.MinLength, s.MaxLength
	if s.Pattern != nil {
		n.pattern = b.pattern(s.Pattern)
	}
	n.minimum, n.maximum = fromRat(s.Minimum), fromRat(s.Maximum)
	n.exclusiveMin, n.exclusiveMax = fromRat(s.ExclusiveMinimum), fromRat(s.ExclusiveMaximum)
	n.multipleOf = s.MultipleOf
}

func (b *builder) enum(rule string, values []any) *enum {
	e := &enum{rule: rule, set: map[string]bool{}}
	for _, v := range values {
		text, err := stdjson.Marshal(v)
		if err != nil {
			b.fail(err)
			return e
		}
		parsed, err := parse(text)
		if err != nil {
			b.fail(err)
			return e
		}
		e.values = append(e.values, *parsed)
		e.set[parsed.canonical()] = true
	}
	return e
}

func (b *builder) pattern(re jsonschema.Regexp) *pattern {
	p, ok := re.(*pattern)
	if !ok {
		b.fail(errors.New("a pattern of another engine"))
	}
	return p
}

func (b *builder) inPlace(n *schemaNode, s *jsonschema.Schema) {
	for _, ref := range []*jsonschema.Schema{s.Ref, s.RecursiveRef} {
		if ref != nil {
			n.all = append(n.all, b.node(ref))
		}
	}
	if s.DynamicRef != nil {
		n.all = append(n.all, b.node(s.DynamicRef.Ref))
	}
	n.all = append(n.all, b.nodesOf(s.AllOf)...)
	n.any, n.one = b.nodesOf(s.AnyOf), b.nodesOf(s.OneOf)
	n.not = b.node(s.Not)
	n.cond, n.then, n.els = b.node(s.If), b.node(s.Then), b.node(s.Else)
}

func (b *builder) object(n *schemaNode, s *jsonschema.Schema) {
	n.required = s.Required
	n.minMembers, n.maxMembers = s.MinProperties, s.MaxProperties
	n.propertyNames = b.node(s.PropertyNames)
	n.unevaluated = b.node(s.UnevaluatedProperties)
	if s.Properties != nil {
		n.properties = make(map[string]*schemaNode, len(s.Properties))
		for name, schema := range s.Properties {
			n.properties[name] = b.node(schema)
		}
	}
	for re, schema := range s.PatternProperties {
		n.patternProperties = append(n.patternProperties, patternProperty{b.pattern(re), b.node(schema)})
	}
	slices.SortFunc(n.patternProperties, func(x, y patternProperty) int {
		return strings.Compare(x.pattern.source, y.pattern.source)
	})
	n.additional = b.orBool(s.AdditionalProperties)
	required := map[string][]string{}
	schemas := map[string]*jsonschema.Schema{}
	maps.Copy(required, s.DependentRequired)
	maps.Copy(schemas, s.DependentSchemas)
	for name, d := range s.Dependencies { // until draft 7 this was both
		switch d := d.(type) {
		case []string:
			required[name] = d
		case *jsonschema.Schema:
			schemas[name] = d
		}
	}
	for _, name := range slices.Sorted(maps.Keys(required)) {
		n.dependentRequired = append(n.dependentRequired, dependency{name, required[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		n.dependentSchemas = append(n.dependentSchemas, dependent{name, b.node(schemas[name])})
	}
}

func (b *builder) array(n *schemaNode, s *jsonschema.Schema) {
	n.minItems, n.maxItems, n.unique = s.MinItems, s.MaxItems, s.UniqueItems
	n.unevaluatedItems = b.node(s.UnevaluatedItems)
	if s.Contains != nil {
		n.contains, n.minContains, n.maxContains = b.node(s.Contains), 1, s.MaxContains
		if s.MinContains != nil {
			n.minContains = *s.MinContains
		}
		n.containsIsEvaluated = s.DraftVersion >= 2020
	}
	switch items := s.Items.(type) { // before 2020-12
	case *jsonschema.Schema:
		n.rest = b.node(items)
	case []*jsonschema.Schema:
		n.prefix, n.rest = b.nodesOf(items), b.orBool(s.AdditionalItems)
	default:
		n.prefix, n.rest = b.nodesOf(s.PrefixItems), b.node(s.Items2020)
	}
}

// orBool returns the node of a schema that older drafts allow to be a plain boolean.
func (b *builder) orBool(v any) *schemaNode {
	switch v := v.(type) {
	case bool:
		return &schemaNode{nothing: !v}
	case *jsonschema.Schema:
		return b.node(v)
	default:
		return nil
	}
}
