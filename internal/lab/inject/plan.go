package inject

import (
	"reflect"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// A Plan says which calls fail, and how. It does not change once it is read.
type Plan struct {
	// Decides which calls a rate chooses.
	Seed int64 `yaml:"seed" default:"1"`
	// The first rule that matches a call applies.
	Rules []*Rule `yaml:"rules,required"`
}

// A Rule makes some of the calls that it matches fail.
type Rule struct {
	// Which calls the rule matches: those that meet every condition given here.
	Match Match `yaml:"match"`
	// How many calls fail before all others succeed.
	Times int `yaml:"times" default:"(no end)"`
	// The fraction of calls that fail: 0.1 is one in ten.
	Rate float64 `yaml:"rate" default:"1"`
	// Maximum number of calls that fail at the same time.
	AtMost int `yaml:"at_most" default:"(any number)"`
	// Whether the server carries the call out.
	Effect Effect `yaml:"effect" default:"(by fault)"`
	// What happens to the call: `recourse inject ls` lists the faults.
	Fault Fault `yaml:"fault,required"`
}

// A Match is a conjunction; empty members match every call. Its texts are patterns of package path.
type Match struct {
	// Pattern for the tool of an MCP server.
	Tool string `yaml:"tool"`
	// Pattern for the JSON-RPC method; for an HTTP API, for the HTTP method.
	Method string `yaml:"method" default:"(tools/call)"`
	// Pattern for the path on an HTTP API's server; for a tunnel, for host and port.
	Path string `yaml:"path"`
	// Values by JSON Pointers into the arguments.
	Arguments map[string]scalar `yaml:"arguments"`
	// Pattern for the name that an MCP client gives itself; for an HTTP API, for the User-Agent.
	Caller string `yaml:"caller"`
	// How often the same call has been made by any client, starting at 1: a number or a list.
	Attempt attempts `yaml:"attempt"`
}

// A Fault is what happens to a call: its name is one of the menu.
type Fault struct {
	faultKeys

	Name     string
	contract *contract.Contract
}

// faultKeys are the settings of a fault in a file. The key with the fault's name comes first.
type faultKeys struct {
	// An answer with this HTTP status.
	Status int `yaml:"status"`
	// With `status`: headers of the answer.
	Header map[string]string `yaml:"headers"`
	// With `status`: the body of the answer.
	Body string `yaml:"body"`
	// With `status`: an HTML page as the body.
	HTML bool `yaml:"html"`

	// A failure in the exact form of this contract.
	Contract string `yaml:"contract"`
	// With `contract`: which of its codes.
	Code word `yaml:"code"`
	// With `contract`: the wait that the failure states.
	Wait time.Duration `yaml:"wait"`
	// With `contract`: the sentence of the failure.
	Message string `yaml:"message"`

	// The answer comes byte by byte, with this pause between two.
	Gap time.Duration `yaml:"drip"`
	// Lists end after this many items, and the answer names no next page.
	Keep int `yaml:"cut"` // negative: half
	// A success whose text says that there was an error.
	Text string `yaml:"error-text"`
}

// NewFault returns the fault of that name without any settings.
func NewFault(name string) Fault {
	return Fault{Name: name, faultKeys: faultKeys{
		Gap: 100 * time.Millisecond, Keep: -1, Text: "Error: the request could not be completed. Please try again later.",
	}}
}

// SetCode names the code of a contract's fault.
func (f *Fault) SetCode(code string) { f.Code = word(code) }

// UnmarshalYAML reads the name of a fault, or a mapping with a key of that name.
func (f *Fault) UnmarshalYAML(n *strictyaml.Node) error {
	*f = NewFault(n.Text())
	switch n.Kind() {
	case strictyaml.KindString:
		return nil
	case strictyaml.KindMapping:
		err := n.Decode(&f.faultKeys)
		for key := range n.All() {
			if _, ok := kindOf(key); ok {
				f.Name = key
				break
			}
		}
		return err
	default:
		return n.Expected("the name of a fault or a mapping", "write `hang`, or `{status: 503}`")
	}
}

// A scalar is a value that an argument is compared with, as JSON.
type scalar json.Value

// UnmarshalYAML reads a text, a number, a truth value or null.
func (s *scalar) UnmarshalYAML(n *strictyaml.Node) error {
	if n.Kind() == strictyaml.KindSequence || n.Kind() == strictyaml.KindMapping {
		return n.Expected("a text, a number, true, false or null", "point to a value inside: `/order/externalId: A-17`")
	}
	var value any
	if err := n.Decode(&value); err != nil {
		return err
	}
	raw, err := json.Marshal(value)
	*s = scalar(raw)
	return err
}

// A word is a text that may look like a number, as the codes of some contracts do.
type word string

// UnmarshalYAML reads a text or a whole number.
func (w *word) UnmarshalYAML(n *strictyaml.Node) error {
	if n.Kind() == strictyaml.KindInt {
		*w = word(n.Text())
		return nil
	}
	return n.Decode((*string)(w))
}

// attempts are the attempts that a rule matches; none means all.
type attempts []int

// UnmarshalYAML reads one number or a list.
func (a *attempts) UnmarshalYAML(n *strictyaml.Node) error {
	if n.Kind() == strictyaml.KindSequence {
		return n.Decode((*[]int)(a))
	}
	var one int
	err := n.Decode(&one)
	*a = attempts{one}
	return err
}

var (
	_ strictyaml.Unmarshaler = (*Fault)(nil)
	_ strictyaml.Unmarshaler = (*scalar)(nil)
	_ strictyaml.Unmarshaler = (*word)(nil)
	_ strictyaml.Unmarshaler = (*attempts)(nil)
)

// faultName is the name of a fault that needs no more than that.
type faultName string

// Words returns all of them.
func (faultName) Words() []string {
	var names []string
	for _, kind := range menu {
		if kind.Name != status && kind.Name != inContract {
			names = append(names, kind.Name)
		}
	}
	return names
}

// Words returns all of them.
func (Effect) Words() []string { return []string{string(Before), string(After)} }

// Forms returns the name of a fault, and a mapping.
func (*Fault) Forms() []any { return []any{reflect.TypeFor[faultName](), reflect.TypeFor[faultKeys]()} }

// Forms returns what an argument is compared with.
func (*scalar) Forms() []any { return []any{"string", "number", "boolean", "null"} }

// Forms returns those of a code.
func (*word) Forms() []any { return []any{"string", "integer"} }

// Forms returns a number and a list of numbers.
func (*attempts) Forms() []any { return []any{reflect.TypeFor[int](), reflect.TypeFor[[]int]()} }

// Schema returns the JSON Schema of fault files.
func Schema() ([]byte, error) {
	return strictyaml.Schema(reflect.TypeFor[Plan](), "faults", "Faults of Recourse")
}
