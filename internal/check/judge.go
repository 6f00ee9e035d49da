package check

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/recoursehq/recourse/internal/check/server"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// verdict is what a rule's judge has found.
type verdict struct {
	kept   int // how often the rule was kept
	broken []breach
	tools  map[string]bool // of which it was seen; "": of the server
}

// breach is one place where a rule was broken.
type breach struct {
	tool *tool     // or nil
	at   *exchange // or nil
	said string
}

// of counts an observation: the rule is kept if said is empty.
func (v *verdict) of(tool *tool, at *exchange, said string) {
	if v.tools == nil {
		v.tools = map[string]bool{}
	}
	v.tools[nameOf(tool)] = true
	if said == "" {
		v.kept++
		return
	}
	v.broken = append(v.broken, breach{tool, at, said})
}

// judges has a function for each rule.
var judges = map[string]func(*transcript, *verdict){
	"hints":               hints,
	"hints-agree":         hintsAgree,
	"schema-usable":       schemaUsable,
	"names-differ":        namesDiffer,
	"list-ends":           listEnds,
	"write-settled":       writeSettled,
	"key-kept":            keyKept,
	"arguments-refused":   argumentsRefused,
	"argument-named":      argumentNamed,
	"arguments-at-once":   argumentsAtOnce,
	"argument-form":       argumentForm,
	"unknown-tool":        unknownTool,
	"failure-has-text":    failureHasText,
	"failure-says-why":    failureSaysWhy,
	"causes-apart":        causesApart,
	"same-again":          sameAgain,
	"absent-told":         absentTold,
	"absent-not-internal": absentNotInternal,
	"not-dressed":         notDressed,
	"success-not-marked":  successNotMarked,
	"no-stack":            noStack,
	"no-secret":           noSecret,
	"no-address":          noAddress,
	"no-query":            noQuery,
	"limit-says-wait":     limitSaysWait,
	"fits-output-schema":  fitsOutputSchema,
	"starts":              starts,
	"answers":             answers,
	"survives":            survives,
	"survives-garbage":    survivesGarbage,
	"unknown-method":      unknownMethod,
	"id-kept":             idKept,
	"version-answered":    versionAnswered,
	"header-checked":      headerChecked,
	"lost-session":        lostSession,
	"clean-stdout":        cleanStdout,
	"answers-once":        answersOnce,
	"split-lines":         splitLines,
	"many-at-once":        manyAtOnce,
	"alive-after-faults":  aliveAfterFaults,
	"cancel-ignored":      cancelIgnored,
	"starts-again":        startsAgain,
	"leaves":              leaves,
	"contract-form":       contractForm,
	"contract-advice":     contractAdvice,
	"provider-told":       providerTold,
	"provider-apart":      providerApart,
	"provider-wait":       providerWait,
	"provider-answers":    providerAnswers,
	"provider-once":       providerOnce,
	"repeated-write":      repeatedWrite,
	"parallel-write":      parallelWrite,
	"key-conflict":        keyConflict,
	"idempotent-kept":     idempotentKept,
	"reads-hold":          readsHold,
}

// Said before.

func hints(t *transcript, v *verdict) {
	for _, tool := range t.tools {
		said := ""
		if !tool.hinted() {
			said = "It has no readOnlyHint."
		}
		v.of(tool, nil, said)
	}
}

func hintsAgree(t *transcript, v *verdict) {
	for _, tool := range t.tools {
		a := tool.Annotations
		if a == (annotations{}) {
			continue
		}
		said := ""
		if says(a.ReadOnly) && says(a.Destructive) {
			said = "readOnlyHint and destructiveHint are both true."
		}
		v.of(tool, nil, said)
	}
}

func schemaUsable(t *transcript, v *verdict) {
	for _, tool := range t.tools {
		said := ""
		if tool.problem != nil {
			said = "Its inputSchema cannot be used: " + tool.problem.Error() + "."
		}
		v.of(tool, nil, said)
	}
}

func namesDiffer(t *transcript, v *verdict) {
	seen := map[string]bool{}
	if t.endless != "" {
		return // the same page may have come again
	}
	for _, tool := range t.tools {
		said := ""
		if seen[tool.Name] {
			said = "There are two tools of this name."
		}
		seen[tool.Name] = true
		v.of(tool, nil, said)
	}
}

func listEnds(t *transcript, v *verdict) {
	if t.listed {
		v.of(nil, nil, t.endless)
	}
}

func writeSettled(t *transcript, v *verdict) {
	reads := slices.ContainsFunc(t.tools, (*tool).reads)
	for _, tool := range t.tools {
		if !tool.writes() {
			continue
		}
		keyed := slices.ContainsFunc(tool.params, func(p param) bool { return p.isKey() })
		said := ""
		if !keyed && !says(tool.Annotations.Idempotent) && !reads {
			said = "It takes no idempotency key, is not idempotent, and no tool of the server says that it reads."
		}
		v.of(tool, nil, said)
	}
}

