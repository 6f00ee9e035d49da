package contract

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/strictyaml"
)

// A choice is one of the sources that a member of a shape has: the first is taken
// whose selector holds and that is not empty.
type choice struct {
	when     selector
	constant json.Value
	path     *path // where it is no constant
}

// choices reads the alternatives of a member: paths, constants, or {for, is} with a
// selector.
func (k *compiler) choices(n *strictyaml.Node, on reflect.Type) []choice {
	var list []choice
	for i, item := range items(n) {
		c := choice{}
		source := item
		if item.Kind() == strictyaml.KindMapping {
			var form struct {
				For *strictyaml.Node `yaml:"for,required"`
				Is  *strictyaml.Node `yaml:"is,required"`
			}
			if item.Decode(&form) != nil {
				continue
			}
			if on != contractform.RecordType {
				k.mistakef(form.For, "leave `for` out", "the items of a list are not selected")
				continue
			}
			c.when, source = k.selector(form.For), form.Is
		}
		m := shapeMember{}
		k.source(&m, source, on)
		if c.constant, c.path = m.constant, m.path; c.constant == nil && c.path == nil {
			continue
		}
		if c.constant != nil && c.when == nil && i+1 < n.Len() {
			k.mistakef(item, "move it to the end, or give it a `for`", "what follows a constant without `for` is never reached")
		}
		list = append(list, c)
	}
	return list
}

// appendChoice writes the first alternative that holds and says something.
func appendChoice(dst []byte, list []choice, s *subject, base reflect.Value) []byte {
	for i := range list {
		c := &list[i]
		switch {
		case !c.when.selects(s):
		case c.constant != nil:
			return append(dst, c.constant...)
		default:
			if v := c.path.get(s, base); v.IsValid() {
				return appendValue(dst, v)
			}
		}
	}
	return dst
}

// readChoice stores a value that appendChoice may have written: a word of a closed set
// where it belongs, another value in the first path that can hold it. A constant that
// it is adds what its selector says.
func readChoice(raw json.Value, list []choice, base reflect.Value, d *draft) {
	for i := range list {
		if c := &list[i]; c.constant == nil && c.path.words() != nil && c.takes(raw, d) {
			c.path.set(base, raw)
			return
		}
	}
	stored := false
	for i := range list {
		c := &list[i]
		switch {
		case c.constant != nil && bytes.Equal(compact(raw), c.constant):
			c.when.store(d.e)
			return
		case c.constant == nil && !stored && c.takes(raw, d):
			c.path.set(base, raw)
			stored = true
		}
	}
}

// takes reports whether c may have written raw, as far as is known of the record
// that is being read.
func (c *choice) takes(raw json.Value, d *draft) bool {
	if c.path.special == nil {
		if scratch := reflect.New(c.path.leaf).Elem(); !setJSON(scratch, raw) {
			return false
		}
		if words := c.path.words(); words != nil && !slices.Contains(words, plainText(raw)) {
			return false
		}
	}
	return c.when.selects(&subject{e: d.e, call: &Call{}})
}

// store puts into e what the conditions of sel say, where they say one thing. Who
// failed is not among it: that nobody can tell from a word.
func (sel selector) store(e *recourse.Error) {
	for _, c := range sel {
		if len(c.values) != 1 {
			continue
		}
		switch value := c.values[0]; c.on {
		case onKind:
			e.Kind = recourse.Kind(value)
		case onResource:
			e.Resource.Type = value
		case onUpstreamCode:
			e.Upstream.Code = value
		case onEffect:
			e.Effect = recourse.Effect(value)
		case onRetry:
			e.Retry = recourse.Retry(value)
		}
	}
}
