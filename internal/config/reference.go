package config

import (
	_ "embed"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Example is a short configuration that shows the most common keys. It needs the variable
// FARM_TOKEN.
//
//go:embed example.yaml
var Example string

const preface = `# Configuration

The file that ` + "`recourse serve -c FILE`" + ` reads is YAML. For example:

` + "```yaml\n%s```" + `

- ` + "`${NAME}`" + ` in a value is replaced by the environment variable NAME, which must be set; ` + "`$$`" + ` is a dollar sign.
  Inside ` + "`{ }` and `[ ]`" + ` such a value must stand in quotes.
- A duration is written as ` + "`500ms`, `20s`, `1m30s` or, in days, `30d`" + `.
- A size is written as ` + "`4MiB`, `256KiB`, `1MB`" + ` or as a number of bytes.
- Anchors, aliases and merge keys (` + "`<<: *name`" + `) work.
- Every mistake is reported at once, with its line and a hint; the program then ends with exit code 2.
`

// A section is a mapping of the file.
type section struct {
	title string
	t     reflect.Type
}

// Reference returns the page that documents every key, in Markdown.
func Reference() string {
	var b strings.Builder
	fmt.Fprintf(&b, preface, Example)
	sections := []section{{"Top level", reflect.TypeFor[Config]()}}
	for len(sections) > 0 {
		next := sections[0]
		sections = append(next.write(&b), sections[1:]...)
	}
	b.WriteString("\n" + several + bounds)
	return b.String()
}

// several says how a configuration is written in several files.
//
//go:embed several.md
var several string

// bounds are limits that no key changes.
//
//go:embed bounds.md
var bounds string

// write writes the section and returns the sections of its keys.
func (s section) write(b *strings.Builder) []section {
	prefix := strings.Trim(s.title, "`")
	fmt.Fprintf(b, "\n## %s\n\n| key | type | default | meaning |\n|---|---|---|---|\n", s.title)
	var inner []section
	for f := range s.t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" {
			continue
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name, typeName(f.Type), defaultText(f, options), strictyaml.Comment(s.t, f.Name))
		if elem, suffix, ok := mappingOf(f.Type); ok {
			path := name + suffix
			if prefix != "Top level" {
				path = prefix + "." + path
			}
			inner = append(inner, section{"`" + path + "`", elem})
		}
	}
	return inner
}

func defaultText(f reflect.StructField, options string) string {
	text := f.Tag.Get("default")
	switch words, ok := strings.CutPrefix(text, "("); {
	case strings.Contains(options, "required"):
		return "required"
	case ok && !strings.HasPrefix(words, "/"):
		return strings.TrimSuffix(words, ")")
	case ok:
		return "`" + strings.TrimSuffix(words, ")") + "`"
	default:
		return "`" + text + "`"
	}
}

// byName follows the key of a mapping by names in a path.
const byName = ".NAME"

// mappingOf returns the struct that describes a key's mapping, and what follows the key in a path to it.
func mappingOf(t reflect.Type) (elem reflect.Type, suffix string, ok bool) {
	switch t {
	case reflect.TypeFor[Servers]():
		return reflect.TypeFor[Server](), byName, true
	case reflect.TypeFor[Endpoints]():
		return reflect.TypeFor[Endpoint](), byName, true
	case reflect.TypeFor[[]Member]():
		return reflect.TypeFor[Member](), "", true
	case reflect.TypeFor[strictyaml.Map[Tool]]():
		return reflect.TypeFor[Tool](), byName, true
	case reflect.TypeFor[strictyaml.Map[Access]]():
		return reflect.TypeFor[Access](), byName, true
	case reflect.TypeFor[[]AccessKey](), reflect.TypeFor[[]Grant](), reflect.TypeFor[[]Expect]():
		return t.Elem(), "", true
	case reflect.TypeFor[[]Operation]():
		return reflect.TypeFor[Operation](), "", true
	case reflect.TypeFor[Limits]():
		return reflect.TypeFor[Limit](), byName, true
	}
	if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct {
		return t.Elem(), "", true
	}
	return nil, "", false
}

func typeName(t reflect.Type) string {
	if words, ok := reflect.TypeAssert[enum](reflect.New(t)); ok {
		return oneOf(words.Words())
	}
	if elem, suffix, ok := mappingOf(t); ok && suffix != "" {
		return strings.ToLower(elem.Name()) + "s by name"
	}
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.TypeFor[strictyaml.Size]():
		return "size"
	case reflect.TypeFor[[]Member]():
		return "list of names or mappings"
	case reflect.TypeFor[Rate]():
		return "calls/time"
	case reflect.TypeFor[*Once]():
		return "`true`, `contract` or mapping"
	case reflect.TypeFor[OnceKey]():
		return "text or list of texts"
	}
	switch t.Kind() {
	case reflect.Interface:
		return "value"
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Bool:
		return "`true` or `false`"
	case reflect.Float64, reflect.Int:
		return "number"
	case reflect.String:
		return "text"
	case reflect.Slice:
		if _, words := reflect.TypeAssert[enum](reflect.New(t.Elem())); words {
			return "list of " + typeName(t.Elem())
		}
		return "list of " + typeName(t.Elem()) + "s"
	case reflect.Map:
		if t.Elem().Kind() == reflect.Interface {
			return "values by name"
		}
		return typeName(t.Elem()) + "s by name"
	default:
		return "mapping"
	}
}