// inventions are words that have a model make a new key for each call.
var inventions = []string{
	"random", "generate a new", "a new uuid", "unique for each call", "unique per call", "unique for every", "uuid4", "uuidv4", "fresh",
}

func keyKept(t *transcript, v *verdict) {
	for _, tool := range t.tools {
		for i := range tool.params {
			p := &tool.params[i]
			if !p.isKey() {
				continue
			}
			description, said := p.description(), ""
			repeats := mentions(description, "same") || mentions(description, "retr") || mentions(description, "repeat")
			for _, words := range inventions {
				if mentions(description, words) && !repeats {
					said = fmt.Sprintf("%s is described as %s, and not that a repeat keeps it.", p.name, quoted(description))
				}
			}
			v.of(tool, nil, said)
		}
	}
}

// Arguments.

// wrongArguments are the probes with arguments that the schema forbids.
var wrongArguments = []probe{probeMissing, probeTypes, probeEnum, probeNull, probeUnknown, probeLarge, probeDeep}

func argumentsRefused(t *transcript, v *verdict) {
	for _, x := range t.of(wrongArguments...) {
		said := ""
		if !x.said.failed && x.said.dressed == "" {
			said = fmt.Sprintf("A call with %s succeeded: %s", x.step.probe, quoted(x.said.text))
		}
		v.of(x.step.tool, x, said)
	}
}

// refusedArguments returns the calls with wrong arguments that were refused with a text, and not for being calls of this tool.
func refusedArguments(t *transcript) (found []*exchange) {
	for _, x := range t.of(wrongArguments...) {
		if x.said.failed && x.said.text != "" && x.said.code != wire.CodeMethodNotFound {
			found = append(found, x)
		}
	}
	return found
}

func argumentNamed(t *transcript, v *verdict) {
	for _, x := range refusedArguments(t) {
		said := "None of " + names(x.step.wrong) + " is named: " + quoted(x.said.text)
		for _, name := range x.step.wrong {
			if mentions(x.said.text, name) {
				said = ""
			}
		}
		if said == "" || !blamesAnother(x) {
			v.of(x.step.tool, x, said)
		}
	}
}

func argumentsAtOnce(t *transcript, v *verdict) {
	for _, x := range refusedArguments(t) {
		if len(x.step.wrong) < 2 {
			continue
		}
		var missing []string
		for _, name := range x.step.wrong {
			if !mentions(x.said.text, name) {
				missing = append(missing, name)
			}
		}
		said := ""
		if len(missing) > 0 && len(missing) < len(x.step.wrong) {
			said = "Not named: " + names(missing) + "; only " + quoted(x.said.text)
		}
		v.of(x.step.tool, x, said)
	}
}

func argumentForm(t *transcript, v *verdict) {
	for _, x := range refusedArguments(t) {
		said := ""
		if x.said.rpc && x.said.code != wire.CodeInvalidParams {
			said = fmt.Sprintf("It is the JSON-RPC error %d: %s", x.said.code, quoted(x.said.text))
		}
		v.of(x.step.tool, x, said)
	}
}

func unknownTool(t *transcript, v *verdict) {
	for _, x := range t.of(probeNoTool) {
		said := ""
		switch {
		case !x.said.failed:
			said = "The call of a tool that does not exist succeeded: " + quoted(x.said.text)
		case x.said.rpc && x.said.code != wire.CodeInvalidParams:
			said = fmt.Sprintf("It is the JSON-RPC error %d: %s", x.said.code, quoted(x.said.text))
		case !mentions(x.said.text, noTool):
			said = "The tool is not named: " + quoted(x.said.text)
		}
		v.of(nil, x, said)
	}
}

// Living on.

func starts(t *transcript, v *verdict) {
	for _, x := range t.exchanges {
		if x.step.probe != probeStart {
			continue
		}
		said := ""
		if x.answer.Text == nil || x.said.failed {
			said = "initialize: " + x.why()
		}
		v.of(nil, x, said)
		return
	}
}

func answers(t *transcript, v *verdict) {
	for _, x := range t.exchanges {
		if x.step.probe == probeIDs || x.step.probe == probeGarbage { // rules of their own
			continue
		}
		said := ""
		if errors.Is(x.answer.Err, server.ErrSilent) {
			said = "No answer in time to " + x.step.describe()
		}
		v.of(x.step.tool, x, said)
	}
}

func survives(t *transcript, v *verdict) {
	for _, x := range t.exchanges {
		if x.step.probe == probeGarbage || x.step.probe == probeStart {
			continue
		}
		said := ""
		if x.died {
			said = "It ended at " + x.step.describe()
		}
		v.of(x.step.tool, x, said)
	}
}

