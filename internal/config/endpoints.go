package config

import (
	"cmp"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/policy/glob"
	"github.com/recoursehq/recourse/internal/protocol/uri"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Endpoints are the endpoints of a [Config] that offer several servers, in the order of the file.
type Endpoints []*Endpoint

// Endpoint offers several servers at one path.
type Endpoint struct {
	// Name is the key in the file.
	Name string `yaml:",key"`

	// Path on the gateway at which clients reach the endpoint. As in a server's path, one segment may be in
	// braces: the user.
	Path string `yaml:"path" default:"(/NAME/mcp)"`
	// The endpoint's display name: clients see it as the name of the server.
	Title string `yaml:"title" default:"(its name)"`
	// Contract for the endpoint's own failures, such as an unknown tool. A server's failure keeps the form of
	// that server's contract.
	Contract string `yaml:"contract" default:"recourse"`
	// The servers to offer, in the order in which their tools are listed: names, or mappings with more
	// settings.
	Servers []Member `yaml:"servers,required" default:"(none)"`
	// How long a list waits for a server. If it takes longer, its part is taken from the last list it gave,
	// and the clients that listen are told when the new one is there.
	Deadline time.Duration `yaml:"deadline" default:"2s"`
	// File in which the last lists of the servers are kept across restarts, relative to this file. Lists that
	// depend on who calls are never written. `none` keeps nothing.
	Lists string `yaml:"lists" default:"(a file in the user's cache folder)"`

	// Who may call, as in a server's entry. An endpoint that offers a server with `access` needs its own
	// `access`, which replaces the server's.
	Access []string `yaml:"access" default:"(everybody is let in)"`
	// Which users a caller may be, as in a server's entry. An endpoint that offers a server with `users`
	// needs its own `users`, which replaces the server's.
	Users *Users `yaml:"users" default:"(every caller may be any user)"`
	// What callers may do, as in a server's entry, but with the names that clients see. The servers' own
	// grants apply as well, with the servers' names.
	Grants []Grant `yaml:"grants" default:"(every caller may do everything)"`

	// How often the endpoint's tools may be called, as in a server's entry: by the names that clients see.
	// With `by: [server]`, all calls at the endpoint are counted together. The servers' own limits count as
	// well.
	Limits Limits `yaml:"limits" default:"(none)"`
	// Whether successful answers say what remains of the endpoint's limits, as in a server's entry.
	LimitHeaders bool `yaml:"limit_headers" default:"false"`
	// Bounds how many calls at the endpoint are under way at once, as in a server's entry. The servers' own
	// bounds count as well.
	Concurrency *Concurrency `yaml:"concurrency" default:"(no limit)"`

	entry *Server
}

// ListsNone is the value for lists that are not kept across restarts.
const ListsNone = "none"

// Member is a server that an endpoint offers.
type Member struct {
	// Name of an entry in `servers`.
	Name string `yaml:"name,required" default:"(none)"`
	// Prefix for the names of the server's tools and prompts, such as `shop_`.
	Prefix string `yaml:"prefix" default:"(none)"`
	// Names or patterns of what is offered: tools and prompts by the server's own names, resources by their
	// URIs. Anything else is neither listed nor reached.
	Allow []string `yaml:"allow" default:"(all)"`
	// Names or patterns of what is not offered, even if `allow` names it.
	Deny []string `yaml:"deny" default:"(none)"`
	// Maps the server's own name of a tool or prompt to the one that clients see, which gets no prefix.
	Rename map[string]string `yaml:"rename" default:"(none)"`

	// Server is the entry that Name names.
	Server *Server

	renamed map[string]string // Rename the other way
}

// mapping is the form of a [Member] that is more than a name.
type mapping Member

// Forms are those in which it is written.
func (*Member) Forms() []any { return []any{"string", reflect.TypeFor[mapping]()} }

// UnmarshalYAML reads the name of a server, or a mapping.
func (m *Member) UnmarshalYAML(n *strictyaml.Node) error {
	switch n.Kind() {
	case strictyaml.KindString:
		*m = Member{Name: n.Text()}
		return nil
	case strictyaml.KindMapping:
		return n.Decode((*mapping)(m))
	default:
		return n.Expected("the name of a server or a mapping", "for example `servers: [farm, {name: shop, prefix: shop_}]`")
	}
}

// Offered returns the clients' name for what the server calls local. It reports false if that is not offered.
func (m *Member) Offered(local string) (string, bool) {
	if !m.Allows(local) {
		return "", false
	}
	if name, ok := m.Rename[local]; ok {
		return name, true
	}
	return m.Prefix + local, true
}

// Local is the reverse of [Member.Offered].
func (m *Member) Local(offered string) (string, bool) {
	local, ok := m.renamed[offered]
	if !ok {
		if local, ok = strings.CutPrefix(offered, m.Prefix); !ok {
			return "", false
		}
		if _, other := m.Rename[local]; other {
			return "", false
		}
	}
	return local, m.Allows(local)
}

// Allows reports whether a name or URI of the server is offered. A URI is offered if all its spellings are.
func (m *Member) Allows(local string) bool {
	if m.Allow == nil && m.Deny == nil {
		return true
	}
	spelled := uri.Spellings(local)
	if spelled == nil {
		return false
	}
	for level, form := range spelled {
		matches := func(pattern string) bool {
			decoded := pattern
			for range level {
				decoded = uri.Decode(decoded)
			}
			return glob.Match(pattern, form) || glob.Match(decoded, form)
		}
		denies := func(pattern string) bool {
			return matches(pattern) || glob.Match(pattern, uri.Collapsed(form)) || uri.Folded(pattern, form, glob.Match)
		}
		if m.Allow != nil && !slices.ContainsFunc(m.Allow, matches) || slices.ContainsFunc(m.Deny, denies) {
			return false
		}
	}
	return true
}

// sure returns the names that clients see whatever the server lists, each with its position in the file.
func (m *Member) sure(node *strictyaml.Node) map[string]strictyaml.Pos {
	names := map[string]strictyaml.Pos{}
	for i, local := range m.Allow {
		if name, ok := m.Offered(local); ok && !isGlob(local) {
			names[name] = node.Get("allow").Item(i).Pos()
		}
	}
	for _, local := range slices.Sorted(maps.Keys(m.Rename)) { // of two that get one name, always the same counts
		if m.Allows(local) {
			names[m.Rename[local]] = node.Get("rename").Get(local).Pos()
		}
	}
	return names
}

func isGlob(text string) bool { return strings.ContainsAny(text, "*?") }

// Same reports whether both endpoints say the same, wherever they are in their files.
func (e *Endpoint) Same(other *Endpoint) bool {
	a, b := *e, *other
	a.Servers, b.Servers = nil, nil
	a.entry, b.entry = nil, nil
	same := func(a, b Member) bool { return a.Same(&b) }
	return e.entry.Same(other.entry) && slices.EqualFunc(e.Servers, other.Servers, same) && reflect.DeepEqual(a, b)
}

// Same reports whether both offer the same of the server of that name, whose own entry is not compared.
func (m *Member) Same(other *Member) bool {
	a, b := *m, *other
	a.Server, b.Server = nil, nil
	return reflect.DeepEqual(a, b)
}

// Entry returns the endpoint as an entry that clients reach like any server.
func (e *Endpoint) Entry() *Server { return e.entry }

// endpointGrace is what an endpoint waits in addition to a server's own timeout.
const endpointGrace = 15 * time.Second

// complete sets what follows from the rest.
func (e *Endpoint) complete(servers Servers) {
	e.Title = cmp.Or(e.Title, e.Name)
	yes := true
	e.entry = &Server{
		Name: e.Name, Title: e.Title, Path: e.Path, Contract: e.Contract, Mode: ModeEnforce, Share: ShareAll,
		Access: e.Access, Users: e.Users, Grants: e.Grants, Limits: e.Limits, LimitHeaders: e.LimitHeaders, Concurrency: e.Concurrency,
		Redact: RedactOff, Trusted: true, TrustAnnotations: &yes, // each server's own entry has the settings
	}
	for i := range e.Servers {
		m := &e.Servers[i]
		m.Server = servers.named(m.Name)
		m.renamed = make(map[string]string, len(m.Rename))
		for local, name := range m.Rename {
			m.renamed[name] = local
		}
		e.entry.MaxTimeout = max(e.entry.MaxTimeout, m.Server.MaxTimeout+endpointGrace)
		for _, header := range m.Server.Forward {
			if !slices.Contains(e.entry.Forward, header) {
				e.entry.Forward = append(e.entry.Forward, header)
			}
		}
	}
	slices.Sort(e.entry.Forward)
	e.entry.Timeout = e.entry.MaxTimeout // the servers' own settings apply
	e.entry.complete()
}

// named returns the server of that name, or nil.
func (l Servers) named(name string) *Server {
	if i := slices.IndexFunc(l, func(s *Server) bool { return s.Name == name }); i >= 0 {
		return l[i]
	}
	return nil
}

// endpoints checks the endpoints that offer several servers; paths are the servers' paths.
func (v *validator) endpoints(c *Config, paths map[string]string) {
	root := v.doc.Root().Get("endpoints")
	used := map[string]bool{}
	for _, e := range c.Endpoints {
		node, at := root.Get(e.Name), root.Key(e.Name)
		switch {
		case !serverName.MatchString(e.Name):
			v.doc.Reportf(at, "use a-z, 0-9, - and _, a letter or digit first", "this is not a valid endpoint name")
		case c.Servers.named(e.Name) != nil:
			v.doc.Reportf(at, "give it another name", "a server is called `%s` already", e.Name)
		}
		e.Path = v.path(e.Name, e.Path, node)
		v.ownPath(e.Name, e.Path, cmp.Or(node.Get("path").Pos(), at), paths)
		v.contract(node, "contract", e.Contract)
		v.duration(node, "deadline", e.Deadline)
		if lists := node.Get("lists"); lists != nil && e.Lists == "" {
			v.doc.Reportf(lists.Pos(), "write the name of a file, or `none`", "`lists` is empty")
		}
		v.admission(c, e.Access, e.Grants, ModeEnforce, node)
		v.users(c, e.Users, e.Path, e.Access, node)
		v.limits(e.Limits, node.Get("limits"))
		v.organisations(c, e.Limits, e.Access, node.Get("limits"))
		if e.Concurrency != nil {
			v.concurrency(e.Concurrency, node.Get("concurrency"))
		}
		v.members(c, e, node, used)
	}
	for _, s := range c.Servers {
		if s.Path == PathNone && !used[s.Name] {
			v.doc.Reportf(v.doc.Root().Get("servers").Get(s.Name).Get("path").Pos(), "give it a path, or name it in `endpoints`",
				"no endpoint offers this server, so that nobody can reach it")
		}
	}
}

// members checks the servers of an endpoint.
func (v *validator) members(c *Config, e *Endpoint, node *strictyaml.Node, used map[string]bool) {
	list := node.Get("servers")
	if list != nil && len(e.Servers) == 0 {
		v.doc.Reportf(list.Pos(), "name a server, for example `servers: [farm]`", "`servers` is empty")
	}
	sure := map[string]string{} // to the server that offers it
	for i := range e.Servers {
		m, item := &e.Servers[i], list.Item(i)
		at := cmp.Or(item.Get("name").Pos(), item.Pos())
		if m.Name != "" && slices.ContainsFunc(e.Servers[:i], func(other Member) bool { return other.Name == m.Name }) {
			v.doc.Reportf(at, "remove one of them", "the endpoint has this server already")
			continue
		}
		used[m.Name] = true
		v.member(c, e, m, item, at)
		v.names(m, item)
		for name, at := range m.sure(item) {
			if owner, taken := sure[name]; taken {
				v.doc.Reportf(at, "give one of them a `prefix`, or `rename` or `deny` it",
					"the server `%s` offers `%s` already", owner, name)
			}
			sure[name] = m.Name
		}
	}
}

// member checks whether a server can be offered by an endpoint.
func (v *validator) member(c *Config, e *Endpoint, m *Member, item *strictyaml.Node, at strictyaml.Pos) {
	s := c.Servers.named(m.Name)
	switch {
	case m.Name == "" && item.Kind() == strictyaml.KindMapping && item.Get("name") == nil: // it is reported as missing
	case s == nil:
		hint := ""
		names := make([]string, len(c.Servers))
		for i, s := range c.Servers {
			names[i] = s.Name
		}
		if len(names) > 0 {
			hint = "the servers are `" + strings.Join(names, "`, `") + "`"
		}
		v.doc.Reportf(at, meant(m.Name, names, hint), "there is no server `%s`", m.Name)
	case s.Mode == ModeObserve:
		v.doc.Reportf(at, "remove `mode: observe` there, or this server here",
			"the server `%s` is only observed, and what an endpoint offers has to be enforced", m.Name)
	case len(s.Access)+len(s.Grants) > 0 && len(e.Access) == 0:
		v.doc.Reportf(at, "add `access` to the endpoint",
			"the server `%s` asks who calls, and the endpoint lets everybody in", m.Name)
	case s.Users != nil && e.Users == nil:
		v.doc.Reportf(at, "add `users` to the endpoint",
			"the server `%s` asks which users a caller may be, and the endpoint does not", m.Name)
	case placeholder.MatchString(s.Path) && !placeholder.MatchString(e.Path):
		v.doc.Reportf(at, "write the endpoint's `path` as `/"+e.Name+"/{user_id}/mcp`",
			"the path of the server `%s` names the user, and that of the endpoint does not", m.Name)
	}
}

// offeredName matches valid names of tools or prompts in an endpoint.
var offeredName = regexp.MustCompile(`^[A-Za-z0-9_./-]{1,128}$`)

// names checks a member's settings for names.
func (v *validator) names(m *Member, item *strictyaml.Node) {
	if prefix := item.Get("prefix"); prefix != nil && !offeredName.MatchString(m.Prefix) {
		v.doc.Reportf(prefix.Pos(), "write it as `shop_`", "`prefix` must consist of letters, digits and _ - . /")
	}
	for _, key := range []string{"allow", "deny"} {
		list := item.Get(key)
		if list == nil {
			continue
		}
		if list.Len() == 0 {
			v.doc.Reportf(list.Pos(), "remove it, or name something", "`%s` is empty", key)
		}
		for i, name := range map[string][]string{"allow": m.Allow, "deny": m.Deny}[key] {
			if name == "" || strings.ContainsAny(name, " \t\n") {
				v.doc.Reportf(list.Item(i).Pos(), "in a pattern only * and ? are special", "this is neither a name nor a pattern")
			}
		}
	}
	rename := item.Get("rename")
	if rename != nil && len(m.Rename) == 0 {
		v.doc.Reportf(rename.Pos(), "remove it, or write it as `{old: new}`", "`rename` is empty")
	}
	owner := map[string]string{}
	for local, name := range rename.All() {
		switch other, taken := owner[m.Rename[local]]; {
		case isGlob(local) || local == "":
			v.doc.Reportf(rename.Key(local), "name each of them", "a pattern cannot be renamed")
		case !offeredName.MatchString(m.Rename[local]):
			v.doc.Reportf(name.Pos(), "use letters, digits and _ - . /", "this is not a valid name")
		case taken:
			v.doc.Reportf(name.Pos(), "give one of them another name", "`%s` gets this name as well", other)
		case !m.Allows(local):
			v.doc.Reportf(rename.Key(local), "remove it here, or correct `allow` and `deny`", "`%s` is not offered", local)
		}
		owner[m.Rename[local]] = local
	}
}
