package contract

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/contract/internal/wild"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A draft is a record that is being read.
type draft struct {
	e     *recourse.Error
	said  map[*recourse.Error]bool // the booleans from the wire, by record
	open  bool                     // any word counts as a code, listed or not
	known bool                     // the server is known to follow the contract
	as    *codeEntry               // provides the kind instead of the code's own entry
	cut   bool                     // the input is incomplete
	// object says that the contract's own object was read.
	object bool
	// foreign says that the failure was in a form that the contract only reads.
	foreign bool
	drops   bool     // what the record has no place for is not kept
	left    []string // sentences about what was left out
}

func newDraft() *draft { return &draft{e: new(recourse.Error)} }

// drafts holds unused drafts: an answer is tried in many forms.
var drafts = sync.Pool{New: func() any { return newDraft() }}

// drop returns a draft that is no longer in use.
func (d *draft) drop() {
	d.reset()
	drafts.Put(d)
}

func (d *draft) reset() {
	*d.e = recourse.Error{}
	*d = draft{e: d.e}
}

// try calls read, and undoes what it stored if it returns false.
func (d *draft) try(read func() bool) bool {
	e, said := *d.e, maps.Clone(d.said)
	if read() {
		return true
	}
	*d.e, d.said = e, said
	return false
}

// say stores the boolean from the wire for a record.
func (d *draft) say(e *recourse.Error, retryable bool) {
	if d.said == nil {
		d.said = map[*recourse.Error]bool{}
	}
	d.said[e] = retryable
}

// keepBeside keeps what an object has besides the member of that name, in which the failure stands. It returns true.
func (d *draft) keepBeside(object *json.Node, name string) bool {
	for _, m := range json.MembersOf(object.Raw) {
		if m.Name != name {
			keepDetail(d.e, m.Name, m.Value)
		}
	}
	return true
}

func (d *draft) base() reflect.Value { return reflect.ValueOf(d.e).Elem() }

// complete adds to a record that was read in the form of c what its code implies. Without a code, a record is
// not in any contract's words.
func (c *Contract) complete(d *draft, e *recourse.Error) {
	en := c.byCode[e.Code]
	if en == nil && e.Code != "" {
		en = c.open
	}
	said, named := c.kindSaid(d, e)
	e.Kind = said
	if !named {
		e.Kind = c.kindOfUnlisted(e)
	}
	if e.Code != "" {
		e.Contract = c.Name
		if _, ranged := c.kindOfRange(e.Code); en == nil && !ranged && e.Upstream.Code == "" {
			e.Upstream.Code = e.Code // c does not know it: it is the other side's own code
		}
	}
	if en != nil {
		e.Kind = en.kind
		c.apply(e, en)
	}
	if d.as != nil && e == d.e {
		word := e.Code
		en, e.Kind = d.as, d.as.kind
		c.apply(e, d.as)
		e.Code = word
	}
	if named && d.foreign && e == d.e {
		e.Kind = said // the form states a kind because its code leaves it open
	}
	retryable, told := d.toldOf(c, en, e)
	var others []recourse.Kind
	if named {
		others = append(others, said)
	}
	if status := e.Upstream.Status; isFailure(status) && status != http.StatusUnauthorized { // which says less than any code
		others = append(others, kindOfStatus(status))
	}
	if en != nil {
		c.refine(e, en, others, func(s *subject) bool {
			if told {
				language.SayRetryable(s.e, retryable)
			}
			return !told || s.retryable() == retryable
		})
	}
	if told {
		language.SayRetryable(e, retryable)
		clearBy(e, en)
	}
	nameResource(e)
	if e == d.e {
		c.takeWait(e)
	}
	for _, item := range e.Failed {
		if item.Error != nil {
			c.complete(d, item.Error)
		}
	}
}

// takeWait takes the wait that the other side states beside the members of the contract: it is a minimum wherever it stands.
func (c *Contract) takeWait(e *recourse.Error) {
	if e.RetryAfter != 0 || !canWait(e.Kind) {
		return
	}
	var stated json.Members
	for _, name := range waitMembers {
		if raw, ok := e.Details[name]; ok {
			stated.Add(name, json.Value(raw))
		}
	}
	if len(stated) == 0 {
		return
	}
	object := stated.AppendTo(nil)
	if c.waitsInMs() {
		object = inMs(object, longWait, 0)
	}
	e.RetryAfter = wild.WaitIn(json.NodeOf(object))
}

// clearBy says of a failure with a code that leaves it to the other side whether the same call may be made again, and of
// which that side says so, that nothing was done: that is what it says.
func clearBy(e *recourse.Error, en *codeEntry) {
	if en != nil && en.retry.Mode == contractform.Stated && e.Retry == recourse.RetrySameCall && e.Effect == "" {
		e.Effect, e.EffectBasis = recourse.EffectNone, recourse.BasisStated
	}
}

