package config

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/policy/auth/grant"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Access is a way to find out who calls.
type Access struct {
	// API keys, by their hashes. `recourse key new --print NAME` makes one. Callers send the key as
	// `Authorization: Bearer KEY`, unless `headers` says otherwise.
	Keys []AccessKey `yaml:"keys" default:"(none)"`
	// Whether the keys in `store` count as well. `recourse key` makes, lists and revokes them; a revoked key
	// is refused within seconds.
	StoredKeys bool `yaml:"stored_keys" default:"false"`
	// Headers that hold the caller's name and key, instead of `Authorization`.
	Headers *AccessHeaders `yaml:"headers" default:"(Authorization)"`
	// Signed tokens of an issuer. Callers send them as `Authorization: Bearer TOKEN`.
	JWT *AccessJWT `yaml:"jwt" default:"(none)"`
}

// AccessKey is an API key of the configuration.
type AccessKey struct {
	// Name of the caller, for grants, limits and logs. Two keys with the same name are the same caller, so
	// that one can replace the other.
	Name string `yaml:"name,required" default:"(none)"`
	// SHA-256 of the key, as `sha256:` and 64 hexadecimal digits. The key must be random, of 128 bits or
	// more: a hash of a word can be guessed.
	Hash string `yaml:"hash,required" default:"(none)"`
	// The caller's organisation.
	Org string `yaml:"org" default:"(none)"`
	// The caller's roles, which `grants` name.
	Roles []string `yaml:"roles" default:"(none)"`
	// When the key ends: a date such as `2027-01-31` (midnight, UTC) or a time such as
	// `2027-01-31T12:00:00Z`.
	Expires string `yaml:"expires" default:"(never)"`
}

// AccessHeaders are the headers of a caller's name and key.
type AccessHeaders struct {
	// Header that holds the caller's name, which must be that of the key. Without it the key is enough.
	ID string `yaml:"id" default:"(none)"`
	// Header that holds the key, such as `x-api-key`.
	Key string `yaml:"key,required" default:"(none)"`
}

// AccessJWT says whose tokens are accepted.
type AccessJWT struct {
	// The issuer, exactly as in `iss`. Its metadata (OpenID Connect Discovery, RFC 8414) say where its keys
	// are, and tell MCP clients where to sign in. https, or http on this machine.
	Issuer string `yaml:"issuer,required" default:"(none)"`
	// URL of the issuer's public keys (JWKS). They are fetched again every ten minutes, and for an unknown
	// key; while that fails, the old ones are used for four hours.
	JWKS string `yaml:"jwks" default:"(what the issuer's metadata say)"`
	// What `aud` must be or contain: usually the endpoint's URL. One of several is enough.
	Audience []string `yaml:"audience,required" default:"(none)"`
	// Signature algorithms that are accepted.
	Algorithms []JWTAlg `yaml:"algorithms" default:"([ES256, RS256, EdDSA])"`
	// How far the clocks of issuer and gateway may differ.
	Leeway time.Duration `yaml:"leeway" default:"60s"`
	// Scopes that every token needs. A token without them gets 403 and `insufficient_scope` with the scopes
	// to request.
	Scopes []string `yaml:"scopes" default:"(none)"`
	// Claim that names the caller. A claim within another is written as a JSON Pointer, such as
	// `/realm_access/roles`.
	Name string `yaml:"name" default:"sub"`
	// Claim that names the caller's organisation.
	Org string `yaml:"org" default:"org"`
	// Claim that lists the caller's roles.
	Roles string `yaml:"roles" default:"roles"`
	// How these callers say in a browser who they are, on the page behind a link that connects an account: by
	// signing in at the issuer; see [connections](connections.md). Without it they get no such link.
	Login *AccessLogin `yaml:"login" default:"(none)"`
}

