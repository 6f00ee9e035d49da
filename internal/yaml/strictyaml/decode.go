package strictyaml

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// An Unmarshaler reads itself from a value of any kind. It returns a mistake made with [Node.Errorf] or
// [Node.Expected], the error of [Node.Decode], or any other error, whose text is then the mistake at the value's
// position. In that last case, a secret value is only said to be invalid.
type Unmarshaler interface {
	UnmarshalYAML(n *Node) error
}

// A Map is a mapping in the order of the file.
type Map[T any] []Entry[T]

// An Entry is a key of a [Map] with its position and its value.
type Entry[T any] struct {
	Key   string
	Pos   Pos
	Value T
}

var _ Unmarshaler = (*Map[any])(nil)

// Get returns the value of a key.
func (m Map[T]) Get(key string) (value T, ok bool) {
	for _, e := range m {
		if e.Key == key {
			return e.Value, true
		}
	}
	return value, false
}

// UnmarshalYAML reads a mapping. Values with mistakes are kept as far as they could be read, so that the rest of them
// can be checked.
func (m *Map[T]) UnmarshalYAML(n *Node) error {
	*m = nil
	if n.kind == KindNull {
		return nil
	}
	if n.kind != KindMapping {
		return n.Expected("a mapping", "")
	}
	ok := true
	for _, e := range n.entries {
		var v T
		ok = n.doc.decodeEntry(e, reflect.ValueOf(&v).Elem()) && ok
		*m = append(*m, Entry[T]{e.key, e.pos, v})
	}
	if !ok {
		return errReported
	}
	return nil
}

// decodeInto reads n into the pointer v and reports whether there was no mistake.
func (d *Document) decodeInto(n *Node, v any) bool {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		d.reportBrokenf(n, "", "cannot be decoded into %T, which is not a pointer", v)
		return false
	}
	name := ""
	switch n {
	case d.reading:
		name = d.readingName
	case d.root:
		name, d.rootType = "the file", rv.Type()
	}
	return d.decode(n, rv.Elem(), name)
}

// decode reads n into v. Messages call the value by name, or "this" if that is empty.
func (d *Document) decode(n *Node, v reflect.Value, name string) bool {
	if u, ok := reflect.TypeAssert[Unmarshaler](v.Addr()); ok {
		return d.unmarshal(n, u, name)
	}
	switch target := v.Addr().Interface().(type) {
	case worded:
		return d.decodeWord(n, v, target.Words(), name)
	case **Node:
		*target = n
		return true
	case *time.Duration:
		return d.decodeDuration(n, target, name)
	}
	if n.kind == KindNull && isScalar(v.Kind()) {
		d.reportBrokenf(n, "give it a value or remove it", "%s has no value", subject(name))
		return false
	}

	switch v.Kind() {
	case reflect.Pointer:
		if n.kind == KindNull {
			v.SetZero()
			return true
		}
		p := reflect.New(v.Type().Elem())
		ok := d.decode(n, p.Elem(), name)
		v.Set(p)
		return ok
	case reflect.Struct:
		return d.decodeStruct(n, v, name)
	case reflect.Slice:
		return d.decodeSlice(n, v, name)
	case reflect.Map:
		return d.decodeMap(n, v, name)
	case reflect.Interface:
		return d.decodeAny(n, v, name)
	default:
		return d.decodeScalar(n, v, name)
	}
}

// A worded is a text with few possible values.
type worded interface{ Words() []string }

func (d *Document) decodeWord(n *Node, v reflect.Value, words []string, name string) bool {
	if n.kind != KindString || !slices.Contains(words, n.text) {
		last := len(words) - 1
		return d.wrongType(n, "`"+strings.Join(words[:last], "`, `")+"` or `"+words[last]+"`", "", name)
	}
	v.SetString(n.text)
	return true
}

func isScalar(k reflect.Kind) bool {
	return k != reflect.Pointer && k != reflect.Struct && k != reflect.Slice && k != reflect.Map && k != reflect.Interface
}

func (d *Document) unmarshal(n *Node, u Unmarshaler, name string) bool {
	outer, outerName := d.reading, d.readingName
	d.reading, d.readingName = n, name
	err := u.UnmarshalYAML(n)
	d.reading, d.readingName = outer, outerName
	var mistake *Error
	var wrong *mismatch
	switch {
	case err == nil:
		return true
	case errors.Is(err, errReported):
	case errors.As(err, &wrong):
		d.wrongType(n, wrong.want, wrong.hint, name)
	case errors.As(err, &mistake):
		d.broken[mistake.Pos] = true
		d.add(mistake)
	case d.secrets[n.pos]:
		d.reportBrokenf(n, "", "%s is not valid", subject(name))
	default:
		d.reportBrokenf(n, "", "%s: %s", subject(name), quotable(err.Error()))
	}
	return false
}

