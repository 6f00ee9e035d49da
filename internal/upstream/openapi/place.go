package openapi

import (
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/uri"
)

// Values are escaped, so a provider that takes a path as it stands sees each value as one segment. But many decode the
// path first, and proxies before them remove dot segments of what they have decoded: then a value could lead to an
// operation that is not offered, with the operator's credentials.

// leadsTo reports whether a path leads to the operation, however often it is decoded: no value, and no values together,
// have emptied or removed a segment, or added one so that the path is that of another operation.
func (t *Offer) leadsTo(path string) bool {
	if strings.HasSuffix(path, "/") && !strings.HasSuffix(t.Path, "/") { // the last value is empty
		return false
	}
	for range uri.MaxDecoded {
		segments := segmentsOf(path)
		longer := len(segments) > len(segmentsOf(t.Path))
		if !isPlain(path, segments) || longer && slices.ContainsFunc(t.paths, func(other string) bool { return fits(other, segments) }) {
			return false
		}
		decoded := uri.Decode(path)
		if decoded == path {
			return true
		}
		path = decoded
	}
	return false
}

// segmentsOf splits a path as servers do; to some, a backslash is a slash. One at the end separates nothing.
func segmentsOf(path string) []string {
	path = strings.ReplaceAll(path, `\`, "/")
	return strings.Split(strings.TrimPrefix(strings.TrimSuffix(path, "/"), "/"), "/")
}

// isPlain reports whether a path has no dot segment, no empty one and no control character.
func isPlain(path string, segments []string) bool {
	if !uri.IsText(path) {
		return false
	}
	return path == "/" || !slices.Contains(segments, "") && !uri.HasDots(path)
}

// fits reports whether a path can be that of a template.
func fits(template string, segments []string) bool {
	of := segmentsOf(template)
	for i, segment := range of {
		if i >= len(segments) {
			return false
		}
		name, _, _ := strings.Cut(segments[i], ";")
		if !strings.EqualFold(segment, name) && !strings.Contains(segment, "{") { // many servers ignore case
			return false
		}
	}
	return len(of) == len(segments)
}

// misplaced is the failure of a call whose values do not stay in their places in the path. It names the arguments that
// do not even alone.
func (t *Offer) misplaced(given map[string]json.Value) *recourse.Error {
	const must = "must not be empty, and must not lead elsewhere: without dot segments, empty ones and control characters, " +
		"even if it is decoded"
	var violations []recourse.Violation
	for _, p := range t.params {
		if p.in != inPath {
			continue
		}
		v, _ := json.UnmarshalAny(given[p.arg]) // it has been written already
		if text, err := p.simple(v, escapeAll); err == nil && !(&Offer{Path: "/x"}).leadsTo("/"+text) {
			violations = append(violations, recourse.Violation{
				Pointer: string(json.Pointer("").AppendToken(p.arg)), Param: p.arg, Rule: "pattern", Message: "It " + must + ".",
			})
		}
	}
	return recourse.New(recourse.KindInvalidValue, "A value in the path "+must+".").
		WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone).WithViolations(violations...)
}