func survivesGarbage(t *transcript, v *verdict) {
	var last *exchange
	for _, x := range t.exchanges {
		if x.step.probe == probeGarbage {
			last = x
		}
	}
	if last == nil {
		return
	}
	said := ""
	if last.answer.Err != nil {
		said = "After a text that is not JSON, it does not answer any more: " + last.answer.Err.Error()
	}
	v.of(nil, last, said)
}

func unknownMethod(t *transcript, v *verdict) {
	for _, x := range t.exchanges {
		if x.step.probe != probeMethod {
			continue
		}
		said := ""
		switch {
		case x.answer.Text == nil:
			said = "There is no answer: " + x.why()
		case !x.said.rpc:
			said = "It is answered with a result."
		case x.said.code != wire.CodeMethodNotFound:
			said = fmt.Sprintf("It is the JSON-RPC error %d: %s", x.said.code, quoted(x.said.text))
		}
		v.of(nil, x, said)
	}
}

func idKept(t *transcript, v *verdict) {
	for _, x := range t.exchanges {
		if x.step.probe != probeIDs {
			continue
		}
		said := ""
		if x.answer.Text == nil {
			said = "A request with such an id has no answer with the same id: " + string(x.sent)
		}
		v.of(nil, x, said)
	}
}

func versionAnswered(t *transcript, v *verdict) {
	for _, x := range t.exchanges {
		if x.step.probe != probeVersion {
			continue
		}
		said := ""
		if x.answer.Text == nil || x.said.failed && x.said.code != wire.CodeUnsupportedVersion {
			said = "initialize with the version 2099-01-01: " + x.why()
		}
		v.of(nil, x, said)
	}
}

func headerChecked(t *transcript, v *verdict) { status(t, v, probeHeader, http.StatusBadRequest) }

func lostSession(t *transcript, v *verdict) { status(t, v, probeSession, http.StatusNotFound) }

// status judges by the status of an answer.
func status(t *transcript, v *verdict, of probe, want int) {
	for _, x := range t.exchanges {
		if x.step.probe != of || x.answer.Status == 0 {
			continue
		}
		said := ""
		if x.answer.Status != want {
			said = fmt.Sprintf("The status is %d.", x.answer.Status)
		}
		v.of(nil, x, said)
	}
}

func cleanStdout(t *transcript, v *verdict) {
	if !t.stdio || len(t.exchanges) == 0 {
		return
	}
	for _, s := range t.strays {
		if s.What == server.Garbage {
			v.of(nil, nil, "It wrote "+quoted(s.Text))
			return
		}
	}
	v.of(nil, nil, "")
}

func answersOnce(t *transcript, v *verdict) {
	if len(t.exchanges) < 2 {
		return
	}
	for _, s := range t.strays {
		if s.What == server.Second || s.What == server.Foreign {
			words := map[server.Sort]string{server.Second: "A second answer to one request: ", server.Foreign: "An answer to no request: "}
			v.of(nil, nil, words[s.What]+quoted(s.Text))
			return
		}
	}
	v.of(nil, nil, "")
}

func splitLines(t *transcript, v *verdict) {
	for i, x := range t.at(probeSplit) {
		said := ""
		if x.answer.Text == nil {
			said = []string{"A message in two pieces", "The second of two messages in one piece"}[min(i, 1)] + " has no answer."
		}
		v.of(nil, x, said)
	}
}

func manyAtOnce(t *transcript, v *verdict) {
	for _, x := range t.at(probeAtOnce) {
		said := ""
		if x.answer.Text == nil {
			said = "Of twenty tools/list at once, one has no answer: " + x.why()
		}
		v.of(nil, x, said)
	}
}

func aliveAfterFaults(t *transcript, v *verdict) {
	for _, x := range t.at(probeFaults) {
		said := ""
		if x.answer.Text == nil || x.said.failed {
			said = "After calls that failed: " + x.why()
		}
		v.of(nil, x, said)
	}
}

func cancelIgnored(t *transcript, v *verdict) {
	for i, x := range t.at(probeCancel) {
		said := ""
		if x.died || i == 1 && x.answer.Text == nil {
			said = "After the cancellation of a request that is over: " + x.why()
		}
		v.of(nil, x, said)
	}
}

func startsAgain(t *transcript, v *verdict) {
	if t.again != nil {
		said := ""
		if !*t.again {
			said = "Killed and started again, it does not answer initialize: " + t.stopped
		}
		v.of(nil, nil, said)
	}
}

func leaves(t *transcript, v *verdict) {
	for _, clean := range t.left {
		said := ""
		if t.stdio && !clean {
			said = "It still ran 5 s after its input had ended."
		}
		if t.stdio {
			v.of(nil, nil, said)
		}
	}
}

// at returns the exchanges of a probe, answered or not.
func (t *transcript) at(p probe) (found []*exchange) {
	for _, x := range t.exchanges {
		if x.step.probe == p {
			found = append(found, x)
		}
	}
	return found
}
