// Package uri knows in how many ways a URI, or a path, can be spelled so that some server takes it for the same.
package uri

import (
	"slices"
	"strings"
)

// MaxDecoded is how often a text may be decoded by all who do so on its way.
const MaxDecoded = 4

// Decode removes one level of percent-encoding. What is not an escape stays.
func Decode(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) && digit(text[i+1]) >= 0 && digit(text[i+2]) >= 0 {
			b.WriteByte(byte(digit(text[i+1])<<4 | digit(text[i+2]))) //nolint:gosec // both have four bits
			i += 2
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		return int(c|0x20) - 'a' + 10
	default:
		return -1
	}
}

// Spellings returns a URI as it is after it was decoded 0, 1 and more times, each without dot segments and with its
// scheme in small letters. It returns nil for one that can be decoded more than [MaxDecoded] times. The name of a tool
// or prompt, which is not a URI, has one spelling.
func Spellings(text string) []string {
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok {
		return []string{text}
	}
	var all []string
	for range MaxDecoded {
		all = append(all, strings.ToLower(scheme)+":"+withoutDots(rest))
		decoded := Decode(rest)
		if decoded == rest {
			return all
		}
		rest = decoded
	}
	return nil
}

// withoutDots removes dot segments (RFC 3986, section 5.2.4). A text without any stays as it is.
func withoutDots(text string) string {
	segments := strings.Split(strings.ReplaceAll(text, `\`, "/"), "/")
	isDot := func(s string) bool { return s == "." || s == ".." }
	if !slices.ContainsFunc(segments, isDot) {
		return text
	}
	var kept []string
	for i, s := range segments {
		switch {
		case s == "..":
			kept = kept[:max(len(kept)-1, 0)]
		case s != ".":
			kept = append(kept, s)
		}
		if isDot(s) && i == len(segments)-1 {
			kept = append(kept, "")
		}
	}
	return strings.Join(kept, "/")
}
