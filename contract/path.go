package contract

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/nearest"
	"github.com/recoursehq/recourse/internal/strictyaml"
)

// A path addresses a member of the record's JSON form, such as violations.0.param, or one of computedMembers.
type path struct {
	src      string
	steps    []step
	leaf     reflect.Type // the member's type, unless it is computed
	computed *computed    // applied to the last record on the path
	text     bool         // the member is a text
	zero     bool         // zero is a value of its own
}

// A step goes from a value to one inside it.
type step struct {
	field int    // of a struct
	index int    // of a slice, -1: none
	key   string // of a map
}

// memberMessage is the member, and the path, of the sentence; pathGiven is the path of a sentence that is
// neither the kind's nor the code's own.
const (
	memberMessage = "message"
	memberGot     = "got" // in a violation
	pathGiven     = "message.given"
)

// errNoMember says that a path leads nowhere.
var errNoMember = errors.New("names no member of the record")

// compilePath resolves src for values of type on: the record's own type, or the item type of one of its
// lists.
func compilePath(src string, on reflect.Type) (*path, error) {
	p := &path{src: src}
	rest := src
	for {
		if on == contractform.RecordType {
			if s := findComputed(rest); s != nil {
				p.computed, p.text = s, s.kind == contractform.TypeString
				return p, nil
			}
		}
		name, more, deeper := strings.Cut(rest, ".")
		next, st, ok := descend(on, name)
		if !ok {
			return nil, fmt.Errorf("%s %w", src, errNoMember)
		}
		p.steps = append(p.steps, st)
		p.zero = on == contractform.QuotaType && name == quotaRemaining
		if on = next; !deeper {
			p.leaf, p.text = on, on.Kind() == reflect.String
			return p, nil
		}
		rest = more
	}
}

func descend(on reflect.Type, name string) (reflect.Type, step, bool) {
	st := step{index: -1, field: -1}
	switch on.Kind() {
	case reflect.Struct:
		f, ok := contractform.FieldNamed(on, name)
		if !ok {
			return nil, st, false
		}
		st.field = f.Index[0]
		return contractform.Indirect(f.Type), st, true
	case reflect.Slice:
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i > 99 || on == contractform.RawType || on == contractform.ArgsType {
			return nil, st, false
		}
		st.index = i
		return contractform.Indirect(on.Elem()), st, true
	case reflect.Map:
		st.key = name
		return contractform.Indirect(on.Elem()), st, name != ""
	default:
		return nil, st, false
	}
}

// get returns the value that p leads to from base, or the zero Value if it is empty. base is addressable.
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
	if p.computed == nil {
		if v.IsZero() && !p.zero || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0 {
			return reflect.Value{}
		}
		return v
	}
	e, ok := reflect.TypeAssert[*recourse.Error](v.Addr())
	if !ok {
		return reflect.Value{}
	}
	value, ok := p.computed.get(s.on(e), p.computed.arg)
	if !ok {
		return reflect.Value{}
	}
	return reflect.ValueOf(value)
}

// set stores a JSON value where p leads to from base, and creates missing steps. A value that is empty or has
// the wrong type is not stored.
func (p *path) set(base reflect.Value, raw json.Value) {
	switch {
	case p.computed != nil && p.isSentence():
		if text, ok := json.TextOf(raw); ok {
			p.record(base).Message = text
		}
		return
	case p.computed != nil:
		if p.computed.set != nil && p.computed.set(new(recourse.Error), p.computed.arg, raw) {
			p.computed.set(p.record(base), p.computed.arg, raw)
		}
		return
	}
	value := reflect.New(p.leaf).Elem()
	if !setJSON(value, raw) || value.IsZero() && !p.zero {
		return
	}
	p.place(base, value)
}

// place stores value, which has the type of p's leaf.
func (p *path) place(base, value reflect.Value) {
	last := p.steps[len(p.steps)-1]
	v := walk(base, p.steps[:len(p.steps)-1])
	if last.key != "" {
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(reflect.ValueOf(last.key), value)
		return
	}
	walk(v, p.steps[len(p.steps)-1:]).Set(value)
}

var stringType = reflect.TypeFor[string]()

// setString stores a text where p leads to a plain string, unless it is empty.
func (p *path) setString(base reflect.Value, text string) {
	if text == "" {
		return
	}
	if p.steps[len(p.steps)-1].key != "" {
		p.place(base, reflect.ValueOf(text))
		return
	}
	walk(base, p.steps).SetString(text)
}

// walk follows steps, none of which goes through a map, and creates missing ones.
func walk(v reflect.Value, steps []step) reflect.Value {
	for _, st := range steps {
		if st.field >= 0 {
			v = v.Field(st.field)
		} else {
			if missing := st.index + 1 - v.Len(); missing > 0 {
				v.Set(reflect.AppendSlice(v, reflect.MakeSlice(v.Type(), missing, missing)))
			}
			v = v.Index(st.index)
		}
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
	}
	return v
}

// record returns the record that a computed member belongs to.
func (p *path) record(base reflect.Value) *recourse.Error {
	e, _ := reflect.TypeAssert[*recourse.Error](walk(base, p.steps).Addr()) // compilePath guarantees the type
	return e
}

