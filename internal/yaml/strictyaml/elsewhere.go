package strictyaml

import (
	"reflect"
	"strings"
)

// elsewhere says where a key belongs that is unknown where it stands: at the nearest place to the top of the file.
func (d *Document) elsewhere(key string) string {
	type place struct {
		t      reflect.Type
		of     string // the key that it is the value of
		isItem bool   // it is one of several
	}
	seen := map[reflect.Type]bool{}
	for next := []place{{t: d.rootType}}; len(next) > 0; next = next[1:] {
		at := next[0]
		if at.t == nil || seen[at.t] {
			continue
		}
		seen[at.t] = true
		switch at.t.Kind() { //nolint:exhaustive // the others have no keys
		case reflect.Pointer:
			next = append(next, place{at.t.Elem(), at.of, at.isItem})
		case reflect.Slice, reflect.Map:
			next = append(next, place{at.t.Elem(), at.of, true})
		case reflect.Struct:
			if strings.HasPrefix(at.t.Name(), "Entry[") { // of a Map
				value, _ := at.t.FieldByName("Value")
				next = append(next, place{value.Type, at.of, true})
				continue
			}
			st := d.structType(at.t)
			switch known := st.field(key) != nil; {
			case known && at.of == "":
				return "it belongs at the top of the file, without indentation"
			case known && at.isItem:
				return "it belongs in an entry of `" + at.of + "`"
			case known:
				return "it belongs in `" + at.of + "`"
			}
			for _, f := range st.fields {
				next = append(next, place{at.t.FieldByIndex(f.index).Type, f.name, false})
			}
		}
	}
	return ""
}
