package strictyaml

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/yaml/nearest"
)

// A structType is what a struct's tags say.
type structType struct {
	fields []field
	places [][]int           // fields tagged `yaml:",pos"`
	key    []int             // the field tagged `yaml:",key"`
	gone   map[string]string // keys that there were once, with the reasons
	was    map[string]string // earlier names of keys, with the new ones
}

type field struct {
	name     string
	index    []int
	required bool
	secret   bool
	value    string // the default; "": none
}

func (d *Document) decodeStruct(n *Node, v reflect.Value, name string) bool {
	if n.kind != KindMapping && n.kind != KindNull {
		return d.wrongType(n, "a mapping", "", name)
	}
	st := d.structType(v.Type())
	for _, i := range st.places {
		switch place := v.FieldByIndex(i).Addr().Interface().(type) {
		case *Pos:
			*place = n.pos
		case **Node:
			*place = n
		}
	}

	ok := true
	for i, e := range n.entries {
		if now, renamed := st.was[e.key]; renamed && n.find(now) == nil {
			n.entries[i].key, e.key, n.index = now, now, nil
		}
		f := st.field(e.key)
		if f == nil {
			d.unknownKey(e, st)
			ok = false
			continue
		}
		if f.secret {
			d.Hide(e.value)
		}
		if f.required && e.value.kind == KindNull {
			d.reportBrokenf(e.value, "", "`%s` has no value", f.name)
			ok = false
			continue
		}
		ok = d.decodeEntry(e, v.FieldByIndex(f.index)) && ok
	}

	var missing []string
	for _, f := range st.fields {
		if n.find(f.name) != nil {
			continue
		}
		if f.required {
			missing = append(missing, "`"+f.name+"`")
		}
		ok = d.decodeDefault(f, v.FieldByIndex(f.index)) && ok
	}
	if len(missing) > 0 {
		d.reportMissing(n, missing, name)
		return false
	}
	return ok
}

func (d *Document) unknownKey(e keyValue, st *structType) {
	if why, ok := st.gone[e.key]; ok {
		d.add(d.fault(e.pos, "remove the line", "the key `%s` is gone: %s", e.key, why))
		return
	}
	names := make([]string, len(st.fields))
	for i, f := range st.fields {
		names[i] = f.name
	}
	hint := d.elsewhere(e.key)
	if meant, ok := nearest.Of(e.key, names); ok || hint == "" {
		if ok && st.field(meant).secret {
			d.Hide(e.value)
		}
		hint = nearestHint(e.key, names, "")
	}
	d.add(d.fault(e.pos, hint, "unknown key `%s`", quotable(e.key)))
}

func (d *Document) reportMissing(n *Node, missing []string, name string) {
	noun := "the key "
	if len(missing) > 1 {
		noun = "the keys "
	}
	if name == "" {
		name = "this mapping"
	}
	d.add(d.fault(n.pos, "", "%s lacks %s%s", name, noun, strings.Join(missing, ", ")))
}

// decodeDefault sets a missing value: a scalar to the default of its tag, a struct to the defaults of its fields.
func (d *Document) decodeDefault(f field, v reflect.Value) bool {
	if _, own := reflect.TypeAssert[Unmarshaler](v.Addr()); v.Kind() == reflect.Struct && !own {
		return d.decodeDefaults(v)
	}
	if f.value == "" || strings.HasPrefix(f.value, "(") {
		return true
	}
	n := &Node{doc: d, kind: resolve(f.value), text: f.value, source: f.value, plain: true}
	if v.Kind() == reflect.String {
		n.kind = KindString
	}
	return d.decode(n, v, "the default of `"+f.name+"`")
}

// decodeDefaults does so for a struct whose key is missing: then its required keys are not required.
func (d *Document) decodeDefaults(v reflect.Value) bool {
	ok := true
	for _, f := range d.structType(v.Type()).fields {
		ok = d.decodeDefault(f, v.FieldByIndex(f.index)) && ok
	}
	return ok
}

// Hide marks every scalar in a value as secret, as the tag does, for values that turn out to be secret later.
func (d *Document) Hide(n *Node) {
	if n == nil {
		return
	}
	if n.kind > KindNull && n.kind < KindSequence {
		d.secrets[n.pos] = true
	}
	for _, item := range n.items {
		d.Hide(item)
	}
	for _, e := range n.entries {
		d.Hide(e.value)
	}
}

// keyOf returns the index of the field with the key in the structs of a list that is written as a mapping by names; nil: it is none.
func (d *Document) keyOf(list reflect.Type) []int {
	if elem := list.Elem(); elem.Kind() == reflect.Pointer && elem.Elem().Kind() == reflect.Struct {
		return d.structType(elem.Elem()).key
	}
	return nil
}

func (st *structType) field(name string) *field {
	i := slices.IndexFunc(st.fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &st.fields[i]
}

func (d *Document) structType(t reflect.Type) *structType {
	if st, ok := d.types[t]; ok {
		return st
	}
	st := &structType{gone: map[string]string{}, was: map[string]string{}}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case f.Anonymous && f.Type.Kind() == reflect.Struct && name == "":
			inner := d.structType(f.Type)
			for _, f := range inner.fields {
				f.index = append([]int{i}, f.index...)
				st.fields = append(st.fields, f)
			}
			for _, place := range inner.places {
				st.places = append(st.places, append([]int{i}, place...))
			}
			maps.Copy(st.gone, inner.gone)
			maps.Copy(st.was, inner.was)
		case f.Tag.Get("gone") != "":
			st.gone[f.Tag.Get("gone")] = f.Tag.Get("why")
		case !f.IsExported():
		case name == "" && options == "pos":
			st.places = append(st.places, []int{i})
		case name == "" && options == "key":
			st.key = []int{i}
		case name != "":
			if was := f.Tag.Get("was"); was != "" {
				st.was[was] = name
			}
			st.fields = append(st.fields, field{
				name:     name,
				index:    []int{i},
				required: slices.Contains(strings.Split(options, ","), "required"),
				secret:   slices.Contains(strings.Split(options, ","), "secret"),
				value:    f.Tag.Get("default"),
			})
		}
	}
	d.types[t] = st
	return st
}
