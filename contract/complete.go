package contract

import (
	"reflect"

	"github.com/recoursehq/recourse"
)

// complete gives a record that was read in the form of c what its code stands for.
// One without a code is in no contract's words.
func (c *Contract) complete(d *draft, e *recourse.Error) {
	en := c.byCode[e.Code]
	if en == nil && e.Code != "" {
		en = c.open
	}
	said, stated := recourse.ParseKind(string(e.Kind))
	if e.Kind = said; !stated {
		e.Kind = c.kindOfUnlisted(e)
	}
	if e.Code != "" {
		e.Contract = c.Name
		if _, ranged := c.kindOfRange(e.Code); en == nil && !ranged && e.Upstream.Code == "" {
			e.Upstream.Code = e.Code // c gives it no meaning: it is the other side's own word
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
	if stated && d.foreign && e == d.e {
		e.Kind = said // such a form says one because its code leaves it open
	}
	retryable, told := d.toldOf(c, en, e)
	var others []recourse.Kind
	if stated {
		others = append(others, said)
	}
	if isFailure(e.Upstream.Status) {
		others = append(others, kindOfStatus(e.Upstream.Status))
	}
	if en != nil {
		c.refine(e, en, others, func(s *subject) bool {
			if told {
				sayRetryable(s.e, retryable)
			}
			return !told || s.retryable() == retryable
		})
	}
	if told {
		sayRetryable(e, retryable)
	}
	nameResource(e)
	for _, item := range e.Failed {
		if item.Error != nil {
			c.complete(d, item.Error)
		}
	}
}

// nameResource gives a record without a sentence one that says what is not there, where that is all that is told.
func nameResource(e *recourse.Error) {
	if e.Message == "" && e.Kind == recourse.KindNotFound && e.Resource.Type != "" && e.Resource.ID != "" {
		e.Message = recourse.NotFound(e.Resource.Type, e.Resource.ID).Message
	}
}

// toldOf returns what the other side has said about repeating the call, as far as c heeds
// it. en is the entry of e, or nil.
func (d *draft) toldOf(c *Contract, en *entry, e *recourse.Error) (retryable, told bool) {
	retryable, told = d.said[e]
	if !told && c.silence != nil && d.object && e == d.e {
		retryable, told = *c.silence, true
	}
	if en != nil && en.retry.mode == never {
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

// refine gives e, which was read as en, the first of other kinds that it says itself
// or that its status stands for: where c has the same code for it, and fits holds, it
// tells more than the code.
func (c *Contract) refine(e *recourse.Error, en *entry, others []recourse.Kind, fits func(*subject) bool) {
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

// kindOfStatus returns the kind that an HTTP status stands for.
func kindOfStatus(status int) recourse.Kind {
	if !isFailure(status) {
		return recourse.KindUnknown
	}
	return recourse.FromStatus("", status).Kind
}

// apply adds what the entry says: its constants, what its message holds, and for a
// word that stands for another the word itself.
func (c *Contract) apply(e *recourse.Error, en *entry) {
	base := reflect.ValueOf(e).Elem()
	store := func(p *path, text string) { p.setText(base, text) }
	if en.open != nil {
		en.open.match(e.Code, store)
	} else {
		e.Code = en.code
	}
	for _, k := range en.set {
		k.path.set(base, k.value)
	}
	for _, t := range en.message {
		if !t.match(e.Message, func(*path, string) {}) {
			continue
		}
		said := e.Message
		t.match(said, store)
		if !t.frames() { // the sentence as a whole is the code's
			e.Message = said
		}
		return
	}
}
