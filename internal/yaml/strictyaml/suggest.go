package strictyaml

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/recoursehq/recourse/internal/yaml/nearest"
)

const (
	maxListed = 12 // names that a hint lists
	maxQuoted = 60 // characters of a value that a message shows
)

// nearestHint asks whether the nearest known name was meant, or lists the names if there are few. Each is shown with
// the prefix.
func nearestHint(name string, known []string, prefix string) string {
	if best, ok := nearest.Of(name, known); ok {
		return "did you mean `" + prefix + best + "`?"
	}
	if len(known) == 0 || len(known) > maxListed {
		return ""
	}
	list := make([]string, len(known))
	for i, k := range known {
		list[i] = "`" + prefix + quotable(k) + "`"
	}
	return "known here: " + strings.Join(list, ", ")
}

// quotable returns a text from the file in a form that fits into a message: short, on one line, printable.
func quotable(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > maxQuoted {
			return b.String() + ellipsis
		}
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case !unicode.IsPrint(r):
			b.WriteRune('\ufffd')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func keysOf[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
