package openapi

import (
	"slices"
	"strings"
	"time"
)

// A Route says which operations are offered or hidden. An empty list matches everything.
type Route struct {
	Methods []string
	Paths   []string // with * for anything but a slash, and ** for anything
	Tags    []string
	IDs     []string // with *

	Deny       bool
	ReadOnly   *bool
	Idempotent *bool
	Name       string // for the only operation that it matches
	Timeout    time.Duration
}

// matches reports whether the route applies to an operation.
func (r *Route) matches(o *operation) bool {
	return (len(r.Methods) == 0 || slices.ContainsFunc(r.Methods, func(m string) bool { return strings.EqualFold(m, o.Method) })) &&
		(len(r.Tags) == 0 || slices.ContainsFunc(r.Tags, func(tag string) bool { return slices.Contains(o.Tags, tag) })) &&
		(len(r.Paths) == 0 || slices.ContainsFunc(r.Paths, func(glob string) bool { return match(glob, o.Path, '/') })) &&
		(len(r.IDs) == 0 || slices.ContainsFunc(r.IDs, func(glob string) bool { return match(glob, o.ID, 0) }))
}

// route returns the first route that applies to an operation, or nil.
func route(routes []Route, o *operation) *Route {
	for i := range routes {
		if routes[i].matches(o) {
			return &routes[i]
		}
	}
	return nil
}

// match reports whether a text matches a glob, in which * matches any characters but the separator, and
// ** matches any. It takes at most len(glob) x len(text) steps.
func match(glob, text string, separator byte) bool {
	reached := make([]bool, len(text)+1) // by position: the text before it matches the glob so far
	reached[0] = true
	for glob != "" {
		switch glob[0] {
		case '*':
			deep := strings.HasPrefix(glob, "**") || separator == 0
			glob = strings.TrimLeft(glob, "*")
			for i := range len(text) {
				reached[i+1] = reached[i+1] || reached[i] && (deep || text[i] != separator)
			}
		default:
			for i := len(text); i > 0; i-- {
				reached[i] = reached[i-1] && text[i-1] == glob[0]
			}
			reached[0], glob = false, glob[1:]
		}
	}
	return reached[len(text)]
}
