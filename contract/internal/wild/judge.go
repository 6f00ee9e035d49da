package wild

import (
	"regexp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/language"
)

// Findings are ranked by how the form says what happened, then by how many of its words matched.
const (
	rankUnsure  = 300 // a status that is often wrong
	rankVague   = 400 // a text that says that something failed, and not why
	rankLast    = 500 // a family with `last: true`
	rankStatus  = 1000
	rankWord    = 1500 // a code listed by such a family
	rankKind    = 2000
	rankPlaces  = 2500 // a text that lists invalid arguments
	rankObject  = 3000 // an object whose form has a kind
	rankGlob    = 3800 // a code that matches a *
	rankCode    = 4000
	rankForeign = 10000 // a user's own family
	// What a person has to set up at the server is the cause of whatever else a text says.
	rankSetupLast = 1200
	rankSetup     = 5000
)

// judge decides what a finding says: the meaning of its code, else the violations or the form's kind, else
// the HTTP status.
func (f *hit) judge() {
	e, family := &f.e, f.form.family
	f.place()
	listed, exact := family.meaning(e.Upstream.Code)
	if listed == nil && strings.Contains(e.Upstream.Code, " ") {
		e.Upstream.Code = "" // a sentence
	}
	switch {
	case e.Upstream.Code != "" && listed != nil:
		f.rank = rankCode
		if !exact {
			f.rank = rankGlob
		}
		e.Kind = listed.kind
		language.Store(listed.set, f.record())
		if kind := arranged(e.Violations); e.Kind.Class() == recourse.ClassInput && kind != recourse.KindInvalidValue {
			e.Kind = kind // more specific than the code
		}
	case len(e.Violations) > 0 && (f.form.kind == "" || f.form.kind.Class() == recourse.ClassInput):
		if f.rank = rankPlaces; f.form.object != nil {
			f.rank = rankObject
		}
		e.Kind = arranged(e.Violations)
	case f.form.kind != "":
		f.rank, e.Kind = f.form.rank(), f.form.kind
	case isFailure(e.Upstream.Status):
		f.rank = rankStatus
		status := recourse.FromStatus("", e.Upstream.Status)
		e.Kind = status.Kind
		if e.Effect == "" {
			e.Effect = status.Effect
		}
	}
	if f.rank == 0 && family.File.Last && f.form.object == nil {
		e.Upstream.Code = "" // the word of a sentence
	}
	f.weigh(listed)
	if f.rank > 0 && !family.builtin {
		f.rank += rankForeign
	}
}

// weigh adapts the rank to how sure the words are, and what they are about; listed is the meaning of the code, or nil.
func (f *hit) weigh(listed *familyCode) {
	last := f.form.family.File.Last
	switch {
	case f.rank == 0:
		return
	case f.quoted:
		f.rank /= 10
		return
	case f.rank == rankStatus && f.e.Kind == recourse.KindClientError:
		f.rank = rankUnsure
	case listed != nil && last && listed.vague:
		f.rank = rankVague
	case listed != nil && (last || listed.vague):
		f.rank = rankWord
	case last && f.rank == rankKind:
		f.rank = rankLast
	}
	if f.e.Retry != recourse.RetryAfterSetup {
		return
	}
	f.rank = rankSetup
	if last {
		f.rank = rankSetupLast
	}
}

// isCrash reports whether an object has a code for whatever went wrong at the server: its sentence may still say what.
func (f *hit) isCrash() bool {
	return f.form.object != nil && f.rank == rankVague && f.e.Kind == recourse.KindServerError
}

// rank returns the rank of a match whose kind is the form's own.
func (f *familyForm) rank() int {
	switch {
	case f.object != nil:
		return rankObject
	case f.vague:
		return rankVague
	default:
		return rankKind
	}
}

// place completes the violations: each name below a parameter becomes one of its own, the pointer and the
// parameter are derived from each other, and the system's words for rules become JSON Schema keywords.
func (f *hit) place() {
	var list []recourse.Violation
	for i, v := range f.e.Violations {
		v.Message = strings.TrimSpace(v.Message)
		if names := f.form.family.rule(&v); f.names[i] == nil && names != nil {
			f.item = i
			for _, name := range names {
				f.name(name)
			}
		}
		if v.Param == "" && v.Pointer != "" {
			v.Param = strings.Join(pointerSteps(strings.TrimPrefix(v.Pointer, "#")), ".")
		}
		if v.Param == "" && v.Message == "" && f.names[i] == nil {
			continue // only a rule, from a code that names no parameter
		}
		var steps []string
		if v.Param != "" {
			steps = strings.FieldsFunc(v.Param, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
		}
		list = append(list, atEach(v, steps, f.names[i])...)
	}
	if f.e.Violations = list; f.form.family.Name() == "pydantic" {
		f.e.Violations = withoutBranches(list)
	}
}

// arranged returns the kind for rejected arguments: the first of argumentKinds among the violations, as in the gateway's own
// validation. It puts those of that kind first, which are told first, and adds what is wanted where a sentence alone says it.
func arranged(violations []recourse.Violation) recourse.Kind {
	kind := recourse.KindInvalidValue
	for _, candidate := range slices.Backward(argumentKinds) {
		if slices.ContainsFunc(violations, func(v recourse.Violation) bool { return ruleKind(v.Rule) == candidate }) {
			kind = candidate
		}
	}
	rank := func(v recourse.Violation) int {
		if ruleKind(v.Rule) == kind {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(violations, func(a, b recourse.Violation) int { return rank(a) - rank(b) })
	for i := range violations {
		if v := &violations[i]; v.Want == "" {
			v.Want = wanted(v.Message)
		}
	}
	return kind
}

// reWanted is how pydantic and others say what they want: "Input should be a valid integer, got a number with ...".
var reWanted = regexp.MustCompile(`^(?:Input|Value|value|It) (?:should|must) be (?:an? )?(?:valid )?([^,\[\n]{1,128})`)

func wanted(message string) string {
	if m := reWanted.FindStringSubmatch(message); m != nil {
		return strings.TrimRight(m[1], " .")
	}
	return ""
}

// isSetup reports whether the finding says that a person has to set something up at the server.
func (f *hit) isSetup() bool {
	return f.rank >= rankSetupLast && f.e.Retry == recourse.RetryAfterSetup
}

// isJob reports whether the finding says that a command or a script has failed.
func (f *hit) isJob() bool { return f.rank > 0 && f.e.Kind == recourse.KindJobFailed }
