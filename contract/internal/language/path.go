package language

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A Path addresses a member of the record's JSON form, such as violations.0.param, or something that follows from
// a record. Its fields are for reading.
type Path struct {
	Src      string
	Leaf     reflect.Type // the member's type, unless it is computed
	Computed *Computed    // of the last record on the path
	IsText   bool         // the member is a text

	steps []segment
	zero  bool // the path ends in a value even if that is zero
}

// A segment goes from a value to one inside it.
type segment struct {
	field int    // of a struct
	index int    // of a slice, -1: none
	key   string // of a map
}

// errNoMember says that a path leads nowhere.
var errNoMember = errors.New("names no member of the record")

// CompilePath resolves src for values of type on: the record's own type, or the item type of one of its lists.
func CompilePath(src string, on reflect.Type) (*Path, error) {
	p := &Path{Src: src}
	rest := src
	for {
		if on == contractform.RecordType {
			if c := findComputed(rest); c != nil {
				p.Computed, p.IsText = c, c.Type == contractform.TypeString
				return p, nil
			}
		}
		name, more, deeper := strings.Cut(rest, ".")
		next, st, ok := descend(on, name)
		if !ok {
			return nil, fmt.Errorf("%s %w", src, errNoMember)
		}
		p.steps = append(p.steps, st)
		p.zero = on == contractform.QuotaType && name == QuotaRemaining
		on = next
		if !deeper {
			p.Leaf, p.IsText = on, on.Kind() == reflect.String
			return p, nil
		}
		rest = more
	}
}

