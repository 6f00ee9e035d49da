package wild

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

const (
	// maxSearched limits how much of the beginning of a text is searched, and maxSearchedEnd how much of its
	// end, where a traceback says what happened. Both are in bytes.
	maxSearched    = 8 << 10
	maxSearchedEnd = 2 << 10
	// maxSearchedObject limits the size of the objects that are searched, in bytes.
	maxSearchedObject = 64 << 10
)

// A hit is a match of one form.
type hit struct {
	form   *familyForm
	now    time.Time
	e      recourse.Error
	fixed  int    // how many bytes of the form's own words matched
	text   string // in which it was found; empty for an object
	at     int    // where the match begins
	rank   int
	quoted bool             // the text only quotes it
	item   int              // the index of the current violation
	names  map[int][]string // names below the parameter, by violation
}

func (f *hit) record() reflect.Value { return reflect.ValueOf(&f.e).Elem() }

// name adds a name below the parameter of the current violation.
func (f *hit) name(name string) {
	if f.names == nil {
		f.names = map[int][]string{}
	}
	f.names[f.item] = append(f.names[f.item], name)
}

// A search looks for families' forms in the parts of an answer.
type search struct {
	now      time.Time
	weak     []*Family // if set, only their weak forms count
	findings []*hit
	spare    *hit // an unused finding
}

// finding returns a new one.
func (s *search) finding(form *familyForm) *hit {
	f := s.spare
	s.spare = nil
	if f == nil {
		f = new(hit)
	}
	*f = hit{form: form, now: s.now}
	language.Store(form.set, f.record())
	return f
}

// text searches a text.
func (s *search) text(x *index, text string) {
	if len(text) > maxSearched+maxSearchedEnd {
		s.window(x, text[:maxSearched])
		text = text[len(text)-maxSearchedEnd:]
	}
	s.window(x, text)
}

func (s *search) window(x *index, text string) {
	var captures [8]capture
	eachIndexed(x, text, func(in indexed, at int) {
		f := in.form
		if f.object != nil || !s.counts(f) {
			return
		}
		p := f.phrases[in.by]
		if s.has(f, p.fixed) {
			return
		}
		found, start, end := p.match(text, at, captures[:0])
		if end == 0 || (f.only || s.weak != nil) && start > 0 || s.weak != nil && end < len(text) {
			return
		}
		finding := s.finding(f)
		finding.text, finding.fixed, finding.at, finding.quoted = text, p.fixed, start, isQuoted(text, start)
		for _, c := range found {
			finding.capture(c, finding.record())
		}
		finding.violations(text)
		s.findings = append(s.findings, finding)
	})
}

// reMember matches the beginning of a member of an object that is printed over several lines.
var reMember = regexp.MustCompile(`^\s*"[^"]*": `)

// isQuoted reports whether a place in a text is between quotation marks. In JSON, and in values that programs
// print, everything is.
func isQuoted(text string, at int) bool {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	if strings.ContainsAny(line, "{[(=") || reMember.MatchString(line) {
		return false
	}
	for _, mark := range []string{`"`, `'`} {
		open := false
		for i := range len(line) {
			if line[i] == mark[0] && (open || i == 0 || line[i-1] == ' ') {
				open = !open
			}
		}
		if open && at > 0 && strings.Contains(text[at:], mark) {
			return true
		}
	}
	return false
}

// has reports whether there already is a finding of the form that matched as much.
func (s *search) has(f *familyForm, fixed int) bool {
	return slices.ContainsFunc(s.findings, func(other *hit) bool { return other.form == f && other.fixed >= fixed })
}

// counts reports whether this search looks for the form.
func (s *search) counts(f *familyForm) bool {
	return s.weak == nil || f.weak && slices.Contains(s.weak, f.family)
}

// capture stores the text captured at a place.
func (f *hit) capture(c capture, base reflect.Value) {
	switch c.at.path.Src {
	case placeAny, placeWords:
	case placeNames:
		for _, name := range namesIn(c.text) {
			f.name(name)
		}
	case placeAfter:
		f.e.RetryAfter, _ = spelledWait(c.text)
	case placeAt:
		f.e.RetryAfter, _ = spelledTime(c.text, f.now)
	default:
		c.at.path.SetText(base, strings.TrimSpace(c.text))
	}
}

var reNames = regexp.MustCompile(`"([^"]*)"|'([^']*)'|([^\s,'"\[\]]+)`)

