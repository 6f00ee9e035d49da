package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// The page that documents every key is a template beside those of other pages, and up to date.
func TestReference(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	page, err := template.ParseFiles(filepath.Join("..", "docs", "pages", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := page.Execute(&text, map[string]any{"Example": string(example), "Sections": pageSections("Top level", reflect.TypeFor[Config]())}); err != nil {
		t.Fatal(err)
	}
	contracttest.Golden(t, filepath.Join("..", "..", "docs", "configuration.md"), text.String())
}

// A pageSection documents a mapping of the file.
type pageSection struct {
	Title string
	Keys  []struct{ Name, Type, Default, Meaning string }
}

// pageSections returns the section of a mapping, and after it those of its keys.
func pageSections(title string, of reflect.Type) []pageSection {
	this := pageSection{Title: title}
	var inner []pageSection
	for f := range of.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" {
			continue
		}
		this.Keys = append(this.Keys, struct{ Name, Type, Default, Meaning string }{
			name, typeName(f.Type), defaultText(f, options), strictyaml.Comment(of, f.Name),
		})
		if elem, suffix, ok := mappingOf(f.Type); ok {
			path := name + suffix
			if prefix := strings.Trim(title, "`"); prefix != "Top level" {
				path = prefix + "." + path
			}
			inner = append(inner, pageSections("`"+path+"`", elem)...)
		}
	}
	return append([]pageSection{this}, inner...)
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

func typeName(t reflect.Type) string {
	if words, ok := reflect.TypeAssert[interface{ Words() []string }](reflect.New(t)); ok {
		list := words.Words()
		return "`" + strings.Join(list[:len(list)-1], "`, `") + "` or `" + list[len(list)-1] + "`"
	}
	if elem, suffix, ok := mappingOf(t); ok && suffix != "" {
		return strings.TrimSuffix(strings.ToLower(elem.Name()), "s") + "s by name"
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
		if _, words := reflect.TypeAssert[interface{ Words() []string }](reflect.New(t.Elem())); words {
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
	case reflect.TypeFor[strictyaml.Map[Provider]]():
		return reflect.TypeFor[Provider](), byName, true
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
