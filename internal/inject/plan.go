package inject

import (
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/strictyaml"
)

// A Plan says which calls fail, and how. It does not change once it is read.
type Plan struct {
	// Seed decides which calls a rate chooses.
	Seed  int64   `yaml:"seed" default:"1"`
	Rules []*Rule `yaml:"rules,required"`
}

// A Rule lets a fault happen to some of the calls that it matches. Of several rules that apply to a call, the first does.
type Rule struct {
	Match Match `yaml:"match"`
	// Times is how many calls fail before all others go well; 0 means that there is no such end.
	Times int `yaml:"times"`
	// Rate is the part of the calls that fails.
	Rate float64 `yaml:"rate" default:"1"`
	// AtMost is how many calls fail at the same time; 0 means any number.
	AtMost int    `yaml:"at_most"`
	Effect Effect `yaml:"effect"`
	Fault  Fault  `yaml:"fault,required"`
}

// A Match is a conjunction; what is empty matches every call. Its texts are patterns of package path.
type Match struct {
	// Tool is the tool of an MCP server.
	Tool string `yaml:"tool"`
	// Method is the method of JSON-RPC, tools/call unless it is said, or that of HTTP.
	Method string `yaml:"method"`
	// Path is that of a request to an HTTP API.
	Path string `yaml:"path"`
	// Arguments are values by their JSON Pointers into the arguments.
	Arguments map[string]scalar `yaml:"arguments"`
	// Caller is the name that an MCP client gives itself, or the User-Agent of a request to an HTTP API.
	Caller string `yaml:"caller"`
	// Attempt counts, from 1, how often the same call has been made, by whomever.
	Attempt attempts `yaml:"attempt"`
}

// A Fault is what happens to a call.
type Fault struct {
	// Name is one of the menu.
	Name string

	Status int               `yaml:"status"`
	Header map[string]string `yaml:"headers"`
	Body   string            `yaml:"body"`
	HTML   bool              `yaml:"html"`

	Contract string        `yaml:"contract"`
	Code     word          `yaml:"code"`
	Wait     time.Duration `yaml:"wait"`
	Message  string        `yaml:"message"`

	Gap  time.Duration `yaml:"drip"`
	Keep int           `yaml:"cut"` // negative: half
	Text string        `yaml:"error-text"`

	contract *contract.Contract
}

// NewFault returns the fault of that name with nothing else said.
func NewFault(name string) Fault {
	return Fault{
		Name: name, Gap: 100 * time.Millisecond, Keep: -1,
		Text: "Error: the request could not be completed. Please try again later.",
	}
}

// SetCode names the code of a contract's fault.
func (f *Fault) SetCode(code string) { f.Code = word(code) }

// UnmarshalYAML reads the name of a fault, or a mapping with a key of that name.
func (f *Fault) UnmarshalYAML(n *strictyaml.Node) error {
	type fields Fault // without this method
	*f = NewFault(n.Text())
	switch n.Kind() {
	case strictyaml.KindString:
		return nil
	case strictyaml.KindMapping:
		err := n.Decode((*fields)(f))
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

// attempts are the ones that a rule matches; none stands for all.
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
