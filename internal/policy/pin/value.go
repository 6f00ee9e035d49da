package pin

import (
	"maps"
	"slices"
	"strconv"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A Value is one in the definition of a tool that has no parts, as JSON.
type Value struct {
	Place   string // a JSON Pointer
	Was, Is string // in the definition that clients get, and in the one that waits; "": there is none
}

// Values returns the values in both definitions of a tool, by their places.
func (t *Pin) Values() []Value {
	before, after := leaves(t.Pinned), leaves(t.Waiting)
	places := maps.Clone(before)
	maps.Copy(places, after)
	var values []Value
	for _, place := range slices.Sorted(maps.Keys(places)) {
		values = append(values, Value{place, before[place], after[place]})
	}
	return values
}

// leaves returns the values in a definition that have no parts, by their JSON Pointers.
func leaves(definition string) map[string]string {
	found := map[string]string{}
	if definition != "" {
		collect(found, "", json.Sorted(json.Value(definition)))
	}
	return found
}

func collect(found map[string]string, place string, value json.Value) {
	item, isLeaf := 0, true
	_ = json.Parts(value, func(name string, part json.Value) {
		isLeaf = false
		if value.Kind() == '[' {
			name = strconv.Itoa(item)
			item++
		}
		collect(found, place+"/"+name, part)
	})
	if isLeaf {
		found[place] = string(value)
	}
}