// AccessLogin is what an issuer knows the gateway as, where people sign in on its pages.
type AccessLogin struct {
	// What the issuer calls this gateway. Its redirect URI is `/connect/login` below `public_url`.
	ClientID string `yaml:"client_id,required" default:"(none)"`
	// The secret of that client. Without one it is a public client.
	ClientSecret string `yaml:"client_secret,secret" default:"(none)"`
	// Scopes to ask for, `openid` among them. The ID token must have the claim `name` of the entry, with the
	// same value as the caller's access tokens: for some claims the issuer wants another scope, such as
	// `email`.
	Scopes []string `yaml:"scopes" default:"([openid])"`
}

// JWTAlg is an algorithm that tokens are signed with.
type JWTAlg string

// Words returns all of them.
func (JWTAlg) Words() []string { return auth.Algorithms() }

// Lockout is when an address is refused.
type Lockout struct {
	// How many failed authentications it takes. `0` means that no address is ever refused.
	Failures int `yaml:"failures" default:"25"`
	// The time within which failures count. The address is refused until the first of them is that long ago.
	Within time.Duration `yaml:"within" default:"15m"`
}

// defaultLockout is the [Lockout] if the file has none.
var defaultLockout = Lockout{Failures: door.LockoutFailures, Within: door.LockoutTime}

// LockoutRule returns when an address is refused.
func (c *Config) LockoutRule() Lockout {
	if c.Lockout == nil {
		return defaultLockout
	}
	return *c.Lockout
}

// Grant lets some callers do something.
type Grant struct {
	// The callers that the grant is for, as `ENTRY/NAME`: the entry of `access` that lets them in, and their
	// name, no patterns. The entry can be left out if only one is accepted, or only one has a key of that name. It holds
	// for callers who meet all of `callers`, `orgs`, `roles` and `scopes`.
	Callers []string `yaml:"callers" default:"(any)"`
	// Organisations that it is for.
	Orgs []string `yaml:"orgs" default:"(any)"`
	// Roles, one of which the caller must have.
	Roles []string `yaml:"roles" default:"(any)"`
	// Scopes, all of which the caller's token must have. A caller who lacks only these is told so with 403
	// and `insufficient_scope`.
	Scopes []string `yaml:"scopes" default:"(none)"`
	// Tools that they may call: names or patterns, as in `tools` of a server.
	Tools []string `yaml:"tools" default:"(none)"`
	// Condition on a call, such as `args.orgId == caller.org`. It can name `caller` (name, entry, org, roles,
	// scopes), `tool`, `args` and `read_only`, in the language of
	// [Expr](https://expr-lang.org/docs/language-definition). If it cannot be evaluated, the call is refused.
	When string `yaml:"when" default:"(always)"`
	// Whether they may use the server's prompts.
	Prompts bool `yaml:"prompts" default:"false"`
	// Whether they may read the server's resources.
	Resources bool `yaml:"resources" default:"false"`
}

// Loopback is the access that needs no entry: it only checks the address.
const Loopback = "loopback"

// ExpiresAt returns when the key ends; zero: never.
func (k *AccessKey) ExpiresAt() time.Time {
	at, _ := parseTime(k.Expires) // the validator has read it
	return at
}

func parseTime(text string) (at time.Time, ok bool) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, text == ""
}

// Fixed returns the API keys listed in the entry.
func (a *Access) Fixed() []*auth.Key {
	var fixed []*auth.Key
	for i := range a.Keys {
		key := &a.Keys[i]
		hash, _ := auth.ParseHash(key.Hash) // the validator has read it
		fixed = append(fixed, &auth.Key{Name: key.Name, Org: key.Org, Roles: key.Roles, Hash: hash, Expires: key.ExpiresAt()})
	}
	return fixed
}

// Proxies returns the networks of the proxies that are believed about the client's address.
func (c *Config) Proxies() []netip.Prefix {
	var networks []netip.Prefix
	for _, text := range c.TrustedProxies {
		network, _ := parseNetwork(text) // the validator has read it
		networks = append(networks, network)
	}
	return networks
}

// Open returns the names of the servers and endpoints without access control.
func (c *Config) Open() []string {
	var open []string
	for _, s := range c.Servers {
		if len(s.Access) == 0 && s.Path != PathNone {
			open = append(open, s.Name)
		}
	}
	for _, e := range c.Endpoints {
		if len(e.Access) == 0 {
			open = append(open, e.Name)
		}
	}
	return open
}