// kindSaid returns the kind that a record states, or that the word in another form means, and whether there is one.
func (c *Contract) kindSaid(d *draft, e *recourse.Error) (kind recourse.Kind, named bool) {
	if en := c.meaning(e.Upstream.Code); en != nil && d.foreign && e == d.e && e.Code == "" {
		return en.kind, true
	}
	return recourse.ParseKind(string(e.Kind))
}

// meaning returns the entry that a word in another form means: one that is read as its code, or its name; nil if there is none.
func (c *Contract) meaning(word string) *codeEntry {
	if en := c.byCode[word]; en != nil || word == "" {
		return en
	}
	if i := slices.IndexFunc(c.codes, func(en *codeEntry) bool { return en.name == word }); i >= 0 {
		return c.codes[i]
	}
	return nil
}

// specify makes the code of invalid arguments as specific as the rule that they break.
func (c *Contract) specify(e *recourse.Error) {
	if e.Kind.Class() != recourse.ClassInput || len(e.Violations) == 0 {
		return
	}
	if e.Violations[0].Rule == "required" {
		e.Kind = recourse.KindMissingParam
	}
	if en := c.byCode[e.Code]; en == nil || en.kind.Class() != recourse.ClassInput {
		return
	}
	anew := *e
	anew.Contract, anew.Code = "", ""
	if en := c.choose(&subject{c: c, e: &anew, call: &Call{}}); en.kind.Class() == recourse.ClassInput && en.open == nil {
		e.Code = en.code
	}
}

// byRule returns the entry for the rule that the first violation breaks, as far as the sentence tells it; nil: it does not. en is
// the entry of e.
func (c *Contract) byRule(e *recourse.Error, en *codeEntry) *codeEntry {
	of := *e
	of.Kind = en.kind
	wild.PlaceFirst(&of)
	if len(of.Violations) == 0 || of.Violations[0].Rule == "" {
		return nil
	}
	c.specify(&of)
	e.Violations = of.Violations
	if c.byCode[of.Code] == en {
		return nil
	}
	return c.byCode[of.Code]
}

// nameResource gives a record without a sentence one that says what was not found, if the record names it.
func nameResource(e *recourse.Error) {
	if e.Message == "" && e.Kind == recourse.KindNotFound && e.Resource.Type != "" && e.Resource.ID != "" {
		e.Message = recourse.NotFound(e.Resource.Type, e.Resource.ID).Message
	}
}

// toldOf returns what the other side said about repeating the call, as far as c allows it to. en is the entry
// of e, or nil.
func (d *draft) toldOf(c *Contract, en *codeEntry, e *recourse.Error) (retryable, told bool) {
	retryable, told = d.said[e]
	if !told && c.silence != nil && d.object && e == d.e {
		retryable, told = *c.silence, true
	}
	if en != nil && en.retry.Mode == contractform.Never {
		retryable = false // whatever the other side says
	}
	return retryable, told
}

// kindOfUnlisted returns the kind of a record whose code c does not list.
func (c *Contract) kindOfUnlisted(e *recourse.Error) recourse.Kind {
	if kind, ok := c.kindOfRange(e.Code); ok {
		return kind
	}
	return kindOfStatus(e.Upstream.Status)
}

// refine makes the kind of e, which was read as en, more specific than its code: it picks the first of others
// that has the same code in c and for which fits holds.
func (c *Contract) refine(e *recourse.Error, en *codeEntry, others []recourse.Kind, fits func(*subject) bool) {
	for _, kind := range others {
		other := *e
		other.Kind, other.Contract, other.Code = kind, "", ""
		s := &subject{c: c, e: &other, call: &Call{}}
		if s.entry = c.choose(s); s.entry == en && fits(s) {
			e.Kind = kind
			return
		}
	}
}

func isFailure(status int) bool { return status >= 400 && status <= 599 }

// kindOfStatus returns the kind for an HTTP status.
func kindOfStatus(status int) recourse.Kind {
	if !isFailure(status) {
		return recourse.KindUnknown
	}
	return recourse.FromStatus("", status).Kind
}

// apply stores what the entry says: its constants, the values in its message, and the code itself if the
// entry passes codes on.
func (c *Contract) apply(e *recourse.Error, en *codeEntry) {
	base := reflect.ValueOf(e).Elem()
	capture := func(p *language.Path, text string) { p.SetText(base, text) }
	if en.open != nil {
		en.open.Match(e.Code, capture)
	} else {
		e.Code = en.code
	}
	language.Store(en.set, base)
	for _, t := range en.message {
		if !t.Match(e.Message, func(*language.Path, string) {}) {
			continue
		}
		said := e.Message
		t.Match(said, capture)
		if !t.Frames() { // the whole sentence belongs to the code
			e.Message = said
		}
		return
	}
}

