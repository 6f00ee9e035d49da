package openapi

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

const (
	// maxOperations limits the operations of a description, whether offered or not.
	maxOperations = 20_000
	// maxLookups limits the references to places outside of components: each of them searches the whole
	// text.
	maxLookups = 100
	// maxHops limits references to references.
	maxHops = 10
)

var errNotDescription = errors.New("this is not an OpenAPI description: it must be a mapping with `openapi`, `info` and `paths`")

// A document is a description during compilation.
type document struct {
	raw        json.Value
	old        bool // version 3.0
	title      string
	version    string
	servers    []serverObject
	components map[string]map[string]json.Value
	operations []*operation

	parsed  map[string]any // schemas, by reference
	lookups int
}

type serverObject struct {
	URL       string `json:"url"`
	Variables map[string]struct {
		Default string `json:"default"`
	} `json:"variables"`
}

// An operation is a method of a path.
type operation struct {
	Method string
	Path   string

	ID          string         `json:"operationId"`
	Tags        []string       `json:"tags"`
	Summary     string         `json:"summary"`
	Description string         `json:"description"`
	Deprecated  bool           `json:"deprecated"`
	Parameters  []json.Value   `json:"parameters"`
	Body        json.Value     `json:"requestBody"`
	Responses   json.Value     `json:"responses"`
	Servers     []serverObject `json:"servers"`

	shared  []json.Value // parameters of the path
	tool    string       // its name as a tool
	invalid error        // why it cannot be read
}

// String returns the operation the way people write it.
func (o *operation) String() string { return o.Method + " " + o.Path }

var methods = []string{"get", "head", "options", "put", "delete", "post", "patch"}

// parse reads the parts of a description.
func parse(text []byte) (*document, error) {
	raw, err := readText(text)
	if err != nil {
		return nil, err
	}
	var head struct {
		OpenAPI json.Value `json:"openapi"`
		Swagger json.Value `json:"swagger"`
		Paths   json.Value `json:"paths"`
	}
	if err := json.UnmarshalLenient(raw, &head); err != nil {
		return nil, errNotDescription
	}
	version := word(head.OpenAPI)
	switch {
	case head.Swagger != nil && version == "":
		return nil, errors.New("this is a Swagger 2.0 description: convert it to OpenAPI 3.0 or 3.1")
	case head.Paths.Kind() != '{':
		return nil, errNotDescription
	case !strings.HasPrefix(version, "3.0") && !strings.HasPrefix(version, "3.1"):
		return nil, fmt.Errorf("the description is of OpenAPI %.20q: 3.0 and 3.1 are supported", version)
	}
	var rest struct {
		Info struct {
			Title   string     `json:"title"`
			Version json.Value `json:"version"`
		} `json:"info"`
		Servers    []serverObject        `json:"servers"`
		Components map[string]json.Value `json:"components"`
	}
	if err := unmarshal(raw, &rest); err != nil {
		return nil, fmt.Errorf("the description cannot be read: %w", err)
	}
	d := &document{
		raw: raw, old: strings.HasPrefix(version, "3.0"), title: oneLine(rest.Info.Title, maxTitle), version: word(rest.Info.Version),
		servers: rest.Servers, components: map[string]map[string]json.Value{}, parsed: map[string]any{},
	}
	for kind, members := range rest.Components {
		var named map[string]json.Value
		if members.Kind() == '{' && json.UnmarshalLenient(members, &named) == nil {
			d.components[kind] = named
		}
	}
	if err := d.readPaths(head.Paths); err != nil {
		return nil, err
	}
	return d, nil
}

// word returns a short text, or the spelling of a number.
func word(raw json.Value) string { return strings.Trim(string(raw), `"`) }

