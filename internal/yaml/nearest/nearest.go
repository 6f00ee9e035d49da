// Package nearest finds the name that a misspelled one was probably meant to be.
package nearest

import "strings"

// longest bounds the names that are compared, in bytes.
const longest = 64

// Of returns the known name that name was probably meant to be: the one with the
// fewest insertions, deletions, replacements and exchanges of neighbours, if those
// are at most a third of its letters. Case and the separators - _ . do not count.
func Of(name string, known []string) (string, bool) {
	if len(name) > longest {
		return "", false
	}
	folded := fold(name)
	best, least := "", -1
	for _, candidate := range known {
		if len(candidate) > longest {
			continue
		}
		other := fold(candidate)
		n := distance(folded, other)
		if n <= max(1, len(other)/3) && n < len(other) && (least < 0 || n < least) {
			best, least = candidate, n
		}
	}
	return best, least >= 0
}

// fold removes what differs between the ways to write the same name.
func fold(name string) []rune {
	return []rune(strings.NewReplacer("_", "", "-", "", ".", "").Replace(strings.ToLower(name)))
}

// distance is the optimal string alignment distance.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(replaced, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
