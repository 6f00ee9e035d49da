package check

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// A Harm is what breaking a rule can do.
type Harm string

// The harms, the worst first.
const (
	HarmWrite     Harm = "write"     // a double or false write
	HarmHides     Harm = "hides"     // a failure is hidden, or told wrongly
	HarmLeaks     Harm = "leaks"     // it says what is nobody's business
	HarmUnhelpful Harm = "unhelpful" // an agent cannot tell what to do
	HarmProtocol  Harm = "protocol"  // clients stumble
	HarmNone      Harm = "none"      // no rule's
)

// Weight returns how much a rule counts.
func (h Harm) Weight() int {
	switch h {
	case HarmWrite:
		return 5
	case HarmHides, HarmLeaks:
		return 3
	case HarmUnhelpful:
		return 2
	default:
		return 1
	}
}

// A Mode is how far a check goes. Each does what those before it do.
type Mode string

// The modes.
const (
	Static Mode = "static" // lists the tools
	Safe   Mode = "safe"   // also makes calls that the schema forbids, and reads what cannot exist
	Owner  Mode = "owner"  // also makes the writes that the user has named
	Wired  Mode = "wired"  // also has the server's own HTTP fail
)

var modes = []Mode{Static, Safe, Owner, Wired}

// includes reports whether what of asks for is done in mode m.
func (m Mode) includes(of Mode) bool { return rank(of) <= rank(m) }

func rank(m Mode) int {
	for i, mode := range modes {
		if mode == m {
			return i
		}
	}
	return len(modes)
}

// A Rule is something that a server should keep.
type Rule struct {
	ID     string `yaml:"rule,required"`
	Title  string `yaml:"title,required"`
	Harm   Harm   `yaml:"harm,required"`
	Mode   Mode   `yaml:"mode,required"`
	Source string `yaml:"source,required"` // the URL of the sentence or thread that it comes from
	Needs  string `yaml:"needs,required"`  // what has to be seen to judge it
	Why    string `yaml:"why,required"`
	Mend   string `yaml:"mend,required"`
	Entry  string `yaml:"entry"` // the line of configuration with which the gateway mends it; TOOL is a tool's name

	// Judged says what people found who looked at answers of real servers that trip it; empty: nobody has.
	Judged string `yaml:"judged"`

	// Studied says the same of what the study of public servers has found.
	Studied string `yaml:"studied"`

	// Tried says what was found in sandboxes, of a rule that takes writes, a provider or a contract; zero: it was not tried.
	Tried Tried `yaml:"tried"`

	Group string
}

// Tried are numbers of servers and findings.
type Tried struct {
	Servers  int `yaml:"servers,required"` // on which it was observed
	Broke    int `yaml:"broke,required"`
	Findings int `yaml:"findings,required"`
	False    int `yaml:"false,required"` // of the findings, as people found who looked at each
}

//go:embed rules.yaml
var rulesYAML []byte

// Rules returns the rules, in their order.
var Rules = sync.OnceValue(func() []*Rule {
	var file struct {
		Form   int `yaml:"form,required"`
		Groups []struct {
			Group string  `yaml:"group,required"`
			Rules []*Rule `yaml:"rules,required"`
		} `yaml:"groups,required"`
	}
	if err := strictyaml.Decode("rules.yaml", rulesYAML, &file); err != nil {
		panic(fmt.Sprintf("check: %v", err)) // it is a part of the program
	}
	var rules []*Rule
	for _, group := range file.Groups {
		for _, r := range group.Rules {
			r.Group = group.Group
			rules = append(rules, r)
		}
	}
	return rules
})