// whole reads an answer that has a sure sign of failure and whose record was cut to fit into _meta: the parts
// that were cut are complete in the contract's own places. If those cannot be read, only the record is used.
func (r *Reader) whole(record *recourse.Error, a evidence) Reading {
	if reading, ok := r.inForm(r.peeled(a)); ok {
		return r.merged(record, reading)
	}
	reading := r.record(record)
	reading.Contract = nil // its text says more than is known here
	return reading
}

// merged completes a record that was cut from another place in the same answer. What is never cut is taken
// from the record.
func (r *Reader) merged(record *recourse.Error, from Reading) Reading {
	reading := r.record(record)
	said := from.Error()
	if said == nil {
		return reading
	}
	if from.Contract != nil {
		reading.Contract = from.Contract
	}
	reading.Sign = "record, and " + from.Sign
	reading.Failure = reading.Error().With(func(e *recourse.Error) { complement(e, said) })
	return reading
}

// noteCut notes in a failure that its source is incomplete.
func (r *Reader) noteCut(reading Reading) Reading {
	if e := reading.Error(); e != nil && r.Cut != "" {
		reading.Failure = leftOut(e, "The answer is cut here: it is longer than "+r.Cut+".")
	}
	return reading
}

// leftOut returns the record with sentences that say what is missing.
func leftOut(e *recourse.Error, sentences ...string) *recourse.Error {
	return e.WithMessage("%s (%s)", e.Sentence(), strings.Join(sentences, " ")).WithTruncated()
}

// completed closes an incomplete object so that it can be parsed.
func (r *Reader) completed(object json.Value) json.Value {
	d := draft{cut: r.Cut != ""}
	return d.completed(object)
}

func (d *draft) completed(object json.Value) json.Value {
	if d.cut && !json.Valid(object) {
		if whole := json.Complete(object); whole != nil {
			return whole
		}
	}
	return object
}

// complement replaces what was cut in e by its counterpart in said: texts that are not empty, and lists that
// are not shorter.
func complement(e, said *recourse.Error) {
	prefer(&e.Code, said.Code)
	prefer(&e.Contract, said.Contract)
	prefer(&e.Message, said.Message)
	prefer(&e.Provider, said.Provider)
	prefer(&e.Resource.Type, said.Resource.Type)
	prefer(&e.Resource.ID, said.Resource.ID)
	prefer(&e.RequestID, said.RequestID)
	prefer(&e.Upstream.Code, said.Upstream.Code)
	prefer(&e.Upstream.RequestID, said.Upstream.RequestID)
	e.Hints = longer(e.Hints, said.Hints)
	e.MissingScopes = longer(e.MissingScopes, said.MissingScopes)
	e.Quotas = longer(e.Quotas, said.Quotas)
	e.Missing = longer(e.Missing, said.Missing)
	e.Succeeded = longer(e.Succeeded, said.Succeeded)
	e.Violations = eachOf(e.Violations, said.Violations, func(v, said recourse.Violation) recourse.Violation {
		prefer(&v.Pointer, said.Pointer)
		prefer(&v.Param, said.Param)
		prefer(&v.Rule, said.Rule)
		prefer(&v.Want, said.Want)
		prefer(&v.Message, said.Message)
		if said.Got != nil {
			v.Got = said.Got
		}
		return v
	})
	e.Failed = eachOf(e.Failed, said.Failed, func(f, said recourse.FailedItem) recourse.FailedItem {
		prefer(&f.ID, said.ID)
		if f.Error == nil || said.Error == nil {
			return recourse.FailedItem{ID: f.ID, Error: said.Error}
		}
		f.Error = f.Error.With(func(item *recourse.Error) { complement(item, said.Error) })
		return f
	})
	if e.Verify == nil {
		e.Verify = said.Verify
	}
	if len(said.Details) > 0 {
		e.Details = said.Details
	}
	if len(e.Extra()) == 0 && len(said.Extra()) > 0 {
		*e = *e.WithExtra(said.Extra())
	}
}

func prefer(text *string, said string) {
	if said != "" {
		*text = said
	}
}

// longer returns said, unless list is longer.
func longer[T any](list, said []T) []T {
	if len(said) >= len(list) {
		return said
	}
	return list
}

// eachOf completes each item of said from the item of list at the same index. If list is longer, it returns
// list.
func eachOf[T any](list, said []T, both func(item, said T) T) []T {
	if len(said) < len(list) {
		return list
	}
	merged := slices.Clone(said)
	for i := range list {
		merged[i] = both(list[i], said[i])
	}
	return merged
}