// parseNetwork reads a network or a single address.
func parseNetwork(text string) (netip.Prefix, bool) {
	if network, err := netip.ParsePrefix(text); err == nil {
		return network.Masked(), true
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(address, address.BitLen()), true
}

// access checks the entries of access control, and the proxies in front.
func (v *validator) access(c *Config) {
	root := v.doc.Root()
	for i, text := range c.TrustedProxies {
		if _, ok := parseNetwork(text); !ok {
			v.doc.Reportf(root.Get("trusted_proxies").Item(i).Pos(), "write it as `10.0.0.0/8` or `192.0.2.7`",
				"this is neither a network nor an address")
		}
	}
	if node := root.Get("lockout"); node != nil && c.Lockout != nil {
		v.duration(node, "within", c.Lockout.Within)
		if c.Lockout.Failures < 0 {
			v.doc.Reportf(node.Get("failures").Pos(), "write `0` to refuse no address", "`failures` must not be negative")
		}
	}
	entries := root.Get("access")
	for i := range c.Access {
		e := &c.Access[i]
		v.accessEntry(e.Key, &e.Value, entries.Get(e.Key), e.Pos, c.Store != "")
		if j := e.Value.JWT; j != nil && j.Login != nil {
			v.accessLogin(j.Login, entries.Get(e.Key).Get("jwt"), len(c.Providers) > 0)
		}
	}
}

func (v *validator) accessEntry(name string, a *Access, node *strictyaml.Node, at strictyaml.Pos, stores bool) {
	hasKeys := len(a.Keys) > 0 || a.StoredKeys
	switch {
	case !serverName.MatchString(name):
		v.doc.Reportf(at, "use a-z, 0-9, - and _, a letter or digit first", "this is not a valid name for an access entry")
	case name == Loopback:
		v.doc.Reportf(at, "choose another name", "`loopback` stands for callers on this machine and needs no entry")
	case a.JWT == nil && !hasKeys:
		v.doc.Reportf(at, "add `keys`, `stored_keys: true` or `jwt`", "the entry says nothing about who is let in")
	case a.JWT != nil && hasKeys:
		v.doc.Reportf(node.Key("jwt"), "make two entries of it and list both: `access: [a, b]`", "an entry has either keys or `jwt`")
	case a.JWT != nil && a.Headers != nil:
		v.doc.Reportf(node.Key("headers"), "remove it", "`headers` belongs to an entry with keys")
	}
	if a.StoredKeys && !stores {
		v.doc.Reportf(node.Key("stored_keys"), "add `store: sqlite:recourse.db` at the top level, or list hashes in `keys`",
			"there is no store for the keys")
	}
	v.accessKeys(a, node.Get("keys"))
	if h := a.Headers; h != nil {
		v.accessHeader(node.Get("headers").Get("id"), &h.ID)
		v.accessHeader(node.Get("headers").Get("key"), &h.Key)
		if h.ID != "" && h.ID == h.Key {
			v.doc.Reportf(node.Get("headers").Key("id"), "name two headers", "`id` and `key` are the same header")
		}
	}
	if a.JWT != nil {
		v.accessJWT(a.JWT, node.Get("jwt"))
	}
}

// accessHeader checks the name of a header with credentials, and makes it canonical.
func (v *validator) accessHeader(node *strictyaml.Node, name *string) {
	if node != nil {
		v.headerName(node.Pos(), *name)
	}
	*name = http.CanonicalHeaderKey(*name)
}

func (v *validator) accessKeys(a *Access, node *strictyaml.Node) {
	hashes := map[string]bool{}
	for i := range a.Keys {
		key, item := &a.Keys[i], node.Item(i)
		if name := item.Get("name"); name != nil && key.Name == "" {
			v.doc.Reportf(name.Pos(), "", "the name is empty")
		}
		if hash := item.Get("hash"); hash != nil {
			if _, ok := auth.ParseHash(key.Hash); !ok {
				v.doc.Hide(hash) // it could be the key itself
				v.doc.Reportf(hash.Pos(), "make a key and its hash with `recourse key new --print NAME`",
					"this is not `sha256:` and 64 hexadecimal digits")
			} else if hashes[key.Hash] {
				v.doc.Reportf(hash.Pos(), "remove one of them", "the key is listed twice")
			}
			hashes[key.Hash] = true
		}
		if _, ok := parseTime(key.Expires); !ok {
			v.doc.Reportf(item.Get("expires").Pos(), "write it as 2027-01-31 or 2027-01-31T12:00:00Z", "`expires` must be a date or a time")
		}
	}
}

func (v *validator) accessJWT(j *AccessJWT, node *strictyaml.Node) {
	for key, text := range map[string]string{"issuer": j.Issuer, "jwks": j.JWKS} {
		if at := node.Get(key); at != nil && !auth.IsSafeURL(text) {
			v.doc.Reportf(at.Pos(), "write it as `https://login.example.com`", "`%s` must be an https URL, or http on this machine", key)
		}
	}
	v.givenf(node, "audience", len(j.Audience) == 0 || slices.Contains(j.Audience, ""),
		"write the URL that clients call", "`audience` is empty")
	v.givenf(node, "leeway", j.Leeway < 0, "write it as `60s`", "`leeway` must not be negative")
	v.givenf(node, "name", j.Name == "", "write it as `sub`", "`name` must be a claim")
	v.givenf(node, "algorithms", len(j.Algorithms) == 0, "remove it, or write `[ES256]`", "`algorithms` is empty")
	if len(j.Algorithms) == 0 {
		for _, name := range auth.Algorithms() {
			j.Algorithms = append(j.Algorithms, JWTAlg(name))
		}
	}
}

// accessLogin checks how callers sign in on pages, which only exist for providers.
func (v *validator) accessLogin(l *AccessLogin, jwt *strictyaml.Node, hasPages bool) {
	node := jwt.Get("login")
	if !hasPages {
		v.doc.Reportf(jwt.Key("login"), "add `providers`, or remove this", "`login` has no effect: there is no account to connect")
	}
	v.givenf(node, "client_id", l.ClientID == "", "write what the issuer calls this gateway", "`client_id` is empty")
	v.givenf(node, "scopes", !slices.Contains(l.Scopes, "openid"),
		"add `openid`", "`scopes` must contain `openid`: without it the issuer sends no ID token")
	if len(l.Scopes) == 0 {
		l.Scopes = []string{"openid"}
	}
}

// admission checks who may call an endpoint, and what they may do.
func (v *validator) admission(c *Config, access []string, grants []Grant, mode Mode, node *strictyaml.Node) {
	v.givenf(node, "access", len(access) == 0, "name an entry of `access`, or remove it to let everybody in", "`access` is empty")
	known := []string{Loopback}
	for _, e := range c.Access {
		known = append(known, e.Key)
	}
	for i, name := range access {
		at := node.Get("access").Item(i).Pos()
		switch {
		case slices.Contains(access[:i], name):
			v.doc.Reportf(at, "remove one of them", "`%s` is listed twice", name)
		case !slices.Contains(known, name):
			hint := meant(name, known, "add it there, or write `loopback`")
			v.doc.Reportf(at, hint, "`access` names no entry of the top level's `access`")
		}
	}
	list := node.Get("grants")
	if list != nil && len(access) == 0 && !isNode(node.Get("path"), PathNone) {
		v.doc.Reportf(node.Key("grants"), "add `access`", "`grants` needs `access`: without it nobody knows who calls")
	}
	if list != nil && len(grants) == 0 {
		v.doc.Reportf(list.Pos(), "remove it, or add `{tools: [\"*\"]}`", "`grants` is empty: nobody could do anything")
	}
	if list != nil && mode == ModeObserve {
		v.doc.Reportf(node.Key("grants"), "remove one of them",
			"`grants` is not available with `mode: observe`, which passes tools/list on unchanged")
	}
	accepted := access
	if len(accepted) == 0 { // an endpoint lets the callers in
		accepted = known
	}
	for i := range grants {
		v.grant(&grants[i], list.Item(i))
		for j, name := range grants[i].Callers {
			at := list.Item(i).Get("callers").Item(j)
			if strings.Contains(name, "*") {
				v.doc.Reportf(at.Pos(), "write each name, or leave out `callers` and use `orgs`, `roles` or `scopes`",
					"no caller has this name: `callers` are names, not patterns")
				continue
			}
			grants[i].Callers[j] = v.caller(c, accepted, name, at)
		}
	}
}

// caller returns a caller as grants name it, by entry and name: each entry may have one of that name.
func (v *validator) caller(c *Config, accepted []string, name string, node *strictyaml.Node) string {
	if entry, _, ok := strings.Cut(name, "/"); ok && slices.Contains(accepted, entry) {
		return name
	}
	var having []string // entries with a key of that name
	for _, entry := range accepted {
		if a, ok := c.Access.Get(entry); ok && slices.ContainsFunc(a.Keys, func(k AccessKey) bool { return k.Name == name }) {
			having = append(having, entry)
		}
	}
	switch {
	case len(accepted) == 1:
		return grant.CallerOf(accepted[0], name)
	case len(having) == 1:
		return grant.CallerOf(having[0], name)
	}
	v.doc.Reportf(node.Pos(), "write `"+grant.CallerOf(accepted[len(accepted)-1], name)+"`, or another entry",
		"`callers` must say which entry of `access` lets %q in: several could", name)
	return name
}

// isNode reports whether a node is that text.
func isNode(node *strictyaml.Node, text string) bool { return node != nil && node.Text() == text }

func (v *validator) grant(g *Grant, node *strictyaml.Node) {
	if len(g.Tools) == 0 && !g.Prompts && !g.Resources {
		v.doc.Reportf(node.Pos(), "add `tools`, such as [\"*\"]", "the grant lets nobody do anything")
	}
	for i, pattern := range g.Tools {
		v.toolPattern(pattern, node.Get("tools").Item(i).Pos())
	}
	if when := node.Get("when"); when != nil {
		if _, err := grant.Compile(g.When); err != nil {
			v.doc.Reportf(when.Pos(), "compare `caller`, `tool`, `args` and `read_only`, as in `args.orgId == caller.org`",
				"`when` is not a condition: %s", strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
}

// Grants returns the parsed grants of the entries. They have been checked.
func Grants(entries []Grant) (grant.Grants, error) {
	var all grant.Grants
	var failed error
	for _, g := range entries {
		made := grant.Grant{
			Callers: g.Callers, Orgs: g.Orgs, Roles: g.Roles, Scopes: g.Scopes, Tools: g.Tools, Prompts: g.Prompts, Resources: g.Resources,
		}
		if g.When != "" {
			var err error
			made.When, err = grant.Compile(g.When)
			failed = errors.Join(failed, err)
		}
		all = append(all, made)
	}
	return all, failed
}

// knowsOrgs reports whether callers who are let in can have an organisation.
func (a *Access) knowsOrgs() bool {
	return a.StoredKeys || a.JWT != nil && a.JWT.Org != "" || slices.ContainsFunc(a.Keys, func(k AccessKey) bool { return k.Org != "" })
}

// LetsInWithoutToken returns what lets callers without a JWT in to a server, in words: entries of access control, or none at all.
func (c *Config) LetsInWithoutToken(s *Server) []string {
	names := c.letsIn(s)
	if len(names) == 0 {
		return []string{"an endpoint without `access`"}
	}
	return slices.DeleteFunc(names, func(name string) bool {
		entry, _ := c.Access.Get(name)
		return entry.JWT != nil
	})
}

// letsIn returns the names of the access entries through which a server is called: its own, and those of the
// endpoints that offer it.
func (c *Config) letsIn(s *Server) []string {
	names := slices.Clone(s.Access)
	for _, e := range c.Endpoints {
		if slices.ContainsFunc(e.Servers, func(m Member) bool { return m.Name == s.Name }) {
			names = append(names, e.Access...)
		}
	}
	return names
}
