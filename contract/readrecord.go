package contract

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// recordIn reads the record's own JSON form.
func recordIn(n *json.Node) (*recourse.Error, bool) {
	if !bytes.HasPrefix(n.Raw, []byte(`{"v":`)) && (n.Member("v") == nil || n.Member("kind") == nil) {
		return nil, false
	}
	return readRecord(n.Raw)
}

// readRecord reads the record's own JSON form.
func readRecord(raw json.Value) (*recourse.Error, bool) {
	if !isRecord(raw) {
		return nil, false
	}
	e := new(recourse.Error)
	if e.UnmarshalJSON(raw) != nil {
		return e, false
	}
	keepInner(e, json.NodeOf(raw))
	return e, true
}

// keepInner keeps the members of a record that have members of their own which this version does not know: the record
// itself keeps what stands beside its members, but not what stands in them.
func keepInner(e *recourse.Error, record *json.Node) {
	names, values := record.Parts()
	for i, name := range names {
		if field, ok := contractform.FieldNamed(contractform.RecordType, name); ok && hasOthers(&values[i], field.Type) {
			keepDetail(e, name, values[i].Raw)
		}
	}
	if failed := record.Member("failed"); failed != nil {
		for i, item := range failed.Items(len(e.Failed)) {
			if inner := item.Member("error"); inner != nil && e.Failed[i].Error != nil {
				keepInner(e.Failed[i].Error, inner)
			}
		}
	}
}

// hasOthers reports whether an object, or one in a list, has members for which a struct of the record has no field.
func hasOthers(n *json.Node, on reflect.Type) bool {
	on = contractform.Indirect(on)
	switch {
	case on == contractform.RecordType:
		return false
	case on.Kind() == reflect.Slice && contractform.Indirect(on.Elem()).Kind() == reflect.Struct:
		return slices.ContainsFunc(n.Items(maxItems), func(item json.Node) bool { return hasOthers(&item, on.Elem()) })
	case on.Kind() != reflect.Struct:
		return false
	}
	names, values := n.Parts()
	for i, name := range names {
		if field, ok := contractform.FieldNamed(on, name); !ok || hasOthers(&values[i], field.Type) {
			return true
		}
	}
	return false
}

func isRecord(raw json.Value) bool {
	if bytes.HasPrefix(raw, []byte(`{"v":1,"kind":"`)) { // in the form that we write
		return true
	}
	var head struct {
		V    int    `json:"v"`
		Kind string `json:"kind"`
	}
	return len(raw) > 0 && json.UnmarshalLenient(raw, &head) == nil && head.V > 0 && head.Kind != ""
}