// A mismatch is the error of [Node.Expected]: it becomes a mistake once the value's name is known.
type mismatch struct{ want, hint string }

func (m *mismatch) Error() string { return "expected " + m.want }

// Expected returns the mistake of a value that is not what is wanted, such as "a size", for an [Unmarshaler] to return.
// The document adds the value's key and what is there instead.
func (*Node) Expected(want, hint string) error { return &mismatch{want, hint} }

// wrongType says what was expected and what is there.
func (d *Document) wrongType(n *Node, want, hint, name string) bool {
	d.reportBrokenf(n, hint, "%s must be %s, not %s", subject(name), want, d.describe(n))
	return false
}

func subject(name string) string {
	if name == "" {
		return "this"
	}
	return name
}

// describe names a value in a message; a secret by its kind alone. An expanded one is shown as it is in the file.
func (d *Document) describe(n *Node) string {
	kind := map[NodeKind]string{
		KindNull: "nothing", KindBool: "the truth value", KindInt: "the number", KindFloat: "the number",
		KindString: "the text", KindSequence: "a list", KindMapping: "a mapping",
	}[n.kind]
	switch {
	case n.kind == KindNull || n.kind >= KindSequence:
		return kind
	case d.secrets[n.pos]:
		return "this " + strings.TrimPrefix(kind, "the ")
	case n.expanded:
		return "what `" + quotable(n.source) + "` stands for"
	case n.source == "":
		return "an empty text"
	default:
		return kind + " `" + quotable(n.source) + "`"
	}
}

// listHint says how a text is written as a list.
func listHint(text string) string {
	if utf8.RuneCountInString(text) > maxQuoted {
		return "write it between `[` and `]`"
	}
	words := strings.Fields(text)
	if len(words) < 2 {
		return "write `[" + Written(text) + "]`"
	}
	items := make([]string, len(words))
	for i, word := range words {
		items[i] = Written(word)
	}
	return "write `[" + strings.Join(items, ", ") + "]`, or `[" + quoted(text) + "]` if it is one"
}

// Written returns a text as YAML has it anywhere, also between brackets: in quotes if it would not be read as that text.
func Written(text string) string {
	if resolve(text) == KindString && listItemForm.MatchString(text) {
		return text
	}
	return quoted(text)
}

// listItemForm matches texts that need no quotes between brackets.
var listItemForm = regexp.MustCompile(`^[A-Za-z0-9_./+-][A-Za-z0-9_./+@=-]*$`)

// quoted returns a text in double quotes, as YAML reads them.
func quoted(text string) string { return strconv.Quote(text) }

func (d *Document) decodeSlice(n *Node, v reflect.Value, name string) bool {
	v.SetZero()
	if n.kind == KindNull {
		return true
	}
	if key := d.keyOf(v.Type()); key != nil {
		return d.decodeNamed(n, v, key, name)
	}
	if n.kind != KindSequence {
		hint := ""
		if n.kind < KindSequence && !d.secrets[n.pos] {
			hint = listHint(n.source)
		}
		return d.wrongType(n, "a list", hint, name)
	}
	ok := true
	v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	for i, item := range n.items {
		label := fmt.Sprintf("item %d", i+1)
		if name != "" {
			label += " of " + name
		}
		ok = d.decode(item, v.Index(i), label) && ok
	}
	return ok
}

// decodeNamed reads a mapping into a list of pointers, whose structs have the key at an index. Those with mistakes are kept as far as
// they could be read, as in a [Map].
func (d *Document) decodeNamed(n *Node, v reflect.Value, key []int, name string) bool {
	if n.kind != KindMapping {
		return d.wrongType(n, "a mapping", "", name)
	}
	ok := true
	for _, e := range n.entries {
		one := reflect.New(v.Type().Elem().Elem())
		ok = d.decodeEntry(e, one.Elem()) && ok
		one.Elem().FieldByIndex(key).SetString(e.key)
		v.Set(reflect.Append(v, one))
	}
	return ok
}

func (d *Document) decodeMap(n *Node, v reflect.Value, name string) bool {
	v.SetZero()
	if n.kind == KindNull {
		return true
	}
	if v.Type().Key().Kind() != reflect.String {
		return d.unsupported(n, v, name)
	}
	if n.kind != KindMapping {
		return d.wrongType(n, "a mapping", "", name)
	}
	ok := true
	v.Set(reflect.MakeMapWithSize(v.Type(), len(n.entries)))
	for _, e := range n.entries {
		value := reflect.New(v.Type().Elem()).Elem()
		ok = d.decodeEntry(e, value) && ok
		v.SetMapIndex(reflect.ValueOf(e.key).Convert(v.Type().Key()), value)
	}
	return ok
}

