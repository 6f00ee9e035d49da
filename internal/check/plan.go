package check

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A probe is what a step is made for.
type probe string

// The probes.
const (
	probeMissing     probe = "required arguments left out"
	probeTypes       probe = "arguments of wrong types"
	probeEnum        probe = "a value that is not in the list"
	probeBounds      probe = "a number beyond its bounds"
	probeFormat      probe = "a text in another format"
	probeNull        probe = "null for a value"
	probeUnknown     probe = "an argument that the tool does not have"
	probeLarge       probe = "1 MB where another type is asked for"
	probeDeep        probe = "100 levels where another type is asked for"
	probeAbsent      probe = "an id that cannot exist"
	probeAbsentAgain probe = "the same id again"
	probeUnicode     probe = "an id of other letters, which cannot exist"
	probeHangUp      probe = "ten clients that hang up"
	probeNoTool      probe = "a tool that does not exist"
	probeNoToolAgain probe = "the same tool again"
	probeMethod      probe = "a method that does not exist"
	probeIDs         probe = "ids of all forms"
	probeCancel      probe = "the cancellation of a call that is over"
	probeSplit       probe = "a message in two pieces, and two in one"
	probeAtOnce      probe = "twenty requests at once"
	probeFaults      probe = "two hundred failing calls"
	probeGarbage     probe = "a text that is not JSON"
	probeVersion     probe = "an unknown protocol version"
	probeHeader      probe = "an unknown version in the header"
	probeSession     probe = "a session that it does not know"
	probeKill        probe = "its end by force, and another start"
	probeList        probe = "tools/list"
	probeStands      probe = "what the verify call shows"
	probeVerify      probe = "what a write has done"
	probeWrites      probe = "the writes of --writes: their answer lost, twice at once, the same key with other arguments"
)

// step is one thing that is done.
type step struct {
	probe probe
	tool  *listedTool // nil: it is no call of a tool
	args  json.Value  // of the call
	wrong []string    // the arguments that are wrong in it
	do    func(*runner, step)

	modern bool // it is taken in the modern era, of a server of both
}

// describe says what the step does, for a person who wants to know beforehand.
func (s *step) describe() string {
	probe := string(s.probe)
	if s.modern {
		probe += ", in the modern era"
	}
	if s.tool == nil {
		return probe
	}
	shown := string(s.args)
	if len(shown) > 100 {
		shown = shown[:97] + "..."
	}
	return fmt.Sprintf("%s %s: %s", s.tool.Name, shown, probe)
}

// maxToolsCalled is how many tools are called at most.
const maxToolsCalled = 60

// absentID is an id that nothing has. It is the same in each run.
const absentID = "recourse-check-0f5c2e-no-such-thing"

// unicodeID is another one, with letters of two, three and four bytes.
const unicodeID = "recourse-check-ü☂𝄞-no-such-thing"

// plan returns what a mode does with a server.
func plan(mode Mode, t *transcript) (steps []step) {
	if !mode.includes(Safe) {
		return nil
	}
	add := func(p probe, do func(*runner, step)) { steps = append(steps, step{probe: p, do: do}) }
	owner := mode.includes(Owner)
	if owner {
		add(probeStands, (*runner).stands)
	}
	for _, tool := range t.tools[:min(len(t.tools), maxToolsCalled)] {
		steps = append(steps, callsOf(tool)...)
	}
	if owner {
		add(probeStands, (*runner).stands)
		add(probeWrites, (*runner).writes)
		add(probeSlow, (*runner).slow)
	}
	if mode.includes(Wired) {
		add(probeProvider, (*runner).wired)
	}
	steps = append(steps, ofProtocol(t)...)
	if t.other != nil {
		steps = append(steps, planModern(t)...)
	}
	if t.stdio {
		add(probeSplit, (*runner).split)
	}
	if !t.stdio && !t.long() {
		add(probeHangUp, (*runner).hangUps)
	}
	if t.sessions {
		add(probeSession, (*runner).session)
	}
	if !t.long() {
		add(probeAtOnce, (*runner).atOnce)
		add(probeFaults, (*runner).faults)
	}
	if t.stdio {
		add(probeKill, (*runner).kill)
	}
	return steps
}