// namesIn returns the names in a list, quoted or not.
func namesIn(list string) []string {
	var names []string
	for _, m := range reNames.FindAllStringSubmatch(list, maxViolations) {
		if name := m[1] + m[2] + m[3]; name != "and" {
			names = append(names, name)
		}
	}
	return names
}

// violations reads the violations that a text lists, in order.
func (f *hit) violations(text string) {
	type place struct {
		at, end  int
		isOpen   bool // its last place extends to the next violation
		captures []capture
		rule     string
	}
	var places []place
	for _, p := range f.form.each {
		key := p.parts[p.key].literal
		for from := 0; len(places) < maxViolations; {
			at := indexFold(text[from:], key)
			if at < 0 {
				break
			}
			at += from
			from = at + len(key)
			if found, start, end := p.match(text, at, nil); end > 0 {
				last := p.parts[len(p.parts)-1].place
				isOpen := last != nil && last.class == classAny
				places = append(places, place{start, end, isOpen, found, p.rule})
				if !isOpen {
					from = max(end-1, from)
				}
			}
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Or(a.at-b.at, b.end-a.end) })
	places = slices.CompactFunc(places, func(a, b place) bool { return a.at == b.at || a.end == b.end && !a.isOpen })
	for i, place := range places {
		if i+1 < len(places) && place.isOpen && place.end > places[i+1].at {
			last := &place.captures[len(place.captures)-1]
			last.text = last.text[:max(0, len(last.text)-(place.end-places[i+1].at))]
		}
		f.item = len(f.e.Violations)
		f.e.Violations = append(f.e.Violations, recourse.Violation{Rule: place.rule})
		for _, c := range place.captures {
			f.capture(c, reflect.ValueOf(&f.e.Violations[f.item]).Elem())
		}
	}
}

// object searches an object.
func (s *search) object(x *index, root *json.Node) {
	eachIndexed(x, root.Raw, func(in indexed, _ int) {
		f := in.form
		if f.object == nil || !s.counts(f) || s.has(f, 0) || s.weak != nil && !f.object.names(root) {
			return
		}
		finding := s.finding(f)
		if !f.object.read(root, finding.record(), finding) {
			s.spare = finding
			return
		}
		finding.fixed = f.object.size() * len(`"member":`)
		s.findings = append(s.findings, finding)
	})
}

// result merges the findings; nil if none says what happened.
func (s *search) result() *hit {
	for _, f := range s.findings {
		f.judge()
	}
	slices.SortStableFunc(s.findings, func(a, b *hit) int {
		return cmp.Or(b.rank-a.rank, b.fixed-a.fixed, a.at-b.at)
	})
	if len(s.findings) == 0 || s.findings[0].rank == 0 {
		return nil
	}
	best := s.cause(s.findings[0])
	e := &best.e
	for _, other := range s.findings {
		if other != best {
			best.add(other)
		}
	}
	if status := e.Upstream.Status; e.Kind.Class() == recourse.ClassInput && status != 0 {
		// What it lists may look like invalid arguments: a status that says something else counts more.
		if kind := recourse.FromStatus("", status).Kind; kind.Class() != recourse.ClassInput && kind != recourse.KindClientError {
			e.Kind, e.Violations = kind, nil
		}
	}
	family := best.form.family
	if i := slices.IndexFunc(s.findings, (*hit).isJob); i >= 0 && e.Kind == recourse.KindInternal {
		// What a command or a script says of itself is no defect of the server that ran it.
		e.Kind, e.Retry = recourse.KindJobFailed, s.findings[i].e.Retry
	}
	switch e.Kind.Class() {
	case recourse.ClassUpstream, recourse.ClassAuth, recourse.ClassPermission, recourse.ClassAllowance:
		e.Provider = cmp.Or(s.provider(), e.Provider)
	case recourse.ClassInput:
		e.Origin, e.Effect = recourse.OriginCaller, recourse.EffectNone
	default:
	}
	switch e.Kind.Class() {
	case recourse.ClassUpstream:
		e.Violations = nil // whatever the object calls so
	case recourse.ClassAuth:
		if slices.ContainsFunc(s.findings, (*hit).isSetup) {
			e.Retry = recourse.RetryAfterSetup // the key is the server's own
		}
	default:
	}
	if family.File.Last {
		// A guess from a sentence says nothing about who failed or what was done before, unless the form itself does.
		var said recourse.Error
		language.Store(best.form.set, reflect.ValueOf(&said).Elem())
		e.Origin, e.Effect = said.Origin, said.Effect
		if e.Effect == "" && !best.isCrash() && slices.ContainsFunc(s.findings, (*hit).isCrash) {
			e.Effect = recourse.EffectUnknown
		}
	}
	switch e.Kind.Class() {
	case recourse.ClassUpstream, recourse.ClassAllowance, recourse.ClassState:
	default:
		e.RetryAfter = 0 // waiting would not help
	}
	return best
}