func (d *Document) decodeEntry(e keyValue, v reflect.Value) bool {
	return d.decode(e.value, v, "`"+quotable(e.key)+"`")
}

// decodeAny reads a value as its own type: nil, bool, int64, float64, string, []any or Map[any].
func (d *Document) decodeAny(n *Node, v reflect.Value, name string) bool {
	if v.NumMethod() > 0 {
		return d.unsupported(n, v, name)
	}
	var target any
	ok := true
	switch n.kind {
	case KindNull:
		v.SetZero()
		return true
	case KindBool:
		target = strings.EqualFold(n.text, "true")
	case KindInt, KindFloat:
		if target, ok = parseInt(n.text, 64); !ok {
			target, ok = parseFloat(n.text)
		}
		if !ok {
			return d.wrongType(n, "a finite number", "put it in quotes to make it a text", name)
		}
	case KindString:
		target = n.text
	case KindSequence:
		var list []any
		ok = d.decode(n, reflect.ValueOf(&list).Elem(), name)
		target = list
	case KindMapping:
		m := Map[any]{}
		ok = d.decode(n, reflect.ValueOf(&m).Elem(), name)
		target = m
	}
	v.Set(reflect.ValueOf(target))
	return ok
}

func (d *Document) decodeScalar(n *Node, v reflect.Value, name string) bool {
	switch v.Kind() {
	case reflect.String:
		if n.kind != KindString {
			return d.wrongType(n, "a text", d.quoteHint(n), name)
		}
		v.SetString(n.text)
	case reflect.Bool:
		b, hint, ok := parseBool(n.text)
		if n.kind >= KindSequence || d.secrets[n.pos] {
			hint = ""
		}
		if ok && !n.bare() {
			hint = "write it without quotes"
		}
		if !ok || !n.bare() {
			return d.wrongType(n, "true or false", hint, name)
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return d.decodeInt(n, v, name)
	case reflect.Float32, reflect.Float64:
		f, ok := parseFloat(n.text)
		if !ok || !n.bare() || resolve(n.text) != KindInt && resolve(n.text) != KindFloat {
			return d.wrongType(n, "a number", "", name)
		}
		v.SetFloat(f)
	default:
		return d.unsupported(n, v, name)
	}
	return true
}

// unsupported reports a mistake of the program, not of the file: a target that no value fits.
func (d *Document) unsupported(n *Node, v reflect.Value, name string) bool {
	d.reportBrokenf(n, "", "%s cannot be decoded into %s", subject(name), v.Type())
	return false
}

// bare reports whether a scalar may be read as something other than a text: it has no quotes, or it is expanded, which
// needs quotes inside { } and [ ].
func (n *Node) bare() bool { return n.kind < KindSequence && (n.plain || n.expanded) }

func (d *Document) decodeInt(n *Node, v reflect.Value, name string) bool {
	if !n.bare() || resolve(n.text) != KindInt {
		hint := ""
		if strings.ContainsAny(n.Text(), "_,") || leadingZero(n.Text()) {
			hint = "write the digits alone, without a leading zero"
		}
		return d.wrongType(n, "a whole number", hint, name)
	}
	i, ok := parseInt(n.text, v.Type().Bits())
	if !ok {
		return d.wrongType(n, fmt.Sprintf("a whole number of at most %d bits", v.Type().Bits()), "", name)
	}
	v.SetInt(i)
	return true
}

func (d *Document) decodeDuration(n *Node, v *time.Duration, name string) bool {
	if n.kind == KindNull {
		d.reportBrokenf(n, "give it a value or remove it", "%s has no value", subject(name))
		return false
	}
	if n.kind >= KindSequence {
		return d.wrongType(n, "a duration", durationHint, name)
	}
	duration, hint, ok := parseDuration(n.text)
	if !ok {
		if n.expanded || d.secrets[n.pos] {
			hint = durationHint
		}
		return d.wrongType(n, "a duration", hint, name)
	}
	*v = duration
	return true
}

// quoteHint says how to quote a value so that it is a text.
func (d *Document) quoteHint(n *Node) string {
	switch {
	case n.kind == KindMapping && n.flow:
		return "a text that begins with `{` must be in quotes"
	case n.kind == KindSequence && n.flow:
		return "a text that begins with `[` must be in quotes"
	case n.kind >= KindSequence:
		return ""
	case d.secrets[n.pos] || utf8.RuneCountInString(n.source) > maxQuoted:
		return "put it in quotes"
	default:
		return "put it in quotes: " + quoted(n.source)
	}
}
