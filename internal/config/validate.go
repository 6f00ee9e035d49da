package config

import (
	"cmp"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/yaml/nearest"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// A validator reports what the types cannot express. Its messages leave the value to the excerpt, which masks
// it if necessary and shows ${NAME} rather than its value.
type validator struct {
	doc       *strictyaml.Document
	contracts []string          // names that are known
	families  []string          // names that are known
	partial   bool              // whether a contract file could not be read, so that a name may be missing
	foreign   strictyaml.Errors // mistakes in other files

	dir        string // of the file
	loadFamily func(path string) (string, error)
	loaded     map[string]string // families by file; of one with mistakes the name is empty
	readFile   func(path string) ([]byte, error)
	fetch      func(url string) ([]byte, error)
}

func (v *validator) loadContracts(c *Config, load func(string) (string, error)) {
	node := v.doc.Root().Get("contracts")
	for i, file := range c.Contracts {
		at := node.Item(i).Pos()
		if file == "" {
			v.doc.Reportf(at, "", "the name of a contract file is empty")
			continue
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(v.dir, file)
			c.Contracts[i] = file
		}
		if load == nil {
			v.doc.Reportf(at, "", "contract files cannot be used here")
			continue
		}
		name, err := load(file)
		var mistakes strictyaml.Errors
		switch {
		case errors.As(err, &mistakes):
			v.foreign = append(v.foreign, mistakes...)
			v.partial = true
		case err != nil:
			v.doc.Reportf(at, "", "the contract cannot be loaded: %s", err)
			v.partial = true
		case slices.Contains(v.contracts, name):
			v.doc.Reportf(at, "give it another name", "there is already a contract `%s`", name)
		default:
			v.contracts = append(v.contracts, name)
		}
	}
}

func (v *validator) config(c *Config) {
	root := v.doc.Root()
	if !IsListenAddress(c.Listen) {
		v.doc.Reportf(root.Get("listen").Pos(), "write it as `127.0.0.1:8787` or `:8787`", "`listen` must be an address and a port")
	}
	v.admin(c, root)
	v.tls(c.TLS, root.Get("tls"))
	v.tracing(c.Tracing, root.Get("tracing"))
	if node := root.Get("public_url"); node != nil {
		v.url(node, "public_url", c.PublicURL)
	}
	for i, origin := range c.Origins {
		if !isOrigin(origin) {
			v.doc.Reportf(root.Get("origins").Item(i).Pos(), "write it as `https://app.example.com`, without a path",
				"an origin must be a scheme and a host")
		}
	}
	for i, host := range c.Hosts {
		if host == "" || strings.ContainsAny(host, "/@?# ") {
			v.doc.Reportf(root.Get("hosts").Item(i).Pos(), "write it as `mcp.example.com`", "a host must be a name, with or without a port")
		}
	}
	v.redis(c.Redis, root.Get("redis"))
	v.positive(root, "max_request", c.MaxRequest)
	v.positive(root, "max_in_flight", c.MaxInFlight)
	v.positive(root, "decide_within", c.DecideWithin)
	v.positive(root, "max_failure", c.MaxFailure)

	v.restart(c, root)
	v.providers(c, root)
	v.store(c, root)
	v.access(c)
	servers := root.Get("servers")
	switch {
	case servers == nil && root.Kind() == strictyaml.KindMapping:
		v.doc.Reportf(root.Pos(), "", "the file lacks the key `servers`")
	case servers != nil && len(c.Servers) == 0:
		v.doc.Reportf(servers.Pos(), "add one: `farm: {url: \"http://127.0.0.1:9101/mcp\"}`", "there is no server")
	}
	paths := map[string]string{} // to the server that has it
	for _, s := range c.Servers {
		at := servers.Key(s.Name)
		v.server(c, s, servers.Get(s.Name), at)
		v.ownPath(s.Name, s.Path, cmp.Or(servers.Get(s.Name).Get("path").Pos(), at), paths)
	}
	v.endpoints(c, paths)
}

// ownPath reports a path that is already taken; paths maps them to their owners.
func (v *validator) ownPath(name, path string, at strictyaml.Pos, paths map[string]string) {
	if path == PathNone {
		return
	}
	plain := placeholder.ReplaceAllString(path, "{}")
	if owner, taken := paths[plain]; taken {
		v.doc.Reportf(at, "", "the server `%s` already has the path `%s`", owner, path)
	}
	paths[plain] = name
}

var serverName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

func (v *validator) server(c *Config, s *Server, node *strictyaml.Node, at strictyaml.Pos) {
	if !serverName.MatchString(s.Name) {
		v.doc.Reportf(at, "use a-z, 0-9, - and _, a letter or digit first", "this is not a valid server name")
	}
	v.transport(s, node, at)
	if s.Path != PathNone {
		s.Path = v.path(s.Name, s.Path, node)
	}
	v.contract(node, "contract", s.Contract)
	if reads := node.Get("reads"); reads != nil {
		v.reads(s, reads)
	}
	v.timeouts(s, node)
	v.headers(s, node)
	v.userPlace(c, s, node)
	v.users(c, s.Users, s.Path, s.Access, node)
	v.protect(s, node)
	v.admission(c, s.Access, s.Grants, s.Mode, node)
	if node.Get("openapi") != nil {
		v.api(s, node)
	}
	v.chosenProfile(s, node.Get("profile"))
	v.pin(c, s, node.Get("pin"))
	v.limits(s.Limits, node.Get("limits"))
	v.statusTool(s, node.Get("status_tool"))
	v.organisations(c, s.Limits, c.letsIn(s), node.Get("limits"))
	tools := node.Get("tools")
	for _, rule := range s.Tools {
		v.tool(s, rule, tools.Get(rule.Key))
		if once := rule.Value.Once; once != nil {
			v.once(c, s, once, tools.Get(rule.Key).Get("once"))
		}
	}
}

// transports are the keys that select how a server is reached, each with the keys that belong to it.
var transports = []struct {
	key  string
	owns []string
}{
	{"url", []string{"headers", "forward"}},
	{"command", []string{"env", "cwd", "share", "idle", "profile"}},
	{"openapi", []string{"base_url", "query", "operations"}},
}

// transport checks how the server is reached: over HTTP, as a program, or as an HTTP API.
func (v *validator) transport(s *Server, node *strictyaml.Node, at strictyaml.Pos) {
	has := -1
	for i, t := range transports {
		switch {
		case node.Get(t.key) == nil:
		case has >= 0:
			v.doc.Reportf(node.Key(t.key), "remove one of them", "the server has both `%s` and `%s`", transports[has].key, t.key)
		default:
			has = i
		}
	}
	if has < 0 {
		v.doc.Reportf(at, "add `url: https://example.com/mcp` or `command: [npx, -y, PACKAGE]`; for an HTTP API `openapi: FILE`",
			"the server has neither `url` nor `command`")
		return
	}
	switch {
	case node.Get("url") != nil:
		v.url(node.Get("url"), "url", s.URL)
	case node.Get("command") != nil && (len(s.Command) == 0 || s.Command[0] == ""):
		v.doc.Reportf(node.Get("command").Pos(), "write it as `[npx, -y, PACKAGE]`", "`command` is empty: it must name a program")
	}
	v.foreignKeys(node, transports[has].key)
	v.duration(node, "idle", s.Idle)
}

// foreignKeys reports keys that belong to a server that is reached in another way.
func (v *validator) foreignKeys(node *strictyaml.Node, has string) {
	for _, t := range transports {
		if t.key == has || t.key == "url" && has == "openapi" { // whose requests have headers, too
			continue
		}
		for _, key := range t.owns {
			if node.Get(key) != nil {
				v.doc.Reportf(node.Key(key), "remove it", "`%s` belongs to a server with `%s`, and this one has `%s`", key, t.key, has)
			}
		}
	}
}

// url reports an address that is not absolute, or has parts that do not belong in a file or a request.
func (v *validator) url(node *strictyaml.Node, key, text string) {
	if strings.Contains(text, "@") {
		v.doc.Hide(node)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		v.doc.Reportf(node.Pos(), "write it as `https://example.com/mcp`", "`%s` must be an absolute http or https URL", key)
	case u.User != nil:
		v.doc.Reportf(node.Pos(), "put the credentials in `headers`", "`%s` must not contain a user or password", key)
	case strings.Contains(text, "#"):
		v.doc.Reportf(node.Pos(), "remove what follows the `#`", "`%s` must not have a fragment", key)
	}
}

// urlPath is a path without escapes and empty segments, with at most one place for the user.
var urlPath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*(/\{[a-z][a-z0-9_]*\}(/[A-Za-z0-9._~-]+)*)?$`)

// placeholder is the place for the user.
var placeholder = regexp.MustCompile(`\{.*\}`)

// path returns the path of an entry, checked where one is given.
func (v *validator) path(name, path string, node *strictyaml.Node) string {
	given := node.Get("path")
	if given == nil {
		return "/" + name + "/mcp"
	}
	dots := strings.Contains(path+"/", "/./") || strings.Contains(path+"/", "/../")
	if path == "" || !urlPath.MatchString(path) || dots {
		v.doc.Reportf(given.Pos(), "write it as `/"+name+"/mcp` or `/"+name+"/{user_id}/mcp`",
			"`path` must begin with / and consist of letters, digits and - . _ ~, with at most one {name} between slashes")
	}
	return path
}

// reads checks how a server's failures are read, and loads the families that are files: only their names
// remain.
func (v *validator) reads(s *Server, node *strictyaml.Node) {
	kept := ""
	for i, name := range s.Reads {
		at := node
		if node.Kind() == strictyaml.KindSequence {
			at = node.Item(i)
		}
		switch {
		case isFile(name):
			s.Reads[i] = v.family(name, at)
		case slices.Contains(v.families, name):
		case kept != "" && slices.Contains(v.contracts, name):
			v.doc.Reportf(at.Pos(), "remove one of them", "a server follows only one contract, and `%s` is already one", kept)
		case v.partial || slices.Contains(v.contracts, name):
			kept = name
		default:
			hint := "write the name of a contract or family, or a file such as ./ours.yaml"
			hint = meant(name, slices.Concat(v.contracts, v.families), hint)
			v.doc.Reportf(at.Pos(), hint, "`reads` names an unknown contract or family")
		}
	}
}

// isFile reports whether an entry of reads is a file.
func isFile(name string) bool {
	return strings.ContainsAny(name, `/\`) || filepath.Ext(name) == ".yaml" || filepath.Ext(name) == ".yml"
}

// family loads a family file, once, and returns the family's name.
func (v *validator) family(file string, at *strictyaml.Node) string {
	if !filepath.IsAbs(file) {
		file = filepath.Join(v.beside(at), file)
	}
	if name, loaded := v.loaded[file]; loaded {
		return name
	}
	v.loaded[file] = ""
	if v.loadFamily == nil {
		v.doc.Reportf(at.Pos(), "", "family files cannot be used here")
		return ""
	}
	name, err := v.loadFamily(file)
	var mistakes strictyaml.Errors
	switch {
	case errors.As(err, &mistakes):
		v.foreign = append(v.foreign, mistakes...)
	case err != nil:
		v.doc.Reportf(at.Pos(), "", "the family cannot be loaded: %s", err)
	}
	v.loaded[file] = name
	return name
}

func (v *validator) contract(node *strictyaml.Node, key, name string) {
	if v.partial || slices.Contains(v.contracts, name) {
		return
	}
	hint := ""
	if len(v.contracts) > 0 {
		hint = "the known ones are `" + strings.Join(slices.Sorted(slices.Values(v.contracts)), "`, `") + "`"
	}
	v.doc.Reportf(node.Get(key).Pos(), meant(name, v.contracts, hint), "`%s` names an unknown contract", key)
}

// meant returns the hint for a name that is unknown: the known one that is nearest, or otherwise.
func meant(name string, known []string, otherwise string) string {
	if near, ok := nearest.Of(name, known); ok {
		return "did you mean `" + near + "`?"
	}
	return otherwise
}

func (v *validator) timeouts(s *Server, node *strictyaml.Node) {
	timeout, longest := node.Get("timeout"), node.Get("max_timeout")
	v.duration(node, "timeout", s.Timeout)
	v.duration(node, "max_timeout", s.MaxTimeout)
	if s.MaxTimeout > 0 && s.Timeout > s.MaxTimeout {
		v.doc.Reportf(cmp.Or(timeout.Pos(), longest.Pos()), "raise `max_timeout` or shorten `timeout`",
			"`timeout` (%s) is longer than `max_timeout` (%s)", written(s.Timeout), written(s.MaxTimeout))
	}
}

// callTimeout checks the timeout of a tool of a server, if it has one.
func (v *validator) callTimeout(s *Server, tool *strictyaml.Node, timeout time.Duration) {
	v.duration(tool, "timeout", timeout)
	if s.MaxTimeout > 0 && timeout > s.MaxTimeout {
		v.doc.Reportf(tool.Get("timeout").Pos(), "raise the server's `max_timeout` or shorten this",
			"`timeout` (%s) is longer than the server's `max_timeout` (%s)", written(timeout), written(s.MaxTimeout))
	}
}

func (v *validator) tool(s *Server, rule strictyaml.Entry[Tool], node *strictyaml.Node) {
	v.toolPattern(rule.Key, rule.Pos)
	tool := rule.Value
	v.callTimeout(s, node, tool.Timeout)
	if tool.Concurrency != nil {
		v.concurrency(tool.Concurrency, node.Get("concurrency"))
	}
	if tool.Verify != nil {
		v.verify(tool.Verify, node.Get("verify"))
	}
	for i := range tool.Expects {
		v.expects(node.Get("expects").Item(i))
	}
}

// toolPattern checks what stands for tools.
func (v *validator) toolPattern(pattern string, at strictyaml.Pos) {
	if pattern == "" || strings.ContainsAny(pattern, " \t\n[]{}\\") {
		v.doc.Reportf(at, "in a pattern only * and ? are special", "this is neither the name of a tool nor a pattern")
	}
}

// expects checks a part of what a success looks like.
func (v *validator) expects(node *strictyaml.Node) {
	for _, key := range []string{"path", "not_empty_for", "equals"} {
		if n := node.Get(key); n != nil && (n.Text() == "" || !isPointer(n.Text())) {
			v.doc.Reportf(n.Pos(), "write it as `/order/id`", "`%s` must be a JSON Pointer", key)
		}
	}
	if node.Get("not_empty_for") != nil && node.Get("equals") != nil {
		v.doc.Reportf(node.Pos(), "make two of it", "`not_empty_for` and `equals` exclude each other")
	}
}

func (v *validator) verify(verify *Verify, node *strictyaml.Node) {
	if tool := node.Get("tool"); tool != nil && (verify.Tool == "" || strings.ContainsAny(verify.Tool, "*? ")) {
		v.doc.Reportf(tool.Pos(), "", "`tool` must be the name of a tool")
	}
	from, with := node.Get("from"), node.Get("with")
	for param := range from.All() {
		if !isPointer(verify.From[param]) {
			v.doc.Reportf(from.Get(param).Pos(), "write it as `/reference`; for a fixed value use `with`",
				"this must be a JSON Pointer into the arguments of the failed call")
		}
		if with.Get(param) != nil {
			v.doc.Reportf(with.Key(param), "remove one of them", "this parameter is also in `from`")
		}
	}
	if verify.Landed != nil {
		v.landed(verify.Landed, node.Get("landed"))
	}
}

func (v *validator) positive(root *strictyaml.Node, key string, size strictyaml.Size) {
	if size <= 0 {
		v.doc.Reportf(root.Get(key).Pos(), "write it as `4MiB`, `256KiB` or `1MB`", "`%s` must be more than 0", key)
	}
}

// givenf reports the value of a key if it is given and wrong.
func (v *validator) givenf(node *strictyaml.Node, key string, wrong bool, hint, format string, args ...any) {
	if value := node.Get(key); value != nil && wrong {
		v.doc.Reportf(value.Pos(), hint, format, args...)
	}
}

// duration checks a duration of a mapping, if it is given.
func (v *validator) duration(node *strictyaml.Node, key string, d time.Duration) {
	v.givenf(node, key, d <= 0, "write it as `500ms`, `20s` or `1m30s`", "`%s` must be more than 0", key)
}

// written formats a duration as people write it: 10m, not 10m0s.
func written(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// IsListenAddress reports whether text is an address and a port to listen on.
func IsListenAddress(text string) bool {
	host, port, err := net.SplitHostPort(text)
	if err != nil || strings.ContainsAny(host, "/@ ") {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// isOrigin reports whether text is the serialisation of an origin with a host (RFC 6454,
// section 6.2).
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme != "" && u.Hostname() != "" && text == u.Scheme+"://"+u.Host
}

var pointer = regexp.MustCompile(`^(/([^~/]|~[01])*)*$`)

// isPointer reports whether text is a JSON Pointer (RFC 6901, section 3).
func isPointer(text string) bool { return pointer.MatchString(text) }
