// Package glob compares names with patterns.
package glob

import "strings"

// Match reports whether name matches the pattern, in which * stands for any bytes and ? for
// any one. It takes at most len(pattern) x len(name) steps: a star that fails later gives
// one more byte to the last star only.
func Match(pattern, name string) bool {
	g, n := 0, 0
	star, resume := -1, 0
	for n < len(name) {
		switch {
		case g < len(pattern) && pattern[g] == '*':
			star, resume = g, n
			g++
		case g < len(pattern) && (pattern[g] == '?' || pattern[g] == name[n]):
			g++
			n++
		case star >= 0:
			resume++
			g, n = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[g:], "*") == ""
}
