package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/auth"
	"github.com/recoursehq/recourse/internal/config"
	door "github.com/recoursehq/recourse/internal/endpoint"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
)

// wellKnown is where the metadata of protected resources are (RFC 9728, section 3), before the path of the resource.
const wellKnown = "/.well-known/oauth-protected-resource"

// challenge tells the client what to bring (RFC 6750, section 3; MCP, "Authorization"). code is the error of a token that was
// understood.
func (c *call) challenge(code string, no *auth.Refusal) {
	a := c.on.access
	if !a.bearer && len(a.headers) > 0 {
		names := strings.ToLower(strings.Join(a.headers, " "))
		c.reply.header().Add("WWW-Authenticate", "ApiKey "+door.Param("headers", names))
		return
	}
	var params []string
	if code == "" && no.At == contract.AtCredentialsInvalid {
		code = "invalid_token"
	}
	if code != "" {
		params = append(params, door.Param("error", code), door.Param("error_description", no.Record.Message))
	}
	scopes := no.Scopes
	if scopes == nil {
		scopes = a.scopes
	}
	if len(scopes) > 0 {
		params = append(params, door.Param("scope", strings.Join(scopes, " ")))
	}
	if len(a.issuers) > 0 {
		params = append(params, door.Param("resource_metadata", c.base()+wellKnown+c.req.http.URL.EscapedPath()))
	}
	c.reply.header().Add("WWW-Authenticate", strings.TrimSpace("Bearer "+strings.Join(params, ", ")))
}

// base returns the URL under which clients know the gateway.
func (c *call) base() string { return door.Base(c.req.http, c.table.config.PublicURL) }

// describe answers a request for the metadata of an endpoint as a protected resource (RFC 9728), which name the issuer where
// clients sign in. Without a path they are those of the only endpoint that has any. It reports false where the request is for
// something else.
func (c *call) describe() (done bool, err error) {
	path, ok := strings.CutPrefix(c.req.http.URL.EscapedPath(), wellKnown)
	if !ok || path != "" && path[0] != '/' {
		return false, nil
	}
	c.req.http.Body = http.NoBody
	on := c.table.described(path)
	if on == nil {
		return false, nil
	}
	if path == "" || path == "/" {
		path = on.Path
	}
	h := c.reply.header()
	h.Set("Access-Control-Allow-Origin", "*") // they are public
	switch c.req.http.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", "GET")
		h.Set("Access-Control-Allow-Headers", "*")
		c.reply.empty()
		return true, nil
	default:
		h["Allow"] = []string{"GET, OPTIONS"}
		return true, refuse(http.StatusMethodNotAllowed,
			recourse.New(recourse.KindInvalidRequest, "The metadata of a protected resource take GET."))
	}
	text, err := json.Marshal(struct {
		Resource string   `json:"resource"`
		Issuers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name"`
	}{c.base() + path, on.access.issuers, on.scopes, []string{"header"}, on.Title})
	if err != nil {
		return true, err
	}
	h["Content-Type"] = []string{wire.TypeJSON}
	h["Cache-Control"] = []string{"max-age=300"}
	c.reply.send(http.StatusOK, text)
	return true, nil
}

// described returns the endpoint at a path whose tokens have an issuer, or nil.
func (t *table) described(path string) (found *endpoint) {
	if path != "" && path != "/" {
		plain, err := url.PathUnescape(path)
		on, _, ok := t.find(&url.URL{Path: plain, RawPath: path})
		if err != nil || !ok || on.access == nil || len(on.access.issuers) == 0 {
			return nil
		}
		return on
	}
	for _, on := range t.endpoints {
		if on.access != nil && len(on.access.issuers) > 0 {
			if found != nil {
				return nil
			}
			found = on
		}
	}
	return found
}

// scopesOf returns the scopes that clients of an endpoint may be asked for.
func scopesOf(a *access, grants []config.Grant) []string {
	if a == nil {
		return nil
	}
	all := slices.Clone(a.scopes)
	for i := range grants {
		all = append(all, grants[i].Scopes...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