// reCause is what stands before the reason for a failure, in the sentence about it or in another one.
var reCause = regexp.MustCompile(`^[^\n.;]*(?:\.\S[^\n.;]*)*?:\s|(?i)\b(?:error|reason|cause|details?|message):\s`)

// cause returns the finding that says why, if the best one says what failed and the text goes on with the reason.
func (s *search) cause(best *hit) *hit {
	if !best.form.wrapper {
		return best
	}
	colon := reCause.FindStringIndex(best.text[best.at:])
	if colon == nil {
		return best
	}
	for _, f := range s.findings {
		behind := f.text == best.text && f.at >= best.at+colon[1] || f.isSetup() // the place of that begins anywhere
		if behind && f.rank > 0 && !f.quoted && !f.form.wrapper {
			return f
		}
	}
	return best
}

// provider returns the provider whose code or object was found. A phrase can come from anyone, and so can a
// code that two providers share.
func (s *search) provider() (name string) {
	for _, f := range s.findings {
		switch claimed := f.form.family.File.Provider; {
		case f.rank < rankObject || claimed == "" || claimed == name:
		case name != "":
			return ""
		default:
			name = claimed
		}
	}
	return name
}

// add merges another finding into it.
func (f *hit) add(other *hit) {
	e, o := &f.e, &other.e
	if e.RetryAfter == 0 {
		e.RetryAfter = o.RetryAfter
	}
	if e.Upstream.Status == 0 {
		e.Upstream.Status = o.Upstream.Status
	}
	e.RequestID = cmp.Or(e.RequestID, o.RequestID)
	if len(e.Violations) == 0 && e.Kind.Class() == recourse.ClassInput {
		e.Violations = o.Violations
	}
	if other.form.family == f.form.family {
		e.Message = cmp.Or(e.Message, o.Message)
		e.Upstream.Code = cmp.Or(e.Upstream.Code, o.Upstream.Code)
		e.Resource.Type, e.Resource.ID = cmp.Or(e.Resource.Type, o.Resource.Type), cmp.Or(e.Resource.ID, o.Resource.ID)
	}
}

// exampleNow is the time at which families' examples are read.
var exampleNow = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// reads returns what f alone makes of an example.
func (f *Family) reads(text string) (*recourse.Error, bool) {
	s := &search{now: exampleNow}
	for range MaxWraps {
		rest, _, ok := f.unwrapped(text)
		if !ok {
			break
		}
		text = rest
	}
	s.parts([]*index{f.index()}, text, withInner(text, nil))
	if found := s.result(); found != nil {
		return &found.e, true
	}
	return nil, false
}

// withInner returns objects, and the object embedded in a text.
func withInner(text string, objects []*json.Node) []*json.Node {
	if len(objects) > 0 && strings.HasPrefix(strings.TrimSpace(text), "{") {
		return objects // it is already among them
	}
	inner := objectIn(text)
	known := func(o *json.Node) bool { return string(o.Raw) == string(inner) }
	if inner != nil && !slices.ContainsFunc(objects, known) {
		objects = append(slices.Clip(objects), json.NodeOf(inner))
	}
	return objects
}

// parts searches a text, and objects.
func (s *search) parts(indexes []*index, text string, objects []*json.Node) {
	for _, x := range indexes {
		s.text(x, text)
		for _, object := range objects {
			if len(object.Raw) > 0 && len(object.Raw) <= maxSearchedObject {
				s.object(x, object)
			}
		}
	}
}

// unwrapped does what [Unwrap] does, with f alone.
func (f *Family) unwrapped(text string) (rest, code string, ok bool) {
	var captures [8]capture
	for _, p := range f.wraps {
		if !hasFold(text, p.parts[0].literal) {
			continue
		}
		found, _, end := p.match(text, 0, captures[:0])
		if end == 0 {
			continue
		}
		for _, c := range found {
			if c.at.path.Src == "upstream.code" {
				code = c.text
			}
		}
		return text[end:], code, true
	}
	return text, "", false
}
