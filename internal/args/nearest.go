package args

import "strings"

// nearest returns the candidate that name was probably meant to be, or "".
func nearest(name string, candidates []string) string {
	const longest = 64
	if len(name) > longest {
		return ""
	}
	folded := fold(name)
	best, bestDistance := "", len(folded)/3+1 // a third of the letters may be wrong, rounded up
	for _, candidate := range candidates {
		if len(candidate) > longest {
			continue
		}
		if d := edits(folded, fold(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// fold removes what differs between the ways to write the same name.
func fold(name string) string {
	return strings.NewReplacer("_", "", "-", "", ".", "").Replace(strings.ToLower(name))
}

// edits returns how many insertions, deletions, replacements and exchanges of
// neighbours lead from a to b (optimal string alignment).
func edits(a, b string) int {
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
