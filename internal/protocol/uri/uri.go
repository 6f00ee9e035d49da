// Package uri knows in how many ways a URI, or a path, can be spelled so that some server takes it for the same.
package uri

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
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
			b.WriteByte(byte(digit(text[i+1])<<4 | digit(text[i+2])))
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
// scheme in small letters; if it has any, without empty segments as well, which to a file system are none. It returns nil for
// one that can be decoded more than [MaxDecoded] times, or that is no plain text in one of its spellings: see
// [IsText]. The name of a tool or prompt, which is not a URI, has one spelling.
func Spellings(text string) []string {
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok {
		return []string{text}
	}
	var all []string
	for range MaxDecoded {
		if !IsText(rest) {
			return nil
		}
		for _, form := range withoutAnyDots(rest) {
			all = append(all, strings.ToLower(scheme)+":"+form)
		}
		decoded := Decode(rest)
		if decoded == rest {
			return all
		}
		rest = decoded
	}
	return nil
}

// withoutAnyDots returns a text without dot segments; and without what servers take for such, and empty ones, if it has any.
func withoutAnyDots(text string) []string {
	forms := []string{withoutDots(text)}
	if plain := withoutDots(withoutEmpty(text)); hasDots(text) && plain != forms[0] {
		forms = append(forms, plain)
	}
	if plain := plainly(text); plain != text {
		forms = append(forms, withoutAnyDots(plain)...)
	}
	return forms
}

// IsText reports whether a text is valid UTF-8 without control characters. Some servers take an overlong encoding for the
// character that it stands for, or end a path at a zero.
func IsText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// withoutDots removes dot segments (RFC 3986, section 5.2.4). A text without any stays as it is.
func withoutDots(text string) string {
	if !hasDots(text) {
		return text
	}
	segments := segmentsOf(text)
	var kept []string
	for i, s := range segments {
		name := withoutParameters(s)
		switch {
		case name == "..":
			kept = kept[:max(len(kept)-1, 0)]
		case name != ".":
			kept = append(kept, s)
		}
		if isDot(s) && i == len(segments)-1 {
			kept = append(kept, "")
		}
	}
	return strings.Join(kept, "/")
}

// withoutEmpty removes empty segments behind the authority.
func withoutEmpty(text string) string {
	const authority = 2
	segments := segmentsOf(text)
	kept := slices.Clone(segments[:min(authority, len(segments))])
	for i := len(kept); i < len(segments); i++ {
		if segments[i] != "" || i == len(segments)-1 || i == authority {
			kept = append(kept, segments[i])
		}
	}
	return strings.Join(kept, "/")
}

// Collapsed returns a URI without the empty segments of its path, as a file system reads it. A name has none.
func Collapsed(text string) string {
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok || !strings.Contains(rest, "//") {
		return text
	}
	return scheme + ":" + withoutEmpty(rest)
}

// Folded reports whether a URI matches a pattern if the case of scheme and host, which means nothing (RFC 3986, section 6.2.2.1), is
// ignored. A * of the pattern may stand for the end of the host and more.
func Folded(pattern, uri string, match func(pattern, text string) bool) bool {
	host := hostEnd(pattern)
	star := strings.Index(pattern[:host], "*")
	if star < 0 {
		star = host
	}
	uri = Collapsed(folded(uri, hostEnd(uri)))
	return match(folded(pattern, host), uri) || match(folded(pattern, star), uri)
}

// folded returns a text whose first n bytes are in small letters.
func folded(text string, n int) string { return strings.ToLower(text[:n]) + text[n:] }

// hostEnd returns where the host of a URI ends, or its scheme if it has no host; 0 for a name.
func hostEnd(text string) int {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return strings.Index(text, ":") + 1
	}
	path := strings.IndexAny(rest, "/?#")
	if path < 0 {
		path = len(rest)
	}
	return len(scheme) + len("://") + path
}

func hasDots(text string) bool { return slices.ContainsFunc(segmentsOf(text), isDot) }

func segmentsOf(text string) []string { return strings.Split(strings.ReplaceAll(text, `\`, "/"), "/") }

// HasDots reports whether there is a dot segment in a path, in any of its spellings but those with escapes.
func HasDots(path string) bool { return hasDots(plainly(path)) }

func isDot(segment string) bool {
	name := withoutParameters(segment)
	return name == "." || name == ".."
}

// withoutParameters cuts off what some servers take for parameters of a segment, and the blanks around it that some ignore.
func withoutParameters(segment string) string {
	name, _, _ := strings.Cut(segment, ";")
	return strings.Trim(name, " ")
}

// likenesses are characters that become dots and slashes where a text is normalised (Unicode's NFKC, or the nearest character of
// another code page).
var likenesses = strings.NewReplacer("．", ".", "․", ".", "﹒", ".", "‥", "..", "／", "/", "∕", "/", "⁄", "/", "＼", `\`, "﹨", `\`, "∖", `\`)

// plainly returns a text without invisible characters, which some file systems ignore, and without likenesses, if it has dot segments
// then; otherwise the text itself.
func plainly(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return text
	}
	plain := likenesses.Replace(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text))
	if hasDots(plain) {
		return plain
	}
	return text
}