// readPaths collects the operations.
func (d *document) readPaths(paths json.Value) error {
	for _, p := range json.MembersOf(paths) {
		if !strings.HasPrefix(p.Name, "/") {
			continue // an extension
		}
		item := p.Value
		if ref := refOf(item); ref != "" {
			var err error
			if item, err = d.follow(item, "pathItems"); err != nil {
				return fmt.Errorf("path %s: %w", p.Name, err)
			}
		}
		var members map[string]json.Value
		if json.UnmarshalLenient(item, &members) != nil {
			return fmt.Errorf("path %s: it must be a mapping", p.Name)
		}
		var shared []json.Value
		invalid := unmarshal(members["parameters"], &shared)
		for _, method := range methods {
			raw := members[method]
			if raw == nil {
				continue
			}
			o := &operation{}
			err := unmarshal(raw, o)
			o.Method, o.Path, o.shared, o.invalid = strings.ToUpper(method), p.Name, shared, cmp.Or(err, invalid)
			if o.Servers == nil && members["servers"] != nil {
				o.invalid = cmp.Or(o.invalid, unmarshal(members["servers"], &o.Servers))
			}
			d.operations = append(d.operations, o)
			if len(d.operations) > maxOperations {
				return fmt.Errorf("the description has more than %d operations", maxOperations)
			}
		}
	}
	d.nameTools()
	return nil
}

// unmarshal reads a part of the description. Its error says in plain words what is wrong with it.
func unmarshal(raw json.Value, into any) error {
	if raw == nil {
		return nil
	}
	if err := json.UnmarshalLenient(raw, into); err != nil {
		pointer, _, _ := json.Position(err)
		if pointer == "" {
			return errors.New("it has a value of the wrong type")
		}
		return fmt.Errorf("%s has a value of the wrong type", clip(string(pointer), maxTitle))
	}
	return nil
}

// refOf returns the reference in a value, or "".
func refOf(raw json.Value) string {
	if raw.Kind() != '{' {
		return ""
	}
	var ref struct {
		Ref string `json:"$ref"`
	}
	if json.UnmarshalLenient(raw, &ref) != nil {
		return ""
	}
	return ref.Ref
}

// follow returns what a value refers to, through references to references.
func (d *document) follow(raw json.Value, kind string) (json.Value, error) {
	for range maxHops {
		ref := refOf(raw)
		if ref == "" {
			return raw, nil
		}
		found, err := d.lookup(ref)
		if err != nil {
			return nil, err
		}
		raw = found
	}
	return nil, fmt.Errorf("more than %d references in a row in %s", maxHops, kind)
}

// lookup returns the value that a reference points to.
func (d *document) lookup(ref string) (json.Value, error) {
	pointer, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil, fmt.Errorf("the reference %q leads out of the description: put what it refers to into the file", clip(ref, maxTitle))
	}
	pointer, err := url.PathUnescape(pointer)
	if err != nil || !strings.HasPrefix(pointer, "/") {
		return nil, fmt.Errorf("the reference %q is not a path in the description", clip(ref, maxTitle))
	}
	tokens := slices.Collect(json.Pointer(pointer).Tokens())
	var found json.Value
	if len(tokens) >= 3 && tokens[0] == "components" {
		found = d.components[tokens[1]][tokens[2]]
		if len(tokens) > 3 && found != nil {
			rest := json.Pointer("")
			for _, token := range tokens[3:] {
				rest = rest.AppendToken(token)
			}
			found = json.Lookup(found, rest)
		}
	} else {
		if d.lookups++; d.lookups > maxLookups {
			return nil, fmt.Errorf("more than %d references to other places than components", maxLookups)
		}
		found = json.Lookup(d.raw, json.Pointer(pointer))
	}
	if found == nil {
		return nil, fmt.Errorf("the reference %q leads nowhere", clip(ref, maxTitle))
	}
	return found, nil
}

// schemaAt returns the schema that a reference points to.
func (d *document) schemaAt(ref string) (any, error) {
	if known, ok := d.parsed[ref]; ok {
		return known, nil
	}
	raw, err := d.lookup(ref)
	if err != nil {
		return nil, err
	}
	v, err := json.UnmarshalAny(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", clip(ref, maxTitle), err)
	}
	d.parsed[ref] = v
	return v, nil
}

// chain yields a schema, if it is an object, and those that it refers to in turn.
func (d *document) chain(schema any) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		for range maxHops {
			members, _ := schema.(map[string]any)
			ref, isRef := members["$ref"].(string)
			if members == nil || !yield(members) || !isRef {
				return
			}
			var err error
			if schema, err = d.schemaAt(ref); err != nil { // the conversion reports it
				return
			}
		}
	}
}

// resolve returns the object that a schema is, through references; nil if it is not an object.
func (d *document) resolve(schema any) map[string]any {
	for members := range d.chain(schema) {
		if _, isRef := members["$ref"].(string); !isRef {
			return members
		}
	}
	return nil
}
