package wild

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Finding is what the families make of an answer.
type Finding struct {
	Error *recourse.Error // the caller may change it
	Sign  string          // by which it was recognised
	Last  bool            // its family has `last: true`
}

// Find reads an answer that is a failure: its text, and the objects in it. own are the families that a user has added
// or named; the built-in ones are always known.
func Find(own []*Family, now time.Time, text string, objects []*json.Node) (f Finding, ok bool) {
	if best := find(own, now, text, objects); best != nil {
		return best.public(), true
	}
	return Finding{}, false
}

func (f *hit) public() Finding {
	return Finding{Error: &f.e, Sign: "family " + f.form.family.Name(), Last: f.form.family.File.Last}
}

// find returns what the families make of an answer, completed with the members that the objects of many systems share;
// nil if nothing.
func find(own []*Family, now time.Time, text string, objects []*json.Node) *hit {
	s := &search{now: now}
	objects = withInner(text, objects)
	s.parts(indexes(own), text, objects)
	best := s.result()
	if best == nil {
		return nil
	}
	e := &best.e
	for _, object := range objects {
		said := AddObject(e, object)
		if len(e.Violations) > 0 { // a list in the object is theirs
			said = sentenceIn(object, 1)
		}
		e.Message = moreTelling(e.Message, said)
	}
	if e.Message == "" || !strings.HasPrefix(strings.TrimSpace(text), "{") {
		e.Message = text
	}
	best.objections(objects)
	if SaysDone(e.Message) || best.afterBreak() {
		e.Effect = recourse.EffectUnknown
	}
	e.Message = clean.Message(e.Message)
	return best
}

// objections adds to a finding about arguments the violations that no form reads: sentences by parameter, and Ajv's clauses
// in the sentence.
func (f *hit) objections(objects []*json.Node) {
	e := &f.e
	if e.Kind.Class() != recourse.ClassInput {
		return
	}
	var said []recourse.Violation
	for _, object := range objects {
		if len(e.Violations)+len(said) == 0 {
			said = fieldViolations(object)
		}
	}
	if ajv := ajvViolations(e.Message, nil); len(ajv) > len(e.Violations) || f.form.object == nil {
		said = append(said, ajv...)
	}
	if len(said) > 0 {
		e.Kind, e.Violations = arranged(said), said
	}
}

// indexes returns the indexes of a user's own families, then that of the built-in ones.
func indexes(own []*Family) []*index {
	var list []*index
	for _, f := range own {
		if !f.builtin {
			list = append(list, f.index())
		}
	}
	return append(list, builtinIndex())
}

// FindWeak returns the family in a weak form of which an answer is that reports success; nil: there is none.
func FindWeak(families []*Family, now time.Time, text string, objects []*json.Node) *Family {
	s := &search{now: now, weak: families}
	s.parts(indexes(families), strings.TrimPrefix(strings.TrimSpace(text), "Error: "), objects)
	if len(s.findings) > 0 {
		return s.findings[0].form.family
	}
	i := slices.IndexFunc(families, func(f *Family) bool { return f.builtin && f.Name() == general })
	if i >= 0 && saysFailed(text, objects) {
		return families[i]
	}
	return nil
}

// FindInBody reads the body of an HTTP error; said is what its status and headers say. The status takes precedence over
// a phrase, unless the status says little.
func FindInBody(own []*Family, now time.Time, said *recourse.Error, body []byte) (f Finding, ok bool) {
	text := string(body[:min(len(body), maxSearchedObject)])
	var objects []*json.Node
	if object := strings.TrimSpace(text); strings.HasPrefix(object, "{") {
		objects = []*json.Node{json.NodeOf(json.Value(object))}
	}
	best := find(own, now, text, objects)
	sentence := ""
	if objects == nil {
		sentence = SentenceOf(text)
	}
	if best == nil || best.rank < leastRank(said, objects != nil || sentence != "") {
		return Finding{}, false
	}
	if objects == nil {
		best.e.Message = cmp.Or(sentence, said.Message)
	}
	return best.public(), true
}

// leastRank returns the rank that a finding in the body needs to take precedence over the HTTP status; spoken says that the
// body is an object or a sentence rather than a page. Some statuses say little, and some services use certain others for
// anything.
func leastRank(said *recourse.Error, spoken bool) int {
	status := said.Upstream.Status
	switch {
	case said.Kind == recourse.KindClientError && spoken:
		return rankLast
	case said.Kind == recourse.KindClientError, status == http.StatusForbidden, status == http.StatusInternalServerError:
		return rankKind
	default:
		return rankObject
	}
}

// MaxWraps limits how many layers of runtime prefixes are removed.
const MaxWraps = 4

// Unwrap returns a text without a runtime's prefix, and the code in that prefix.
func Unwrap(own []*Family, text string) (rest, code string, ok bool) {
	text = strings.TrimSpace(text)
	for _, f := range own {
		if rest, code, ok = f.unwrapped(text); ok {
			return rest, code, true
		}
	}
	for _, f := range builtin() {
		if rest, code, ok = f.unwrapped(text); ok {
			return rest, code, true
		}
	}
	return text, "", false
}
