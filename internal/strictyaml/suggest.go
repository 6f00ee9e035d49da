package strictyaml

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

const (
	maxListed = 12 // names that a hint lists
	maxQuoted = 60 // characters of a value that a message shows
)

// nearestHint asks for the name that was probably meant, or lists the names when they are few. Each is shown with
// the prefix.
func nearestHint(name string, known []string, prefix string) string {
	if best, ok := Nearest(name, known); ok {
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

// Nearest returns the known name that differs from name by the fewest insertions, deletions, replacements and swaps of
// neighbours, without regard to case, if that is at most a third of its letters.
func Nearest(name string, known []string) (string, bool) {
	if len(name) > maxQuoted {
		return "", false
	}
	best, least := "", -1
	for _, k := range known {
		n := distance([]rune(strings.ToLower(name)), []rune(strings.ToLower(k)))
		if n <= max(1, len(k)/3) && n < len(k) && (least < 0 || n < least) {
			best, least = k, n
		}
	}
	return best, least >= 0
}

// distance is the optimal string alignment distance.
func distance(a, b []rune) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range b {
		rows[0][j+1] = j + 1
	}
	for i := range a {
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			n := min(rows[i][j]+cost, rows[i][j+1]+1, rows[i+1][j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				n = min(n, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = n
		}
	}
	return rows[len(a)][len(b)]
}

// quotable makes a text from the file fit to stand in a message: short, on one line, printable.
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
