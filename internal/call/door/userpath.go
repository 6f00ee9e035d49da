package door

import (
	"net/url"
	"strings"
)

// A UserPath is a path with a placeholder for the user.
type UserPath struct {
	Param         string // the placeholder's name
	before, after string // the text around the placeholder, slashes included
}

// NewUserPath reads a path such as /users/{user}/mcp. It reports false if the path has no placeholder.
func NewUserPath(path string) (p UserPath, ok bool) {
	p.before, path, ok = strings.Cut(path, "{")
	p.Param, p.after, _ = strings.Cut(path, "}")
	return p, ok
}

// Len returns how many bytes of the path are the same for all users.
func (p *UserPath) Len() int { return len(p.before) + len(p.after) }

// maxUser limits the length of a user's id, in bytes.
const maxUser = 128

// IsUser reports whether a user from a path is valid: up to 128 letters, digits and -_.~:@|+= in ASCII, and neither "." nor
// "..". Such a user can stand in a header, a path and a log as it is.
func IsUser(user string) bool {
	return user != "" && len(user) <= maxUser && user != "." && user != ".." && !strings.ContainsFunc(user, func(r rune) bool {
		letter := r|0x20 >= 'a' && r|0x20 <= 'z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("-_.~:@|+=", r)
	})
}

// Fit says how the path of a request matches.
type Fit int

// The values of Fit.
const (
	Elsewhere Fit = iota // it is a different path
	Begins               // it begins the same and continues differently: there is no user in it
	Fits
)

// User returns the user in the escaped path of a request: "" if the user is empty, and the rest of the path
// if only its beginning is the same.
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

// In returns the user in a path that ends like this one, whatever stands before it; "": it names none.
func (p *UserPath) In(path string) string {
	_, rest, ok := strings.Cut(path, p.before)
	user, tail, _ := strings.Cut(rest, "/")
	if !ok || strings.TrimSuffix("/"+tail, "/") != strings.TrimSuffix(p.after, "/") {
		return ""
	}
	return user
}
