package openapi

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// Values are escaped, so a provider that takes a path as it stands sees each value as one segment. But many decode the
// path first, and proxies before them remove dot segments of what they have decoded: then a value could lead to an
// operation that is not offered, with the operator's credentials.

// maxDecoded is how often a path may be decoded by all who do so on its way. Beyond that it is not sent.
const maxDecoded = 4

// staysInPlace reports whether a path leads where its template says, however often it is decoded: no value, and no
// values together, have added, emptied or removed a segment. slashes says that a value may add some.
func staysInPlace(template, path string, slashes bool) bool {
	for range maxDecoded {
		if !isPlain(path) || !slashes && separators(path) != separators(template) {
			return false
		}
		decoded := decode(path)
		if decoded == path {
			return true
		}
		path, template = decoded, decode(template)
	}
	return false
}

// isPlain reports whether a path has no dot segment, no empty one and no control character.
func isPlain(path string) bool {
	if !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl) {
		return false
	}
	path = strings.ReplaceAll(path, `\`, "/") // as some servers do
	if path == "/" {
		return true
	}
	for segment := range strings.SplitSeq(strings.TrimPrefix(strings.TrimSuffix(path, "/"), "/"), "/") {
		name, _, _ := strings.Cut(segment, ";") // the rest is a parameter to some servers
		if segment == "" || strings.Trim(name, " ") == "." || strings.Trim(name, " ") == ".." {
			return false
		}
	}
	return true
}

func separators(path string) int { return strings.Count(path, "/") + strings.Count(path, `\`) }

// decode removes one level of percent-encoding. What is not an escape stays.
func decode(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) && unhex(path[i+1]) >= 0 && unhex(path[i+2]) >= 0 {
			b.WriteByte(byte(unhex(path[i+1])<<4 | unhex(path[i+2])))
			i += 2
			continue
		}
		b.WriteByte(path[i])
	}
	return b.String()
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		return int(c|0x20) - 'a' + 10
	default:
		return -1
	}
}

// misplaced is the failure of a call whose values do not stay in their places in the path. It names the arguments that
// do not even alone.
func (t *Tool) misplaced(given map[string]json.Value) *recourse.Error {
	const rule = "pattern"
	want := "not empty, and without slashes, backslashes, dot segments and control characters, even if it is decoded"
	e := recourse.New(recourse.KindInvalidValue, "A value in the path must be "+want+".").
		WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
	var violations []recourse.Violation
	for _, p := range t.params {
		if p.in != inPath {
			continue
		}
		v, _ := json.UnmarshalAny(given[p.arg]) // it has been written already
		if text, err := p.simple(v, escapeAll); err == nil && !staysInPlace("/x", "/"+text, p.slashes) {
			violations = append(violations, recourse.Violation{
				Pointer: string(json.Pointer("").AppendToken(p.arg)), Param: p.arg, Rule: rule, Message: "It must be " + want + ".",
			})
		}
	}
	return e.WithViolations(slices.Clip(violations)...)
}
