package config

import (
	"errors"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Users says which users a caller may be, at a path that names the user. It has one of Claim, File and Check.
type Users struct {
	// Claim of the caller's token that names the user, or lists several, such as `sub`. A claim within
	// another is written as a JSON Pointer. A caller without a token may be no user.
	Claim string `yaml:"claim" default:"(none)"`
	// File, relative to this one, that lists the users of each caller: a mapping such as `team/ann: [u-1,
	// u-2]`, whose keys are an entry of `access` and the caller's name there. In a user `*` stands for any
	// characters and `?` for any single one. A change of the file is a change of the configuration.
	File string `yaml:"file" default:"(none)"`
	// URL that is asked with a POST whose body is `{"user": ..., "caller": {"access", "name", "org", "roles",
	// "scopes"}}`. 204, or 200 with `{"allowed": true}`, means yes; 403, 404, or 200 with `{"allowed":
	// false}`, means no. After anything else the caller is told to try again later. https, or http on this
	// machine.
	Check string `yaml:"check" default:"(none)"`
	// Headers sent with each check, such as `Authorization`. Their values are never shown.
	Headers map[string]string `yaml:"headers,secret" default:"(none)"`
	// How long a check may take.
	Timeout time.Duration `yaml:"timeout" default:"5s"`
	// How long the answer yes is kept, for up to 10,000 pairs of a caller and a user.
	Keep time.Duration `yaml:"keep" default:"1m"`
	// How long the answer no is kept.
	KeepRefusals time.Duration `yaml:"keep_refusals" default:"10s"`

	// Allowed is what File says: by a caller's entry and name, the users or patterns of them.
	Allowed map[string][]string
}

// users checks which users a caller may be. path is that of the endpoint, access what lets callers in.
func (v *validator) users(c *Config, u *Users, path string, access []string, entry *strictyaml.Node) {
	node := entry.Get("users")
	if u == nil {
		return
	}
	switch {
	case !placeholder.MatchString(path):
		v.doc.Reportf(entry.Key("users"), "name the user in `path`, as in `/farm/{user_id}/mcp`, or remove this",
			"`users` has no effect: the path does not name the user")
	case len(access) == 0:
		v.doc.Reportf(entry.Key("users"), "add `access`", "`users` needs `access`: without it nobody knows who calls")
	}
	v.oneOf(node, "claim", "file", "check")
	if claim := node.Get("claim"); claim != nil {
		v.usersClaim(c, u, access, claim)
	}
	if file := node.Get("file"); file != nil {
		v.usersFile(c, u, file)
	}
	if check := node.Get("check"); check != nil && !auth.IsSafeURL(u.Check) {
		v.doc.Reportf(check.Pos(), "write it as `https://users.example.com/may`", "`check` must be an https URL, or http on this machine")
	}
	for _, key := range []string{"headers", "timeout", "keep", "keep_refusals"} {
		if node.Get(key) != nil && node.Get("check") == nil {
			v.doc.Reportf(node.Key(key), "remove it", "`%s` belongs to `check`", key)
		}
	}
	v.setHeaders(u.Headers, node.Get("headers"))
	v.duration(node, "timeout", u.Timeout)
	v.duration(node, "keep", u.Keep)
	v.duration(node, "keep_refusals", u.KeepRefusals)
}

// oneOf reports a mapping that has none of the keys, or more than one.
func (v *validator) oneOf(node *strictyaml.Node, keys ...string) {
	has := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return node.Get(key) == nil })
	switch all := "`" + strings.Join(keys, "`, `") + "`"; len(has) {
	case 0:
		v.doc.Reportf(node.Pos(), "add one of "+all, "`users` does not say which users a caller may be")
	case 1:
	default:
		v.doc.Reportf(node.Key(has[1]), "remove one of them", "`users` has both `%s` and `%s`", has[0], has[1])
	}
}

func (v *validator) usersClaim(c *Config, u *Users, access []string, node *strictyaml.Node) {
	hasTokens := func(name string) bool { entry, ok := c.Access.Get(name); return ok && entry.JWT != nil }
	switch {
	case u.Claim == "":
		v.doc.Reportf(node.Pos(), "write it as `sub`", "`claim` must be a claim")
	case len(access) > 0 && !slices.ContainsFunc(access, hasTokens):
		v.doc.Reportf(node.Pos(), "add an entry with `jwt` to `access`, or list the users in a `file`",
			"no caller here has a token with claims")
	}
}

