package contract

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// A path addresses a member of the record's JSON form, such as
// violations.0.param, or one of the computed members in specials.
type path struct {
	src     string
	steps   []step
	special *special // computed on the last *recourse.Error that steps lead to
	text    bool     // the member is a text
}

// A step goes from a value to one inside it.
type step struct {
	field int    // of a struct
	index int    // of a slice, -1: none
	key   string // of a map
}

// recordMembers maps the members of the JSON form to the fields of the record.
var recordMembers = map[string]string{
	"kind": "Kind", "code": "Code", "contract": "Contract", "message": "Message", "hints": "Hints",
	"retry": "Retry", "afterMs": "After", "effect": "Effect", "verify": "Verify", "violations": "Violations",
	"resource": "Resource", "provider": "Provider", "missingScopes": "MissingScopes", "quotas": "Quotas",
	"succeeded": "Succeeded", "failed": "Failed", "missing": "Missing", "origin": "Origin",
	"upstream": "Upstream", "requestId": "RequestID", "details": "Details",
}

var (
	recordType   = reflect.TypeFor[recourse.Error]()
	rawType      = reflect.TypeFor[rawMessage]()
	durationType = reflect.TypeFor[time.Duration]()
	timeType     = reflect.TypeFor[time.Time]()
)

// errNoMember says that a path leads nowhere.
var errNoMember = errors.New("names no member of the record")

// compilePath resolves src against values of type on, which is the record's own
// type or that of an item of one of its lists.
func compilePath(src string, on reflect.Type) (*path, error) {
	p := &path{src: src}
	rest := src
	for {
		if on == recordType {
			if s := findSpecial(rest); s != nil {
				p.special, p.text = s, s.text
				return p, nil
			}
		}
		name, more, deeper := strings.Cut(rest, ".")
		next, st, ok := descend(on, name)
		if !ok {
			return nil, fmt.Errorf("%s %w", src, errNoMember)
		}
		p.steps = append(p.steps, st)
		if on = next; !deeper {
			p.text = on.Kind() == reflect.String
			return p, nil
		}
		rest = more
	}
}

func descend(on reflect.Type, name string) (reflect.Type, step, bool) {
	st := step{index: -1, field: -1}
	switch on.Kind() { //nolint:exhaustive // the record has no others
	case reflect.Struct:
		f, ok := fieldNamed(on, name)
		if !ok {
			return nil, st, false
		}
		st.field = f.Index[0]
		return indirect(f.Type), st, true
	case reflect.Slice:
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i > 99 || on == rawType {
			return nil, st, false
		}
		st.index = i
		return indirect(on.Elem()), st, true
	case reflect.Map:
		st.key = name
		return indirect(on.Elem()), st, name != ""
	default:
		return nil, st, false
	}
}

func fieldNamed(on reflect.Type, name string) (reflect.StructField, bool) {
	if on == recordType {
		return on.FieldByName(recordMembers[name])
	}
	for f := range on.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name && f.IsExported() {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// get returns the value that p leads to from base, or the zero Value where it is
// empty. base is addressable.
func (p *path) get(s *subject, base reflect.Value) reflect.Value {
	v := base
	for _, st := range p.steps {
		switch {
		case st.field >= 0:
			v = v.Field(st.field)
		case st.index >= 0:
			if st.index >= v.Len() {
				return reflect.Value{}
			}
			v = v.Index(st.index)
		default:
			v = v.MapIndex(reflect.ValueOf(st.key))
		}
		if v.IsValid() && v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if !v.IsValid() {
			return v
		}
	}
	if p.special == nil {
		if v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0 {
			return reflect.Value{}
		}
		return v
	}
	e, ok := v.Addr().Interface().(*recourse.Error)
	if !ok {
		return reflect.Value{}
	}
	value, ok := p.special.get(s.on(e), p.special.arg)
	if !ok {
		return reflect.Value{}
	}
	return reflect.ValueOf(value)
}

// set stores a JSON value where p leads to from base, and makes what is missing
// on the way. A value of another type than the member's is not stored.
func (p *path) set(base reflect.Value, raw json.Value) bool {
	v := base
	var entries []mapEntry
	for _, st := range p.steps {
		switch {
		case st.field >= 0:
			v = v.Field(st.field)
		case st.index >= 0:
			if missing := st.index + 1 - v.Len(); missing > 0 {
				v.Set(reflect.AppendSlice(v, reflect.MakeSlice(v.Type(), missing, missing)))
			}
			v = v.Index(st.index)
		default:
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			item := reflect.New(v.Type().Elem()).Elem()
			entries = append(entries, mapEntry{v, st.key, item})
			v = item
		}
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
	}
	if p.special != nil {
		e, ok := v.Addr().Interface().(*recourse.Error)
		return ok && p.special.set != nil && p.special.set(e, p.special.arg, raw)
	}
	if !setJSON(v, raw) {
		return false
	}
	for _, m := range entries {
		m.in.SetMapIndex(reflect.ValueOf(m.key), m.item)
	}
	return true
}

type mapEntry struct {
	in   reflect.Value
	key  string
	item reflect.Value
}

func setJSON(v reflect.Value, raw json.Value) bool {
	switch v.Type() {
	case rawType:
		v.SetBytes(slices.Clone(raw))
		return true
	case durationType:
		var ms float64
		if json.Unmarshal(raw, &ms) != nil {
			return false
		}
		v.SetInt(int64(wait(ms / 1000)))
		return true
	}
	fresh := reflect.New(v.Type())
	if json.Unmarshal(raw, fresh.Interface()) != nil {
		return false
	}
	v.Set(fresh.Elem())
	return true
}

// setText stores a text that a template captured.
func (p *path) setText(base reflect.Value, text string) bool {
	if !p.text && json.Valid([]byte(text)) && p.set(base, json.Value(text)) {
		return true
	}
	return p.set(base, json.AppendQuote(nil, text))
}

// appendValue writes v as JSON.
func appendValue(dst []byte, v reflect.Value) []byte {
	switch v.Kind() { //nolint:exhaustive // the rest is written below
	case reflect.String:
		return json.AppendQuote(dst, v.String())
	case reflect.Bool:
		return strconv.AppendBool(dst, v.Bool())
	case reflect.Int, reflect.Int64:
		if v.Type() == durationType {
			return strconv.AppendInt(dst, time.Duration(v.Int()).Milliseconds(), 10)
		}
		return strconv.AppendInt(dst, v.Int(), 10)
	}
	if v.Type() == rawType {
		return append(dst, v.Bytes()...)
	}
	if v.Type() == timeType {
		at, _ := v.Interface().(time.Time)
		return json.AppendQuote(dst, at.UTC().Format(time.RFC3339Nano))
	}
	b, err := json.Marshal(v.Interface())
	if err != nil {
		return append(dst, "null"...)
	}
	return append(dst, b...)
}

// textOf writes v as it stands in a sentence: texts as they are, lists with
// commas, anything else as JSON.
func textOf(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Slice && v.Type() != rawType:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = textOf(v.Index(i))
		}
		return strings.Join(parts, ", ")
	case v.Type() == rawType:
		if text, err := json.AppendUnquote(nil, v.Bytes()); err == nil {
			return string(text)
		}
	}
	return string(appendValue(nil, v))
}

// wait turns seconds that somebody else stated into a bounded duration.
func wait(seconds float64) time.Duration {
	if !(seconds > 0) { //nolint:staticcheck // NaN is not a wait either
		return 0
	}
	return time.Duration(min(seconds, recourse.MaxWait.Seconds()) * float64(time.Second))
}
