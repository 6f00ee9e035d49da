package contract

import (
	"reflect"

	"github.com/recoursehq/recourse"
)

// complete gives a record that was read in the form of c what its code stands for.
func (c *Contract) complete(d *draft, e *recourse.Error) {
	e.Contract = c.Name
	en, ok := c.byCode[e.Code]
	if !ok {
		en = c.open
	}
	kind, stated := recourse.ParseKind(string(e.Kind))
	if !stated {
		kind = kindOfStatus(e.Upstream.Status)
	}
	if e.Kind = kind; en != nil {
		e.Kind = en.kind
		c.apply(e, en)
	}
	if d.as != nil && e == d.e {
		word := e.Code
		e.Kind = d.as.kind
		c.apply(e, d.as)
		e.Code = word
	}
	if retryable, ok := d.said[e]; ok {
		sayRetryable(e, retryable)
	}
	for _, item := range e.Failed {
		if item.Error != nil {
			c.complete(d, item.Error)
		}
	}
}

// kindOfStatus returns the kind that an HTTP status stands for.
func kindOfStatus(status int) recourse.Kind {
	if status < 400 || status > 599 {
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
		if !t.names(memberMessage) { // the sentence as a whole is the code's
			e.Message = said
		}
		return
	}
}
