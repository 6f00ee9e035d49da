package endpoint

import (
	"net/url"
	"strings"
)

// A UserPath is a path with a place for the user in it.
type UserPath struct {
	Param         string // what the path calls the user
	before, after string // what stands around the place, slashes included
}

// NewUserPath reads a path such as /users/{user}/mcp. It reports false where it has no place.
func NewUserPath(path string) (p UserPath, ok bool) {
	p.before, path, ok = strings.Cut(path, "{")
	p.Param, p.after, _ = strings.Cut(path, "}")
	return p, ok
}

// Len returns how many bytes of the path are the same for all users.
func (p *UserPath) Len() int { return len(p.before) + len(p.after) }

// Fit says how the path of a request fits.
type Fit int

// The fits.
const (
	Elsewhere Fit = iota // it is another path
	Begins               // it begins alike and goes on otherwise: what stands there is no user
	Fits
)

// User returns the user in the escaped path of a request: "" where there is nothing in the
// place, and all that follows where the path only begins alike.
func (p *UserPath) User(path string) (user string, fit Fit) {
	if path == strings.TrimSuffix(p.before, "/")+p.after {
		return "", Fits
	}
	rest, ok := strings.CutPrefix(path, p.before)
	if !ok {
		return "", Elsewhere
	}
	user, ok = strings.CutSuffix(rest, p.after)
	if !ok || strings.Contains(user, "/") {
		return rest, Begins
	}
	if plain, err := url.PathUnescape(user); err == nil {
		user = plain
	}
	return user, Fits
}
