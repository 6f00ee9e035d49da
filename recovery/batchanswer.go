package recovery

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	internaljson "github.com/recoursehq/recourse/internal/protocol/json"
)

// A batchAnswer is what the complete success of a call says of its items.
type batchAnswer struct {
	items []recourse.SucceededItem
	list  string // the member that lists them; "": the data is the list itself, or has none
	found bool   // there is such a list
}

// answerOf reads a success for items of these ids. It lists them: each entry names its item, or there is one for each in their order.
// Without such a list, a single item gets the whole data, and several get nothing, but an item that is not mentioned where a list
// has fewer entries is missing.
func answerOf(ids []string, data json.RawMessage) (a batchAnswer) {
	lists, isPlain := listsOf(data)
	for name, list := range lists {
		if values := named(list, ids); len(values) > 0 {
			return batchAnswer{items: inOrderOf(ids, values), list: name, found: true}
		}
	}
	for name, list := range lists {
		if len(list) == len(ids) {
			for i, id := range ids {
				a.items = append(a.items, recourse.SucceededItem{ID: id, Value: list[i]})
			}
			a.list, a.found = name, true
			return a
		}
	}
	for _, id := range ids {
		switch {
		case isPlain && !mentions(internaljson.Value(data), id):
		case len(ids) == 1:
			a.items = append(a.items, recourse.SucceededItem{ID: id, Value: data})
		default:
			a.items = append(a.items, recourse.SucceededItem{ID: id})
		}
	}
	return a
}

// silent returns those of the items that the answer says nothing of.
func (a *batchAnswer) silent(again map[string]json.RawMessage) map[string]json.RawMessage {
	rest := map[string]json.RawMessage{}
	for id, item := range again {
		if !slices.ContainsFunc(a.items, func(s recourse.SucceededItem) bool { return s.ID == id }) {
			rest[id] = item
		}
	}
	return rest
}

// listsOf returns the lists in the data of an answer, in their order. isPlain says that whatever there is stands in them.
func listsOf(data json.RawMessage) (lists func(yield func(string, []json.RawMessage) bool), isPlain bool) {
	type named struct {
		name string
		list []json.RawMessage
	}
	var all []named
	add := func(name string, raw internaljson.Value) {
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil {
			all = append(all, named{name, list})
		}
	}
	if kind := internaljson.Value(data).Kind(); kind == '[' {
		add("", internaljson.Value(data))
		isPlain = true
	} else if kind == '{' {
		objects := false
		for _, m := range internaljson.MembersOf(internaljson.Value(data)) {
			if m.Value.Kind() == '[' {
				add(m.Name, m.Value)
			}
			objects = objects || m.Value.Kind() == '{'
		}
		isPlain = len(all) > 0 && !objects
	}
	return func(yield func(string, []json.RawMessage) bool) {
		for _, n := range all {
			if !yield(n.name, n.list) {
				return
			}
		}
	}, isPlain
}

// named returns the entries of a list that name one of the ids, by id: as their text, or in a member whose name ends with id.
func named(list []json.RawMessage, ids []string) map[string]json.RawMessage {
	values := map[string]json.RawMessage{}
	for _, entry := range list {
		names := []string{textOf(entry)}
		for _, m := range internaljson.MembersOf(internaljson.Value(entry)) {
			if isIDName(m.Name) {
				names = append(names, idOf(json.RawMessage(m.Value)))
			}
		}
		for _, name := range names {
			if _, twice := values[name]; !twice && slices.Contains(ids, name) {
				values[name] = entry
			}
		}
	}
	return values
}

// isIDName reports whether a member of that name holds an id: id, fieldId, field_id, FieldID.
func isIDName(name string) bool {
	return strings.EqualFold(name, "id") || strings.HasSuffix(name, "Id") || strings.HasSuffix(name, "ID") || strings.HasSuffix(name, "_id")
}

func inOrderOf(ids []string, values map[string]json.RawMessage) (items []recourse.SucceededItem) {
	for _, id := range ids {
		if value, ok := values[id]; ok {
			items = append(items, recourse.SucceededItem{ID: id, Value: value})
		}
	}
	return items
}

// mentions reports whether a text or number anywhere in a value is the id.
func mentions(v internaljson.Value, id string) bool {
	switch v.Kind() { // literals are no ids
	case '{':
		return slices.ContainsFunc(internaljson.MembersOf(v), func(m internaljson.Member) bool { return mentions(m.Value, id) })
	case '[':
		var list []json.RawMessage
		_ = json.Unmarshal(v, &list) // what is no list mentions nothing
		return slices.ContainsFunc(list, func(item json.RawMessage) bool { return mentions(internaljson.Value(item), id) })
	case '"', '0':
		return idOf(json.RawMessage(v)) == id
	default:
		return false
	}
}

// success returns the outcome of a batch in which every item has succeeded, in the tool's own form: that of its last answer, with all
// items in its list. If that has no list, or an item no value, the form is our own.
func (m *merged) success(asked []string, last json.RawMessage, a batchAnswer) (json.RawMessage, error) {
	list := make([]json.RawMessage, 0, len(asked))
	for _, id := range asked {
		i := slices.IndexFunc(m.Succeeded, func(s recourse.SucceededItem) bool { return s.ID == id })
		if i >= 0 && m.Succeeded[i].Value != nil {
			list = append(list, m.Succeeded[i].Value)
		}
	}
	if !a.found || len(list) != len(asked) || len(list) != len(m.Succeeded) {
		return m.result(false)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	data := internaljson.Value(text)
	if a.list != "" {
		data = internaljson.Change(internaljson.Value(dataOf(last)), a.list, func(internaljson.Value) internaljson.Value { return text })
	}
	result := internaljson.Value(last)
	if internaljson.Lookup(result, "/structuredContent").Kind() == '{' {
		result = internaljson.Change(result, "structuredContent", func(internaljson.Value) internaljson.Value { return data })
	}
	var blocks []json.RawMessage
	if json.Valid([]byte(textOf(lookup(last, "/content/0/text")))) && json.Unmarshal(member(last, "content"), &blocks) == nil {
		blocks[0] = withMembers(blocks[0], map[string]any{"text": string(data)})
		return withMembers(json.RawMessage(result), map[string]any{"content": blocks}), nil
	}
	return json.RawMessage(result), nil
}
