package contract

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// The items of a list, and what the record has no place for.

func (m *shapeMember) readList(value *json.Node, base reflect.Value, d *draft) (whole bool) {
	if value.Raw.Kind() != '[' {
		return false
	}
	items := value.Items(maxItems)
	if _, all := value.Parts(); len(all) > maxItems {
		d.left = append(d.left, fmt.Sprintf("Of the %d items of %s only the first %d are kept.", len(all), m.name, maxItems))
	}
	list := m.list.List(base)
	if missing := len(items) - list.Len(); missing > 0 {
		list.Set(reflect.AppendSlice(list, reflect.MakeSlice(list.Type(), missing, missing)))
	}
	whole = true
	for i := range items {
		whole = m.readItem(&items[i], list.Index(i), d) && whole
	}
	return whole
}

// readItem stores an item of a list; one that is a text or a number is its own name. It reports whether the item has a
// place for all of it: what was done is its own value then, and what is said about a failed item is a detail of that.
func (m *shapeMember) readItem(item *json.Node, base reflect.Value, d *draft) (whole bool) {
	var others []string
	if item.IsObject() {
		others = m.nested.read(item, base, d)
		whole = len(others) == 0
	} else if i := slices.IndexFunc(m.nested.members, func(m shapeMember) bool { return m.path != nil }); i >= 0 {
		whole = m.nested.members[i].path.Set(base, item.Raw)
	}
	if name := nameItem(item, base); name != "" {
		others = slices.DeleteFunc(others, func(other string) bool { return other == name })
		whole = len(others) == 0
	}
	switch record := base.Addr().Interface().(type) {
	case *recourse.SucceededItem:
		if value, ok := clean.Raw(item.Raw); ok && (!whole || !item.IsObject()) && record.Value == nil {
			record.Value, whole = stdjson.RawMessage(value), true
		}
	case *recourse.FailedItem:
		if record.Error == nil {
			record.Error = new(recourse.Error) // whatever it is, it has failed
		}
		whole = whole || len(others) > 0
		if i := slices.Index(others, errorMember); i >= 0 && m.readInner(item.Member(errorMember), record, d) {
			others = slices.Delete(others, i, i+1)
		}
		keepDetails(record.Error, item, others)
	}
	return whole
}

// errorMember is the member of an item that some servers give its failure.
const errorMember = "error"

// readInner reads what an item says of its failure in an object of its own, in place of beside its id. It reports whether
// that is what the object is.
func (m *shapeMember) readInner(object *json.Node, record *recourse.FailedItem, d *draft) bool {
	if !object.IsObject() || record.Error.Code != "" || m.nested.has(errorMember) {
		return false
	}
	id := record.ID
	others := m.nested.read(object, reflect.ValueOf(record).Elem(), d)
	if record.Error.Code == "" {
		record.ID = id
		return false
	}
	record.ID = cmp.Or(id, record.ID)
	keepDetails(record.Error, object, others)
	return true
}

// nameItem gives an item without an id the one that it has under another name, such as fieldId, if that is the only one. It
// returns that name, or "".
func nameItem(item *json.Node, base reflect.Value) (name string) {
	var id *string
	switch record := base.Addr().Interface().(type) {
	case *recourse.SucceededItem:
		id = &record.ID
	case *recourse.FailedItem:
		id = &record.ID
	}
	if id == nil || *id != "" || !item.IsObject() {
		return ""
	}
	names, values := item.Parts()
	var ids []int
	for i, name := range names {
		if text, ok := json.TextOf(values[i].Raw); ok && strings.HasSuffix(name, "Id") && clean.IsPlain(text) {
			ids = append(ids, i)
		}
	}
	if len(ids) != 1 {
		return ""
	}
	*id, _ = json.TextOf(values[ids[0]].Raw)
	return names[ids[0]]
}

// maxItems limits the lists that are read. A record whose list was cut says so.
const maxItems = 10_000

// keepDetails stores members of an object among the details of e.
func keepDetails(e *recourse.Error, object *json.Node, names []string) {
	for _, name := range names {
		keepDetail(e, name, object.RawMember(name))
	}
}

// keepDetail stores what the record has no place for among its details. If these have something else of that name, a
// number is put behind it.
func keepDetail(e *recourse.Error, name string, raw json.Value) {
	value, ok := clean.Raw(raw)
	if !ok || value.Kind() == 'n' {
		return
	}
	free, has := freeName(name, value, func(name string) json.Value { return json.Value(e.Details[name]) })
	if has {
		return
	}
	if e.Details == nil {
		e.Details = map[string]stdjson.RawMessage{}
	}
	e.Details[free] = stdjson.RawMessage(value)
}

// freeName returns the name under which a value can be stored beside others: its own or, if something else has that, one with a
// number behind it. It reports whether the value is stored already. at returns what has a name, or nil.
func freeName(name string, value json.Value, at func(name string) json.Value) (free string, has bool) {
	free = name
	for n := 2; ; n++ {
		switch other := at(free); {
		case other == nil:
			return free, false
		case bytes.Equal(other, value):
			return free, true
		}
		free = fmt.Sprintf("%s_%d", name, n)
	}
}
