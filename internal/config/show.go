package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/privacy/secret"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

const (
	masked    = "********"
	byDefault = "default"
)

// Show reads a configuration as [Parse] does and returns what holds as YAML: what the files say and the defaults, each value with its
// origin in a comment, and secrets masked.
func Show(name string, src []byte, opts Options) (string, error) {
	c, doc, err := parse(name, src, opts)
	if err != nil {
		return "", err
	}
	s := shower{doc: doc, lookup: opts.LookupEnv}
	s.mapping(0, doc.Root(), reflect.ValueOf(c).Elem())
	return s.out.String(), nil
}

// A shower writes a configuration with its origins.
type shower struct {
	doc    *strictyaml.Document
	lookup func(string) (string, bool)
	out    strings.Builder
}

// line writes a key or the sign of an item, its value and where that comes from.
func (s *shower) line(indent int, key, value, origin string) {
	s.out.WriteString(strings.Repeat("  ", indent) + key)
	if value != "" {
		s.out.WriteString(" " + value + "  # " + origin)
	}
	s.out.WriteByte('\n')
}

// mapping writes the keys of a struct: those that the file has, and the others if they have a default.
func (s *shower) mapping(indent int, n *strictyaml.Node, v reflect.Value) {
	for f, value := range v.Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		limit, set := "", false
		if key == "memory_limit" && s.lookup != nil {
			limit, set = s.lookup("GOMEMLIMIT")
		}
		switch given := n.Get(key); {
		case key == "":
		case set:
			s.line(indent, key+":", strictyaml.Written(limit), "environment GOMEMLIMIT")
		case given != nil:
			s.value(indent, key+":", given, value)
		case key == "profile" && profileOf(v) != "":
			s.line(indent, key+":", strictyaml.Written(profileOf(v)), "profile of what command starts")
		default:
			s.fallback(indent, key+":", f.Tag.Get("default"), value)
		}
	}
}

// profileOf returns the name of the profile that a server has without naming it.
func profileOf(v reflect.Value) string {
	if server, ok := reflect.TypeAssert[*Server](v.Addr()); ok && server.Known != nil {
		return server.Known.Name
	}
	return ""
}

// value writes a value that is in a file; v is what it was read into, if that has keys of its own.
func (s *shower) value(indent int, key string, n *strictyaml.Node, v reflect.Value) {
	switch n.Kind() {
	case strictyaml.KindMapping:
		s.line(indent, key, "", "")
		s.entries(indent+1, n, v)
	case strictyaml.KindSequence:
		s.sequence(indent, key, n)
	case strictyaml.KindNull:
	default:
		s.line(indent, key, s.scalar(n), s.origin(n))
	}
}

// entries writes what a mapping of a file has.
func (s *shower) entries(indent int, n *strictyaml.Node, v reflect.Value) {
	switch {
	case v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct:
		s.mapping(indent, n, v.Elem())
		return
	case v.Kind() != reflect.Slice: // of entries by name
		v = reflect.Value{}
	}
	i := 0
	for name, value := range n.All() {
		name = strictyaml.Written(name) + ":"
		if v.IsValid() && value.Kind() <= strictyaml.KindMapping && value.Kind() != strictyaml.KindSequence {
			s.line(indent, name, "", "")
			s.mapping(indent+1, value, entry(v.Index(i)))
		} else {
			s.value(indent, name, value, reflect.Value{})
		}
		i++
	}
}

// entry returns the struct of an entry by name.
func entry(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Pointer {
		return v.Elem()
	}
	return v.FieldByName("Value")
}

func (s *shower) sequence(indent int, key string, n *strictyaml.Node) {
	texts := make([]string, n.Len())
	for i := range texts {
		if item := n.Item(i); item.Kind() < strictyaml.KindSequence {
			texts[i] = s.scalar(item)
		}
	}
	if !slices.Contains(texts, "") {
		var hidden []string
		if key == "command:" {
			hidden = redact.Command(words(n))
		}
		for i := range texts {
			if slices.ContainsFunc(hidden, func(h string) bool { return strings.Contains(n.Item(i).Text(), h) }) {
				texts[i] = masked
			}
		}
		s.line(indent, key, "["+strings.Join(texts, ", ")+"]", s.origin(n))
		return
	}
	s.line(indent, key, "", "")
	for i := range n.Len() {
		s.value(indent, "-", n.Item(i), reflect.Value{})
	}
}

func words(n *strictyaml.Node) []string {
	list := make([]string, n.Len())
	for i := range list {
		list[i] = n.Item(i).Text()
	}
	return list
}

// scalar returns a value as it is shown.
func (s *shower) scalar(n *strictyaml.Node) string {
	hidden := func(name string) bool { return secret.Name(name) || secret.Weak(name) }
	switch text := n.Text(); {
	case n.Secret(), slices.ContainsFunc(variables(n), hidden), strings.Contains(text, "://") && len(redact.URL(text)) > 0:
		return masked
	case n.Kind() != strictyaml.KindString:
		return text
	default:
		return strictyaml.Written(redact.Log(text))
	}
}

var reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// variables returns the names of the variables in a value.
func variables(n *strictyaml.Node) (names []string) {
	for _, match := range reference.FindAllStringSubmatch(strings.ReplaceAll(n.Source(), "$$", ""), -1) {
		names = append(names, match[1])
	}
	return names
}

func (s *shower) origin(n *strictyaml.Node) string {
	place := s.doc.Place(n.Pos())
	names := variables(n)
	for i := range n.Len() {
		names = append(names, variables(n.Item(i))...)
	}
	if len(names) > 0 {
		return "environment " + strings.Join(names, ", ") + "; " + place
	}
	return place
}

// fallback writes a value that is in no file; literal is the default as it is documented.
func (s *shower) fallback(indent int, key, literal string, v reflect.Value) {
	set := !v.IsZero() // by what follows from other keys
	if v.Kind() == reflect.Pointer {
		if !set {
			return
		}
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.Struct && hasKeys(v.Type()):
		s.line(indent, key, "", "")
		s.mapping(indent+1, nil, v)
	case !set && (literal == "" || strings.HasPrefix(literal, "(")):
	case !set && v.Kind() == reflect.String:
		s.line(indent, key, strictyaml.Written(literal), byDefault)
	default:
		if text := plainly(v); text != "" {
			s.line(indent, key, text, byDefault)
		}
	}
}

// hasKeys reports whether a struct is written as a mapping.
func hasKeys(t reflect.Type) bool {
	for f := range t.Fields() {
		if f.Tag.Get("yaml") != "" {
			return true
		}
	}
	return false
}

// plainly returns a value that is not from a file as YAML; "" if it is none that has a default.
func plainly(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case time.Duration:
		return written(value)
	case strictyaml.Size:
		return value.String()
	}
	switch v.Kind() { //nolint:exhaustive // the others have no defaults
	case reflect.String:
		return strictyaml.Written(v.String())
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		return fmt.Sprint(v.Interface())
	case reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = plainly(v.Index(i))
		}
		if !slices.Contains(items, "") {
			return "[" + strings.Join(items, ", ") + "]"
		}
	}
	return ""
}
