package config

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/policy/glob"
	"github.com/recoursehq/recourse/internal/upstream/openapi"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Operation is a route: it says whether some operations of an OpenAPI description are tools.
type Operation struct {
	// HTTP methods that the route applies to, such as `[GET, POST]`.
	Methods []string `yaml:"methods" default:"(any)"`
	// Paths that the route applies to, as the description has them, such as `/orders/{id}`. `*` stands for
	// any characters but a slash, and `**` for any.
	Paths []string `yaml:"paths" default:"(any)"`
	// Tags that the route applies to: an operation needs one of them.
	Tags []string `yaml:"tags" default:"(any)"`
	// operationIds that the route applies to. `*` stands for any characters.
	IDs []string `yaml:"ids" default:"(any)"`
	// Whether these operations are not offered, whatever a later route says.
	Deny bool `yaml:"deny" default:"false"`
	// Whether these operations change nothing, so that a failed one may be repeated.
	ReadOnly *bool `yaml:"read_only" default:"(true for GET, HEAD and OPTIONS)"`
	// Whether doing it twice has the same effect as doing it once.
	Idempotent *bool `yaml:"idempotent" default:"(true for PUT, DELETE, and with a declared header Idempotency-Key)"`
	// Name of the tool. The route must apply to one operation only.
	Name string `yaml:"name" default:"(the operationId, or method and path)"`
	// Replaces the server's timeout for these tools.
	Timeout time.Duration `yaml:"timeout" default:"(the server's)"`
}

// route returns the route in the form in which the description is compiled.
func (o *Operation) route() openapi.Route {
	return openapi.Route{
		Methods: o.Methods, Paths: o.Paths, Tags: o.Tags, IDs: o.IDs,
		Deny: o.Deny, ReadOnly: o.ReadOnly, Idempotent: o.Idempotent, Name: o.Name, Timeout: o.Timeout,
	}
}

// api checks an HTTP API, and reads its description.
func (v *validator) api(s *Server, node *strictyaml.Node) {
	at := node.Get("openapi")
	if base := node.Get("base_url"); base != nil {
		v.url(base, "base_url", s.BaseURL)
		if strings.Contains(s.BaseURL, "?") {
			v.doc.Reportf(base.Pos(), "put it into `query`", "`base_url` must not have a query")
		}
	}
	query := node.Get("query")
	for name, value := range query.All() {
		if name == "" || s.Query[name] == "" {
			v.doc.Reportf(value.Pos(), "if it comes from a variable, check that the variable is not empty",
				"a parameter of `query` is empty")
		}
	}
	list := node.Get("operations")
	routes := make([]openapi.Route, len(s.Operations))
	for i := range s.Operations {
		v.operation(s, &s.Operations[i], list.Item(i))
		routes[i] = s.Operations[i].route()
	}
	text, source, ok := v.description(s, at)
	if !ok {
		return
	}
	api, problems := openapi.Compile(text, openapi.Options{
		Routes: routes, BaseURL: s.BaseURL, Source: source, Headers: s.Headers, Query: s.Query, Trusted: s.Trusted,
	})
	for _, p := range problems {
		pos := at.Pos()
		if p.Route >= 0 {
			pos = list.Item(p.Route).Pos()
		}
		v.doc.Reportf(pos, p.Hint, "%s", p.Message)
	}
	s.API = api
}

// operation checks a route.
func (v *validator) operation(s *Server, o *Operation, node *strictyaml.Node) {
	for i, method := range o.Methods {
		if !slices.Contains([]string{"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "POST", "PATCH"}, strings.ToUpper(method)) {
			v.doc.Reportf(node.Get("methods").Item(i).Pos(), "write one of GET, HEAD, OPTIONS, PUT, DELETE, POST and PATCH",
				"tools cannot use this method")
		}
	}
	for i, path := range o.Paths {
		if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "*") {
			v.doc.Reportf(node.Get("paths").Item(i).Pos(), "write it as `/orders/**`", "a path begins with /")
		}
	}
	if name := node.Get("name"); name != nil && !openapi.IsName(o.Name) {
		v.doc.Reportf(name.Pos(), "use up to 64 of a-z, A-Z, 0-9, - and _", "this is not a valid name of a tool")
	}
	v.callTimeout(s, node, o.Timeout)
}

// description reads the text of a description, from a file or a URL.
func (v *validator) description(s *Server, node *strictyaml.Node) (text []byte, source *url.URL, ok bool) {
	if !openapi.IsURL(s.OpenAPI) {
		text, ok = v.file(&s.OpenAPI, node)
		return text, nil, ok
	}
	if strings.Contains(s.OpenAPI, "@") {
		v.url(node, "openapi", s.OpenAPI)
	}
	fetch := v.fetch
	if fetch == nil {
		fetch = func(source string) ([]byte, error) { return openapi.Fetch(context.Background(), source) }
	}
	text, err := fetch(s.OpenAPI)
	if err != nil {
		v.doc.Reportf(node.Pos(), "check the URL, or save the description to a file", "the description cannot be fetched: %s", err)
		return nil, nil, false
	}
	source, err = url.Parse(s.OpenAPI)
	return text, source, err == nil
}

// completeAPI sets what follows from the description: the title, and what routes say about tools.
func (s *Server) completeAPI() {
	if s.API == nil {
		return
	}
	for _, t := range s.API.Tools {
		known := s.Tool(t.Name)
		if t.Timeout > 0 && !s.saysTimeout(t.Name) {
			known.Timeout = t.Timeout
		}
		if known.ReadOnly == nil {
			known.ReadOnly = t.RouteReadOnly
		}
		if known.Idempotent == nil {
			known.Idempotent = t.RouteIdempotent
		}
		s.exact[t.Name] = known
	}
}

// saysTimeout reports whether `tools` itself sets the tool's timeout.
func (s *Server) saysTimeout(name string) bool {
	longest, timeout := -1, time.Duration(0)
	for _, rule := range s.Tools {
		switch {
		case rule.Key == name:
			return rule.Value.Timeout > 0
		case strings.ContainsAny(rule.Key, "*?") && len(rule.Key) > longest && glob.Match(rule.Key, name):
			longest, timeout = len(rule.Key), rule.Value.Timeout
		}
	}
	return timeout > 0
}

// sameAPI reports whether both entries offer the same operations, reached in the same way.
func (s *Server) sameAPI(other *Server) bool {
	return s.API.Same(other.API) && s.OpenAPI == other.OpenAPI && maps.Equal(s.Query, other.Query)
}

// Describe summarises what the description offers; "" for a server without one.
func (s *Server) Describe() string {
	if s.API == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d operations of %s", len(s.API.Tools), s.API.Total, filepath.Base(s.OpenAPI))
}
