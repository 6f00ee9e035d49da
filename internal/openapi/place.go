package openapi

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/uri"
)

// Values are escaped, so a provider that takes a path as it stands sees each value as one segment. But many decode the
// path first, and proxies before them remove dot segments of what they have decoded: then a value could lead to an
// operation that is not offered, with the operator's credentials.

// staysInPlace reports whether a path leads where its template says, however often it is decoded: no value, and no
// values together, have added, emptied or removed a segment. slashes says that a value may add some.
func staysInPlace(template, path string, slashes bool) bool {
	for range uri.MaxDecoded {
		if !isPlain(path) || !slashes && separators(path) != separators(template) {
			return false
		}
		decoded := uri.Decode(path)
		if decoded == path {
			return true
		}
		path, template = decoded, uri.Decode(template)
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
