package config

import (
	"reflect"
	"slices"
	"time"

	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Once says how a tool's writes are kept from happening twice.
type Once struct {
	// What makes two calls the same, besides the caller, the server and the tool: a JSON Pointer into the
	// arguments, or a list of them, such as `/reference`; with `required`, the key that the client sends, and
	// a call without one is refused. Without it, the key that the client sends, or else all arguments.
	Key OnceKey `yaml:"key" default:"(the client's key, or else all arguments)"`
	// How long a call is remembered. A repetition after that is a new call.
	Within time.Duration `yaml:"within" default:"24h"`
	// What a call gets that has no key of its own and whose arguments are those of one whose answer has
	// reached the client: with `again` it is taken for intended and is made; with `replay` it gets the same
	// answer. With `argument` it does so as well, and the gateway adds an optional argument to the tool,
	// `recourse_again`, with which a client means the call again. A lost answer is replayed in any case.
	Delivered Delivered `yaml:"delivered" default:"again"`
	// How long a call whose outcome is unknown may still take effect. Only after that is it made again, once,
	// if the verify call says that it has not happened.
	Grace time.Duration `yaml:"grace" default:"1m"`

	// FromContract says that the contract knows the key.
	FromContract bool
}

// AddsAgain reports whether the gateway adds an argument to a tool of the server.
func (s *Server) AddsAgain() bool {
	return slices.ContainsFunc(s.Tools, func(t strictyaml.Entry[Tool]) bool {
		return t.Value.Once != nil && t.Value.Once.Delivered == DeliveredArgument
	})
}

// OnceKey are JSON Pointers into the arguments, or [OnceRequired] alone.
type OnceKey []string

// OnceRequired stands for a key that the client has to send.
const OnceRequired = "required"

// Forms are those in which the pointers may stand.
func (*OnceKey) Forms() []any { return []any{reflect.TypeFor[string](), reflect.TypeFor[[]string]()} }

// UnmarshalYAML reads a list, or the only item of one.
func (k *OnceKey) UnmarshalYAML(n *strictyaml.Node) error {
	return oneOrMore(n, k, "a JSON Pointer, a list of them, or `required`", "for example `key: /reference`")
}

// Required reports whether the client has to send a key.
func (k *OnceKey) Required() bool { return len(*k) == 1 && (*k)[0] == OnceRequired }

// Delivered says what becomes of a repetition of a call whose answer has reached the client.
type Delivered string

// What becomes of it.
const (
	DeliveredAgain    Delivered = "again"
	DeliveredReplay   Delivered = "replay"
	DeliveredArgument Delivered = "argument"
)

// Words returns all of them.
func (Delivered) Words() []string {
	return []string{string(DeliveredAgain), string(DeliveredReplay), string(DeliveredArgument)}
}

// onceMapping is the form of [Once] that is a mapping.
type onceMapping Once

// Forms are those in which it is written.
func (*Once) Forms() []any {
	return []any{"boolean", "string", reflect.TypeFor[onceMapping]()}
}

// UnmarshalYAML reads true, contract or a mapping.
func (o *Once) UnmarshalYAML(n *strictyaml.Node) error {
	var yes bool
	switch {
	case n.Kind() == strictyaml.KindMapping:
		return n.Decode((*onceMapping)(o))
	case n.Kind() == strictyaml.KindString && n.Text() == "contract":
		o.FromContract = true
	case n.Kind() != strictyaml.KindBool || n.Decode(&yes) != nil || !yes:
		return n.Expected("`true`, `contract` or a mapping",
			"for example `once: {key: /reference}`; leave it out if a call may be made again")
	}
	_ = strictyaml.Decode("", []byte("{}"), (*onceMapping)(o)) // an empty mapping is valid: it is all defaults
	return nil
}

// Landed says what the answer to a verify call looks like if the call in question took effect.
type Landed struct {
	// JSON Pointer into the answer's data: its structured content, or else the JSON in its text. `*` stands
	// for every item of a list. If more than the last step is missing, the question stays open.
	Path string `yaml:"path,required" default:"(none)"`
	// With `true`, the call took effect if there is a value; with `false`, if there is none, or if the answer
	// says that there is no such thing.
	Exists *bool `yaml:"exists" default:"(none)"`
	// The call took effect if the value equals this: a JSON Pointer into its arguments, or a fixed value.
	Equals any `yaml:"equals" default:"(none)"`
	// The call took effect if the value contains this, as part of a text, an item of a list or members of an
	// object: written as in `equals`.
	Contains any `yaml:"contains" default:"(none)"`
}

// Form returns the rule as contracts have it; nil if there is none.
func (l *Landed) Form() *contractform.Landed {
	if l == nil {
		return nil
	}
	form := &contractform.Landed{Path: l.Path, Exists: l.Exists, Contains: l.Contains != nil}
	want := l.Equals
	if form.Contains {
		want = l.Contains
	}
	if text, ok := want.(string); ok && isPointer(text) {
		form.Pointer = text
	} else {
		form.Value, _ = json.Marshal(want) // read from YAML: it has a form in JSON
	}
	return form
}

// once checks how a tool's writes are kept from happening twice.
func (v *validator) once(c *Config, s *Server, o *Once, node *strictyaml.Node) {
	if c.Store == "" {
		v.doc.Reportf(node.Pos(), "add `store: sqlite:recourse.db` at the top level", "`once` needs a `store`")
	}
	if s.Mode == ModeObserve {
		v.doc.Reportf(node.Pos(), "remove it, or `mode: observe`", "`once` does nothing where failures are only observed")
	}
	keys := node.Get("key")
	for i, pointer := range o.Key {
		at := keys
		if keys.Kind() == strictyaml.KindSequence {
			at = keys.Item(i)
		}
		if !o.Key.Required() && !isPointer(pointer) {
			v.doc.Reportf(at.Pos(), "write it as `/reference`", "`key` must be a JSON Pointer into the arguments, or `required`")
		}
	}
	v.duration(node, "within", o.Within)
	if grace := node.Get("grace"); grace != nil && o.Grace < 0 {
		v.doc.Reportf(grace.Pos(), "write it as `1m`", "`grace` must not be negative")
	}
}

func (v *validator) landed(l *Landed, node *strictyaml.Node) {
	if path := node.Get("path"); path != nil && !isPointer(l.Path) {
		v.doc.Reportf(path.Pos(), "write it as `/status`", "`path` must be a JSON Pointer into the answer")
	}
	tests := 0
	for _, key := range []string{"exists", "equals", "contains"} {
		if node.Get(key) != nil {
			tests++
		}
	}
	if tests != 1 {
		v.doc.Reportf(node.Pos(), "for example `{path: /status, equals: created}`", "expected one of `exists`, `equals` and `contains`")
	}
}
