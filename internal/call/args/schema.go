package args

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

const (
	// MaxSchema is the size in bytes of the largest schema that is compiled.
	MaxSchema = 256 << 10
	// maxNodes and maxPointers limit the objects of a schema and the total length of the pointers to them: compile time
	// is quadratic in the former, and memory in the latter. Of simple values, such as those of an enum, valuesPerNode
	// count as one object.
	maxNodes      = 4000
	maxPointers   = 1 << 20
	valuesPerNode = 4

	// baseURL is hierarchical, so that a relative reference names another document, which does not exist.
	// With an opaque one (urn:tool) the library would take it for a reference to the schema itself.
	baseURL = "tool:///inputSchema"
)

// Schema is a compiled inputSchema. It is safe for concurrent use.
type Schema struct {
	root      *schemaNode
	budget    *Budget                // for its patterns, which are compiled when first needed
	unchecked atomic.Pointer[string] // a pattern that costs too much
}

// Unchecked returns a pattern that a check has met and that would have cost more than is allowed, so that it
// counts as met; "" if there is none.
func (s *Schema) Unchecked() string {
	if source := s.unchecked.Load(); source != nil {
		return *source
	}
	return ""
}

// ErrTooLarge says that a schema is too large as a whole: see [CompileOutermost].
var ErrTooLarge = errors.New("inputSchema is too large")

// drafts are tried in turn for a schema that names none. MCP says that it is of 2020-12, but older forms that
// contradict it (a list as "items", a boolean "exclusiveMinimum") are common.
var drafts = []*jsonschema.Draft{jsonschema.Draft2020, jsonschema.Draft7, jsonschema.Draft4}

// Compile prepares the inputSchema of a tool. It comes from a server and may be hostile: nothing is loaded,
// so a $ref can only refer to the schema itself. A schema of more than 256 KiB, 128 levels or 4000 objects is
// refused, and so is one that costs more than the budget has left. A pattern that costs too much counts as
// met: see [Schema.Unchecked].
//
// If a schema is refused, the caller should let calls pass: a server may use features that cannot be checked
// here.
func Compile(inputSchema []byte, budget *Budget) (*Schema, error) {
	return compileWithin(inputSchema, MaxSchema, budget, func(doc any) any { return doc })
}

// compileWithin compiles the part of a schema of up to most bytes that of returns, if it is not too large.
func compileWithin(inputSchema []byte, most int, budget *Budget, of func(doc any) any) (*Schema, error) {
	if budget == nil {
		budget = NewBudget()
	}
	if len(inputSchema) > most {
		return nil, fmt.Errorf("%w: %d bytes, more than %d", ErrTooLarge, len(inputSchema), most)
	}
	doc, err := json.UnmarshalAny(inputSchema)
	if err != nil {
		return nil, fmt.Errorf("inputSchema is not JSON: %w", err)
	}
	doc = of(doc)
	var size size
	if err := size.add(doc, 0, 0); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	if !take(&budget.objects, size.objects()) {
		return nil, errSpent
	}
	s, err := compileDrafts(doc)
	if err != nil {
		return nil, err
	}
	s.budget = budget
	return s, nil
}

// compileDrafts compiles the schema in the first draft that can read it.
func compileDrafts(doc any) (*Schema, error) {
	if members, ok := doc.(map[string]any); ok && members["$schema"] != nil {
		return compile(doc, drafts[0])
	}
	var first error
	for _, draft := range drafts {
		s, err := compile(doc, draft)
		if err == nil {
			return s, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// compile leaves drafts, references and the check against the meta-schema to the library, and makes the nodes
// from its result.
func compile(doc any, draft *jsonschema.Draft) (s *Schema, err error) {
	defer func() {
		if r := recover(); r != nil { // the library trusts its input more than we can
			s, err = nil, fmt.Errorf("compile inputSchema: %v", r)
		}
	}()
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(draft)
	compiler.UseLoader(jsonschema.SchemeURLLoader{})
	compiler.UseRegexpEngine(newPattern)
	compiler.AssertFormat()
	compiler.RegisterFormat(&jsonschema.Format{Name: formatPassword, Validate: func(any) error { return nil }})
	if err := compiler.AddResource(baseURL, doc); err != nil {
		return nil, fmt.Errorf("compile inputSchema: %w", err)
	}
	compiled, err := compiler.Compile(baseURL)
	if err != nil {
		return nil, fmt.Errorf("compile inputSchema: %w", err)
	}
	b := builder{nodes: map[*jsonschema.Schema]*schemaNode{}}
	root := b.node(compiled)
	for _, n := range b.nodes {
		n.bare = n.isBare()
	}
	b.withDefaults(compiled)
	if b.err != nil {
		return nil, fmt.Errorf("compile inputSchema: %w", b.err)
	}
	return &Schema{root: root}, nil
}

// size adds up what compiling a schema costs.
type size struct{ nodes, values, pointers int }

func (s *size) objects() int { return s.nodes + s.values/valuesPerNode }

var (
	errDeep   = fmt.Errorf("more than %d levels", maxDepth)
	errNodes  = fmt.Errorf("more than %d objects", maxNodes)
	errNames  = errors.New("its names are too long")
	errNumber = fmt.Errorf("a number of more than %d digits", maxDigits)
)

func (s *size) add(v any, depth, pointer int) error {
	if depth > maxDepth {
		return errDeep
	}
	if s.objects() > maxNodes {
		return errNodes
	}
	switch v := v.(type) {
	case map[string]any:
		s.nodes++
		for name, member := range v {
			if err := s.add(member, depth+1, pointer+len(name)+1); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := s.add(item, depth+1, pointer+4); err != nil {
				return err
			}
		}
	case bool:
		s.nodes++
	case stdjson.Number:
		if d, ok := parseDecimal(v.String()); !ok || len(d.digits) > maxDigits || d.exp > maxDigits || d.exp < -maxDigits {
			return errNumber
		}
		s.values++
		return nil
	default:
		s.values++
		return nil
	}
	if s.pointers += pointer; s.pointers > maxPointers {
		return errNames
	}
	return nil
}
