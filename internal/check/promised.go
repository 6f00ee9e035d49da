package check

import (
	"slices"

	"github.com/recoursehq/recourse/contract"
)

// The rules about the contract that the server promises.

func contractForm(t *transcript, v *verdict) {
	for _, x := range t.exchanges {
		if t.promised == nil || x.step.tool == nil || !x.said.failed && x.said.dressed == "" {
			continue
		}
		broken := x.said.form == nil || x.said.form.Name != t.promised.Name
		v.of(x.step.tool, x, when(broken, "It is not in the form of %s: %s", t.promised.Name, quoted(x.said.text)))
	}
}

func contractAdvice(t *transcript, v *verdict) {
	if t.promised == nil || !t.listed {
		return
	}
	for _, name := range t.promised.AdvisedTools() {
		broken := !slices.ContainsFunc(t.tools, func(tool *listedTool) bool { return tool.Name == name })
		v.of(nil, nil, when(broken, "%s advises a call of %s, which the server does not have.", t.promised.Name, name))
	}
}

// nearest returns the built-in contract in whose form most failures of tools are, and how many there are of how many; "": none.
func (t *transcript) nearest() (name string, in, of int) {
	count := map[string]int{}
	for _, x := range t.failures() {
		if x.step.tool == nil {
			continue
		}
		of++
		if x.said.form != nil {
			count[x.said.form.Name]++
		}
	}
	for _, candidate := range contract.Builtin().Names() {
		if count[candidate] > in {
			name, in = candidate, count[candidate]
		}
	}
	return name, in, of
}
