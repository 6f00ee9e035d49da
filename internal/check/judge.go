package check

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/recoursehq/recourse"
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
	tool *listedTool // or nil
	at   *exchange   // or nil
	said string
}

// of counts an observation: the rule is kept if said is empty.
func (v *verdict) of(tool *listedTool, at *exchange, said string) {
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

// when says how a rule was broken, if it was.
func when(broken bool, format string, args ...any) string {
	if !broken {
		return ""
	}
	return fmt.Sprintf(format, args...)
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
	"cancel-running":      cancelRunning,
	"slow-beside":         slowBeside,
	"hang-ups":            hangUps,
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
		v.of(tool, nil, when(!tool.hinted(), "It has no readOnlyHint."))
	}
}

func hintsAgree(t *transcript, v *verdict) {
	for _, tool := range t.tools {
		a := tool.Annotations
		if a == (annotations{}) {
			continue
		}
		v.of(tool, nil, when(says(a.ReadOnly) && says(a.Destructive), "readOnlyHint and destructiveHint are both true."))
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
	reads := slices.ContainsFunc(t.tools, (*listedTool).reads)
	for _, tool := range t.tools {
		if !tool.writes() {
			continue
		}
		keyed := slices.ContainsFunc(tool.params, func(p param) bool { return p.isKey() })
		broken := !keyed && !says(tool.Annotations.Idempotent) && !reads
		v.of(tool, nil, when(broken, "It takes no idempotency key, is not idempotent, and no tool of the server says that it reads."))
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
var wrongArguments = []probe{probeMissing, probeTypes, probeEnum, probeBounds, probeFormat, probeNull, probeUnknown, probeLarge, probeDeep}

func argumentsRefused(t *transcript, v *verdict) {
	for _, x := range t.of(wrongArguments...) {
		said := ""
		told := x.step.probe == probeUnknown && mentions(x.said.text, x.step.wrong[0]) // that it was ignored
		if !x.said.failed && x.said.dressed == "" && !told {
			said = fmt.Sprintf("A call with %s succeeded: %s", x.step.probe, quoted(x.said.text))
		}
		v.of(x.step.tool, x, said)
	}
}

// ofElse reports whether a failure is of something else than the call: the machine, the network, an account, what the client can do.
func (s *said) ofElse() bool {
	if s.record == nil {
		return false
	}
	switch s.record.Kind.Class() {
	case recourse.ClassAuth, recourse.ClassAllowance, recourse.ClassUpstream:
		return true
	default:
		return s.record.Retry == recourse.RetryAfterSetup || s.record.Kind == recourse.KindMissingCapability
	}
}

// refusedArguments returns the calls with wrong arguments that were refused with a text, and not for being calls of this tool.
func refusedArguments(t *transcript) (found []*exchange) {
	for _, x := range t.of(wrongArguments...) {
		if x.said.failed && x.said.text != "" && x.said.code != wire.CodeMethodNotFound && !x.said.ofElse() {
			found = append(found, x)
		}
	}
	return found
}

// names reports whether the text names an argument, as it is spelled or in words: "Base color" for baseColor.
func (s *said) names(argument string) bool {
	return mentions(s.text, argument) || inWords(s.text, argument)
}

// inWords reports whether a text has a name of several words, however they are put together.
func inWords(text, name string) bool {
	several := strings.ContainsAny(name, "_- ") || strings.ToLower(name) != name
	return several && mentions(together(text), together(name))
}

// together leaves out all that is neither a letter nor a digit.
func together(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

func argumentNamed(t *transcript, v *verdict) {
	for _, x := range refusedArguments(t) {
		said := "None of " + names(x.step.wrong) + " is named: " + quoted(x.said.text)
		for _, name := range x.step.wrong {
			if x.said.names(name) {
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
			if !x.said.names(name) {
				missing = append(missing, name)
			}
		}
		broken := len(missing) > 0 && len(missing) < len(x.step.wrong)
		v.of(x.step.tool, x, when(broken, "Not named: %s; only %s", names(missing), quoted(x.said.text)))
	}
}

func argumentForm(t *transcript, v *verdict) {
	for _, x := range refusedArguments(t) {
		broken := x.said.rpc && x.said.code != wire.CodeInvalidParams
		v.of(x.step.tool, x, when(broken, "It is the JSON-RPC error %d: %s", x.said.code, quoted(x.said.text)))
	}
}

func unknownTool(t *transcript, v *verdict) {
	for _, x := range t.of(probeNoTool) {
		said := ""
		switch {
		case x.said.ofElse(): // it did not come so far
			continue
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

// each judges the exchanges of a probe, answered or not: said says how the rule was broken, and is empty where it was kept.
func (t *transcript) each(v *verdict, p probe, said func(*exchange) string) {
	for _, x := range t.at(p) {
		v.of(nil, x, said(x))
	}
}

// at returns the exchanges of a probe, answered or not; none if the server asked to wait or to sign in meanwhile.
func (t *transcript) at(p probe) (found []*exchange) {
	for _, x := range t.exchanges {
		switch {
		case x.step.probe != p:
		case x.asks() != "":
			return nil
		default:
			found = append(found, x)
		}
	}
	return found
}