func descend(on reflect.Type, name string) (reflect.Type, segment, bool) {
	st := segment{index: -1, field: -1}
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

// Get returns the value that p leads to from base, or the zero Value if it is empty. If p is computed, that is the
// value from which it is computed. base is addressable.
func (p *Path) Get(base reflect.Value) reflect.Value {
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
	switch {
	case p.Computed != nil:
		return v
	case v.IsZero() && !p.zero, (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0:
		return reflect.Value{}
	default:
		return v
	}
}

// Set stores a JSON value where p leads to from base, and creates missing steps. It reports whether there is a place for
// it: a value of the wrong type is not stored. An empty one need not be.
func (p *Path) Set(base reflect.Value, raw json.Value) bool {
	switch {
	case p.Computed != nil && p.IsSentence():
		text, ok := json.TextOf(raw)
		if ok {
			p.Record(base).Message = text
		}
		return ok
	case p.Computed != nil:
		if p.Computed.set == nil { // it follows from what is stored elsewhere
			return true
		}
		return p.Computed.set(new(recourse.Error), p.Computed.Arg, raw) && p.Computed.set(p.Record(base), p.Computed.Arg, raw)
	}
	value := reflect.New(p.Leaf).Elem()
	if !p.setJSON(value, raw) {
		return false
	}
	if !value.IsZero() || p.zero {
		p.place(base, value)
	}
	return true
}

// place stores value, which has the type of p's leaf.
func (p *Path) place(base, value reflect.Value) {
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

// Put stores a value under a name in the map to which p leads from base.
func (p *Path) Put(base reflect.Value, name string, value json.Value) {
	within := Path{steps: append(slices.Clone(p.steps), segment{field: -1, index: -1, key: name})}
	within.place(base, reflect.ValueOf(stdjson.RawMessage(value)))
}

// List returns the list to which p leads from base, and creates what is missing on the way.
func (p *Path) List(base reflect.Value) reflect.Value { return walk(base, p.steps) }

var (
	stringType  = reflect.TypeFor[string]()
	stringsType = reflect.TypeFor[[]string]()
)

// setString stores a text where p leads to a plain string, unless it is empty.
func (p *Path) setString(base reflect.Value, text string) {
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
func walk(v reflect.Value, steps []segment) reflect.Value {
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

// Record returns the record that a computed member belongs to.
func (p *Path) Record(base reflect.Value) *recourse.Error {
	e, _ := reflect.TypeAssert[*recourse.Error](walk(base, p.steps).Addr()) // CompilePath guarantees the type
	return e
}

// setJSON stores raw in v, which has the type of p's leaf; it reports false if the type is wrong.
func (p *Path) setJSON(v reflect.Value, raw json.Value) bool {
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
	case v.Type() == stringsType && raw.Kind() == '"': // a list of one, or several written as one text
		text, ok := json.TextOf(raw)
		v.Set(reflect.ValueOf(p.texts(text)))
		return ok
	}
	return json.UnmarshalLenient(raw, v.Addr().Interface()) == nil
}

// texts returns the items of a list that is written as one text: OAuth writes scopes so.
func (p *Path) texts(text string) []string {
	switch {
	case p.own() == "missingScopes":
		return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
	case strings.TrimSpace(text) == "":
		return nil
	default:
		return []string{text}
	}
}

// IsSentence reports whether p is the record's sentence.
func (p *Path) IsSentence() bool { return p.Src == string(Message) || p.Src == string(MessageGiven) }

// IsRetryable reports whether p is the boolean that says whether to repeat the call.
func (p *Path) IsRetryable() bool { return p.Computed != nil && p.Computed.Name == Retryable }

// IsCode reports whether p is the record's own code.
func (p *Path) IsCode() bool { return p.Src == "code" || p.Src == string(CodeNumber) }

// Directs reports whether p tells the caller what to do next: whether and when to repeat the call, and what comes first.
func (p *Path) Directs() bool {
	member, _, _ := strings.Cut(p.own(), ".")
	return p.IsRetryable() || slices.Contains([]string{"retry", "afterMs", "after", "effect", "verify", "hints"}, member)
}

// IsAdvice reports whether p is the advice, or a part of it.
func (p *Path) IsAdvice() bool {
	member, _, _ := strings.Cut(p.own(), ".")
	return member == "hints"
}

// own returns the path within its own record, which may be that of an item.
func (p *Path) own() string {
	src := p.Src
	for {
		inner, ok := strings.CutPrefix(src, "error.")
		if !ok {
			return src
		}
		src = inner
	}
}

// Words returns the closed set of words allowed for p's member, or nil.
func (p *Path) Words() []string {
	if p.Computed != nil {
		return nil
	}
	return contractform.WordsOf(p.Leaf)
}

// Takes reports whether a value can be stored where p leads: it has the type, and is one of the words.
func (p *Path) Takes(raw json.Value) bool {
	if p.Computed != nil {
		return true
	}
	if scratch := reflect.New(p.Leaf).Elem(); !p.setJSON(scratch, raw) {
		return false
	}
	words := p.Words()
	return words == nil || slices.Contains(words, json.Plain(raw))
}

// SetText stores a text that a template captured.
func (p *Path) SetText(base reflect.Value, text string) {
	switch {
	case !p.IsText || !utf8.ValidString(text):
	case p.Computed != nil && p.IsSentence():
		p.Record(base).Message = text
		return
	case p.Leaf == stringType:
		p.setString(base, text)
		return
	}
	switch {
	case p.IsText || p.Computed == nil && p.Leaf == contractform.TimeType:
		p.Set(base, json.AppendQuote(nil, text))
	case p.Computed == nil && p.Leaf.Kind() == reflect.Slice && p.Leaf.Elem().Kind() == reflect.String:
		list := []byte{'['}
		for i, item := range strings.Split(text, ListSeparator) {
			if i > 0 {
				list = append(list, ',')
			}
			list = json.AppendQuote(list, item)
		}
		p.Set(base, append(list, ']'))
	case json.Valid([]byte(text)):
		p.Set(base, json.Value(text))
	case p.Computed == nil && p.Leaf == contractform.RawType:
		p.Set(base, json.AppendQuote(nil, text))
	}
}

// ListSeparator separates the items of a list in a sentence.
const ListSeparator = ", "