// setJSON stores raw in v; it reports false if the type is wrong.
func setJSON(v reflect.Value, raw json.Value) bool {
	switch {
	case v.Type() == contractform.RawType:
		value, ok := clean.Raw(raw)
		v.SetBytes(value)
		return ok
	case v.Type() == contractform.DurationType:
		var ms float64
		if json.Unmarshal(raw, &ms) != nil {
			return false
		}
		v.SetInt(int64(clean.Wait(ms / 1000)))
		return true
	case v.Kind() == reflect.String && raw.Kind() == '0': // an identifier written as a number
		v.SetString(string(raw))
		return true
	case v.Type() == stringType && raw.Kind() == '"':
		text, ok := json.TextOf(raw)
		v.SetString(text)
		return ok
	}
	return json.UnmarshalLenient(raw, v.Addr().Interface()) == nil
}

// isSentence reports whether p is the record's sentence.
func (p *path) isSentence() bool { return p.src == memberMessage || p.src == pathGiven }

// isRetryable reports whether p is the computed boolean.
func (p *path) isRetryable() bool { return p.computed != nil && p.computed.name == "retryable" }

// isCode reports whether p is the record's own code.
func (p *path) isCode() bool { return p.src == "code" || p.src == "code.number" }

// words returns the closed set of words allowed for p's member, or nil.
func (p *path) words() []string {
	if p.computed != nil {
		return nil
	}
	return contractform.WordsOf(p.leaf)
}

// setText stores a text that a template captured.
func (p *path) setText(base reflect.Value, text string) {
	switch {
	case !p.text || !utf8.ValidString(text):
	case p.computed != nil && p.isSentence():
		p.record(base).Message = text
		return
	case p.leaf == stringType:
		p.setString(base, text)
		return
	}
	switch {
	case p.text || p.computed == nil && p.leaf == contractform.TimeType:
		p.set(base, json.AppendQuote(nil, text))
	case p.computed == nil && p.leaf.Kind() == reflect.Slice && p.leaf.Elem().Kind() == reflect.String:
		list := []byte{'['}
		for i, item := range strings.Split(text, listSeparator) {
			if i > 0 {
				list = append(list, ',')
			}
			list = json.AppendQuote(list, item)
		}
		p.set(base, append(list, ']'))
	case json.Valid([]byte(text)):
		p.set(base, json.Value(text))
	case p.computed == nil && p.leaf == contractform.RawType:
		p.set(base, json.AppendQuote(nil, text))
	}
}

// listSeparator separates the items of a list in a sentence.
const listSeparator = ", "

// appendValue writes v as JSON.
func appendValue(dst []byte, v reflect.Value) []byte {
	switch v.Kind() {
	default:
	case reflect.String:
		return json.AppendQuote(dst, v.String())
	case reflect.Bool:
		return strconv.AppendBool(dst, v.Bool())
	case reflect.Int, reflect.Int64:
		if v.Type() == contractform.DurationType {
			return strconv.AppendInt(dst, time.Duration(v.Int()).Milliseconds(), 10)
		}
		return strconv.AppendInt(dst, v.Int(), 10)
	}
	if v.Type() == contractform.RawType {
		return append(dst, v.Bytes()...)
	}
	if v.Type() == contractform.TimeType {
		at, _ := reflect.TypeAssert[time.Time](v)
		return json.AppendQuote(dst, at.UTC().Format(time.RFC3339Nano))
	}
	b, err := json.Marshal(v.Interface())
	if err != nil {
		return append(dst, "null"...)
	}
	return append(dst, b...)
}

// textOf formats v for a sentence: strings as they are, lists with commas, anything else as JSON.
func textOf(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Slice && v.Type() != contractform.RawType && v.Type() != contractform.ArgsType:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = textOf(v.Index(i))
		}
		return strings.Join(parts, listSeparator)
	case v.Type() == contractform.RawType:
		if text, err := json.AppendUnquote(nil, v.Bytes()); err == nil {
			return string(text)
		}
	}
	return string(appendValue(nil, v))
}

func (k *compiler) path(n *strictyaml.Node, on reflect.Type) *path {
	var text string
	if n.Decode(&text) != nil {
		return nil
	}
	p, err := compilePath(text, on)
	if err != nil {
		k.mistakef(n, pathHint(text), "%s", err)
		return nil
	}
	k.saw(p)
	return p
}

// saw remembers the path if it shows the value of an argument.
func (k *compiler) saw(p *path) {
	if p.src == memberGot || strings.HasSuffix(p.src, "."+memberGot) {
		k.c.showsValues = true
	}
}

// pathHint suggests what an invalid path may have meant.
func pathHint(src string) string {
	known := slices.Clone(contractform.RecordOrder())
	for name := range computedMembers {
		known = append(known, strings.TrimSuffix(name, "."))
	}
	slices.Sort(known)
	for _, list := range []reflect.Type{reflect.TypeFor[recourse.Violation](), reflect.TypeFor[recourse.MissingData]()} {
		known = append(known, contractform.MembersOf(list)...)
	}
	if near, ok := nearest.Of(src, known); ok {
		return "did you mean `" + near + "`?"
	}
	return "paths are those of the record's JSON form, such as violations.0.param"
}