// usersFile reads the file that lists the users of callers.
func (v *validator) usersFile(c *Config, u *Users, node *strictyaml.Node) {
	text, ok := v.file(&u.File, node)
	if !ok {
		return
	}
	doc, err := strictyaml.Parse(u.File, text)
	if err == nil {
		var list strictyaml.Map[[]string]
		doc.Decode(&list)
		u.Allowed = make(map[string][]string, len(list))
		for _, entry := range list {
			u.Allowed[entry.Key] = entry.Value
			allowedUsers(c, doc, entry)
		}
		err = doc.Err()
	}
	if mistakes, ok := errors.AsType[strictyaml.Errors](err); ok {
		v.foreign = append(v.foreign, mistakes...)
	}
}

// allowedUsers checks a line of the file, which may be that of several entries.
func allowedUsers(c *Config, doc *strictyaml.Document, line strictyaml.Entry[[]string]) {
	entry, name, ok := strings.Cut(line.Key, "/")
	_, known := c.Access.Get(entry)
	switch {
	case !ok || name == "":
		doc.Reportf(line.Pos, "write it as `team/ann`, with `team` from `access`", "a caller is an entry of `access` and a name there")
	case !known && entry != Loopback:
		doc.Reportf(line.Pos, "write it as `team/ann`, with `team` from `access`", "there is no access entry `%s`", entry)
	}
	for i, user := range line.Value {
		if !door.IsUser(strings.NewReplacer("*", "x", "?", "x").Replace(user)) {
			doc.Reportf(doc.Root().Get(line.Key).Item(i).Pos(), "use up to 128 letters, digits, signs of -_.~:@+= and vertical bars",
				"no path can name this user")
		}
	}
}

// named is a placeholder for the user outside of `path`.
var named = regexp.MustCompile(`\{[a-z][a-z0-9_]*\}`)

// userPlace finds where else an entry names the user of its path. A server without a path of its own gets the user of the endpoints
// that offer it.
func (v *validator) userPlace(c *Config, s *Server, node *strictyaml.Node) {
	paths := []string{s.Path}
	if s.Path == PathNone {
		paths = c.pathsTo(s)
	}
	check := func(at strictyaml.Pos, found []string, where string) {
		for _, place := range found {
			missing := slices.ContainsFunc(paths, func(path string) bool { return placeholder.FindString(path) != place })
			if missing || len(paths) == 0 {
				v.doc.Reportf(at, "the placeholder must be the one in `path`, as in `/"+s.Name+"/"+place+"/mcp`",
					"`%s` names %s, and the path does not", where, place)
				return
			}
			s.UserPlace = place
		}
	}
	braced := regexp.MustCompile(`\{[^}]*\}?`)
	check(node.Get("url").Pos(), braced.FindAllString(s.URL, -1), "url")
	check(node.Get("base_url").Pos(), braced.FindAllString(s.BaseURL, -1), "base_url")
	for _, in := range []struct {
		key    string
		values map[string]string
	}{{"headers", s.Headers}, {"query", s.Query}} {
		for _, name := range slices.Sorted(maps.Keys(in.values)) {
			check(node.Get(in.key).Get(name).Pos(), named.FindAllString(in.values[name], -1), in.key)
		}
	}
	if len(s.Command) > 0 && slices.ContainsFunc(append(c.pathsTo(s), s.Path), placeholder.MatchString) {
		v.doc.Reportf(node.Key("command"), "serve it at a path without a user, or reach the server by its `url`",
			"a program is not told the user that the path names: it would answer every user alike")
	}
}

// pathsTo returns the paths of the endpoints that offer a server.
func (c *Config) pathsTo(s *Server) (paths []string) {
	for _, e := range c.Endpoints {
		if slices.ContainsFunc(e.Servers, func(m Member) bool { return m.Name == s.Name }) {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// FixedUser returns the user whom a server's URL names although each request names its own: where path, in which the server's contract
// or entry names the user, has one. "" means that the URL names none.
func (s *Server) FixedUser(path string) string {
	u, err := url.Parse(s.URL)
	like, ok := door.NewUserPath(path)
	if err != nil || !ok || s.URL == "" || s.UserPlace != "" {
		return ""
	}
	return like.In(u.EscapedPath())
}