// callsOf returns the calls of a tool that may be made of any server. A tool that says that it destroys is not called. One that
// does not say that it only reads is only called without what it requires, or with all of that of another type: it cannot do its
// work then, even if it does not check.
func callsOf(t *listedTool) (steps []step) {
	if t.schema == nil || says(t.Annotations.Destructive) && !t.reads() {
		return nil
	}
	add := func(p probe, arguments json.Value, wrong ...string) {
		if t.forbids(arguments) {
			steps = append(steps, step{probe: p, tool: t, args: arguments, wrong: wrong})
		}
	}
	required := t.required()
	if len(required) > 0 {
		add(probeMissing, json.Value("{}"), required...)
	}
	if values, wrong := wrongTypes(t); len(wrong) > 0 && len(wrong) == len(required) {
		add(probeTypes, values.AppendTo(nil), wrong...)
	}
	if t.reads() {
		readCalls(t, add)
		steps = append(steps, absentCalls(t)...)
	}
	return steps
}

// readCalls adds the calls that only a tool that reads gets: they go wrong in one place.
func readCalls(t *listedTool, add func(probe, json.Value, ...string)) {
	one := func(p probe, of func(*param) json.Value) {
		for i := range t.params {
			value := of(&t.params[i])
			if arguments := with(t, t.params[i].name, value); value != nil && t.forbids(arguments) {
				add(p, arguments, t.params[i].name)
				return
			}
		}
	}
	one(probeEnum, func(p *param) json.Value {
		if len(p.enum) > 0 && p.takes("string") {
			return json.AppendQuote(nil, "recourse-check")
		}
		return nil
	})
	one(probeBounds, (*param).beyond)
	one(probeFormat, (*param).unformed)
	one(probeNull, func(p *param) json.Value {
		if p.required && len(p.types) > 0 && !p.takes("null") {
			return json.Value("null")
		}
		return nil
	})
	one(probeLarge, func(p *param) json.Value {
		if len(p.types) > 0 && !p.takes("string") {
			return long(1 << 20)
		}
		return nil
	})
	one(probeDeep, func(p *param) json.Value {
		if len(p.types) > 0 && !p.takes("array") {
			return deep(100)
		}
		return nil
	})
	add(probeUnknown, with(t, "recourse_check", json.Value("true")), "recourse_check")
}

// absentCalls returns the calls that ask for what cannot exist, if the tool requires an id, and all else that it requires can be
// made up.
func absentCalls(t *listedTool) []step {
	var id string
	for i := range t.params {
		if p := &t.params[i]; p.required && p.isID() && len(p.enum) == 0 && (p.takes("string") || p.takes("integer")) {
			id = p.name
			break
		}
	}
	arguments := with(t, "", nil)
	if id == "" || !t.allows(arguments) {
		return nil
	}
	return []step{
		{probe: probeAbsent, tool: t, args: arguments, wrong: []string{id}},
		{probe: probeAbsentAgain, tool: t, args: arguments, wrong: []string{id}},
		{probe: probeUnicode, tool: t, args: bytes.ReplaceAll(arguments, []byte(absentID), []byte(unicodeID)), wrong: []string{id}},
	}
}

// with returns the arguments that the tool requires, made up, and that value for one parameter.
func with(t *listedTool, name string, value json.Value) json.Value {
	var values json.Members
	for i := range t.params {
		if p := &t.params[i]; p.name != name && p.required {
			values.Add(p.name, p.plausible(absentID))
		}
	}
	if name != "" {
		values.Add(name, value)
	}
	return values.AppendTo(nil)
}

// wrongTypes returns values of wrong types for what the tool requires, and the names.
func wrongTypes(t *listedTool) (values json.Members, wrong []string) {
	for i := range t.params {
		p := &t.params[i]
		if !p.required {
			continue
		}
		if value := p.wrong(); value != nil {
			values.Add(p.name, value)
			wrong = append(wrong, p.name)
		}
	}
	return values, wrong
}

// names joins names for a sentence.
func names(list []string) string { return strings.Join(list, ", ") }
