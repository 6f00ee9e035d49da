package config

import (
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/privacy/seal"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Provider is where accounts are connected.
type Provider struct {
	// What people call the provider, such as `John Deere`.
	Title string `yaml:"title" default:"(its name)"`
	// How an account is connected: with `authorization_code` a person signs in at the provider (with PKCE),
	// with `device_code` they enter a code there on any device, with `api_key` they enter a key on the
	// gateway's page, `client_credentials` needs nobody, and with `token_exchange` (RFC 8693) the JWT with which a
	// caller comes is exchanged for a token for the server.
	Flow Flow `yaml:"flow" default:"authorization_code"`
	// The provider's authorization endpoint. Its redirect URI is `/connect/callback` below `public_url`.
	AuthorizeURL string `yaml:"authorize_url" default:"(none)"`
	// The provider's device authorization endpoint, for the flow `device_code`.
	DeviceURL string `yaml:"device_url" default:"(none)"`
	// The provider's token endpoint.
	TokenURL string `yaml:"token_url" default:"(none)"`
	// What the provider calls this gateway. With `metadata` it is the URL of a document that the gateway serves,
	// `/connect/client/NAME.json` below `public_url`: a provider that reads those needs no registration.
	ClientID string `yaml:"client_id" default:"(none)"`
	// The secret of that client. Without one it is a public client.
	ClientSecret string `yaml:"client_secret,secret" default:"(none)"`
	// Where token requests carry the client's secret: in the `header`, or in the `body`.
	ClientAuth ClientAuth `yaml:"client_auth" default:"header"`
	// Scopes to ask for.
	Scopes []string `yaml:"scopes" default:"(none)"`
	// More parameters of the authorization request, or of an exchange, such as `audience` or `resource`.
	Params map[string]string `yaml:"params" default:"(none)"`
	// Who shares an account: nobody (`caller`), or the callers of an `organisation`.
	Per Per `yaml:"per" default:"caller"`
	// Header in which servers get the credential.
	Header string `yaml:"header" default:"Authorization"`
	// Prefix of the credential in that header.
	Prefix *string `yaml:"prefix" default:"('Bearer ' in Authorization, else nothing)"`
}

// Flow is how an account is connected.
type Flow string

// The flows.
const (
	FlowAuthorizationCode Flow = "authorization_code"
	FlowDeviceCode        Flow = "device_code"
	FlowAPIKey            Flow = "api_key"
	FlowClientCredentials Flow = "client_credentials"
	FlowTokenExchange     Flow = "token_exchange"
)

// ClientIDMetadata is the client id that stands for the URL of the gateway's own document.
const ClientIDMetadata = "metadata"

// ClientAuth says where a client's secret is sent.
type ClientAuth string

// The places for a client's secret.
const (
	ClientAuthHeader ClientAuth = "header"
	ClientAuthBody   ClientAuth = "body"
)

// Per says who shares an account.
type Per string

// Who shares an account.
const (
	PerCaller       Per = "caller"
	PerOrganisation Per = "organisation"
)

// Provider returns the provider of that name.
func (c *Config) Provider(name string) (p Provider, ok bool) {
	for _, entry := range c.Providers {
		if entry.Key == name {
			return entry.Value, true
		}
	}
	return p, false
}

// providers checks the providers, and the servers' connections.
func (v *validator) providers(c *Config, root *strictyaml.Node) {
	keys := root.Get("connection_keys")
	for i, key := range c.ConnectionKeys {
		if len(key) < seal.MinSecret {
			v.doc.Reportf(keys.Item(i).Pos(), "make one with `openssl rand -base64 32`",
				"a connection key must have at least %d characters", seal.MinSecret)
		}
	}
	node := root.Get("providers")
	keeps := func(e strictyaml.Entry[Provider]) bool { return e.Value.Flow != FlowTokenExchange }
	if node != nil && slices.ContainsFunc(c.Providers, keeps) {
		if c.Store == "" {
			v.doc.Reportf(node.Pos(), "add `store: sqlite:recourse.db`", "connections need a `store`")
		}
		if len(c.ConnectionKeys) == 0 {
			v.doc.Reportf(node.Pos(), "add `connection_keys: [\"${CONNECTION_KEY}\"]`", "connections need a key that seals them")
		}
	}
	for i := range c.Providers {
		entry := &c.Providers[i]
		v.provider(&entry.Value, node.Get(entry.Key), node.Key(entry.Key))
		if entry.Value.ClientID == ClientIDMetadata {
			v.metadataClient(&entry.Value, node.Get(entry.Key), c.PublicURL)
		}
		if entry.Value.Title == "" {
			entry.Value.Title = entry.Key
		}
	}
	servers := root.Get("servers")
	for _, s := range c.Servers {
		at := servers.Get(s.Name).Get("connection")
		switch p, known := c.Provider(s.Connection); {
		case s.Connection == "":
		case !known:
			v.doc.Reportf(at.Pos(), "", "there is no provider of this name")
		case s.URL == "" && s.OpenAPI == "":
			v.doc.Reportf(at.Pos(), "", "a program gets no credentials of callers: `connection` needs a `url` or `openapi`")
		default:
			v.oneCredential(s, servers.Get(s.Name), p.Header)
		}
	}
}

// oneCredential checks that nothing else sets the header of a server's connection.
func (v *validator) oneCredential(s *Server, node *strictyaml.Node, header string) {
	const what, mend = "the accounts of callers go in this header", "remove it here, or remove `connection`"
	for name := range node.Get("headers").All() {
		if http.CanonicalHeaderKey(name) == header {
			v.doc.Reportf(node.Get("headers").Key(name), mend, what)
		}
	}
	if i := slices.IndexFunc(s.Forward, func(name string) bool { return http.CanonicalHeaderKey(name) == header }); i >= 0 {
		v.doc.Reportf(node.Get("forward").Item(i).Pos(), mend, what)
	}
}

// metadataClient checks a provider that reads in the gateway's own document who its client is.
func (v *validator) metadataClient(p *Provider, node *strictyaml.Node, public string) {
	at := node.Get("client_id").Pos()
	if p.Flow != FlowAuthorizationCode && p.Flow != FlowDeviceCode {
		v.doc.Reportf(at, "", "`client_id: metadata` is for the flows `authorization_code` and `device_code`")
		return
	}
	if !auth.IsSafeURL(public) {
		v.doc.Reportf(at, "set `public_url: https://tools.example.com` at the top level",
			"`client_id: metadata` needs an https `public_url`, where the provider reads who its client is")
	}
	if p.ClientSecret != "" {
		v.doc.Reportf(node.Get("client_secret").Pos(), "remove it", "a client with `client_id: metadata` has no secret")
	}
}

// exchange checks a provider that exchanges callers' tokens.
func (v *validator) exchange(p *Provider, node *strictyaml.Node) {
	if p.Per == PerOrganisation {
		v.doc.Reportf(node.Get("per").Pos(), "remove it", "each caller's token is exchanged for one of its own")
	}
	for name := range node.Get("params").All() {
		if slices.Contains([]string{"grant_type", "subject_token", "client_id", "client_secret", "scope"}, name) {
			v.doc.Reportf(node.Get("params").Key(name), "remove it; scopes stand in `scopes`", "an exchange sets this parameter itself")
		}
	}
}

// provider checks one provider.
func (v *validator) provider(p *Provider, node *strictyaml.Node, at strictyaml.Pos) {
	for _, member := range []struct {
		key, value string
		isURL      bool
		neededBy   []Flow
	}{
		{"authorize_url", p.AuthorizeURL, true, []Flow{FlowAuthorizationCode}},
		{"device_url", p.DeviceURL, true, []Flow{FlowDeviceCode}},
		{"token_url", p.TokenURL, true, []Flow{FlowAuthorizationCode, FlowDeviceCode, FlowClientCredentials, FlowTokenExchange}},
		{"client_id", p.ClientID, false, []Flow{FlowAuthorizationCode, FlowDeviceCode, FlowClientCredentials, FlowTokenExchange}},
		{"client_secret", p.ClientSecret, false, []Flow{FlowClientCredentials, FlowTokenExchange}},
	} {
		switch {
		case member.value == "" && slices.Contains(member.neededBy, p.Flow):
			v.doc.Reportf(at, "", "the flow `%s` needs `%s`", p.Flow, member.key)
		case member.value != "" && member.isURL:
			v.url(node.Get(member.key), member.key, member.value)
		}
	}
	if p.Flow == FlowTokenExchange {
		v.exchange(p, node)
	}
	if header := node.Get("header"); header != nil {
		v.headerName(header.Pos(), p.Header)
	}
	p.Header = http.CanonicalHeaderKey(p.Header)
	if p.Prefix == nil {
		prefix := ""
		if p.Header == "Authorization" {
			prefix = "Bearer "
		}
		p.Prefix = &prefix
	}
	v.givenf(node, "prefix", strings.ContainsFunc(*p.Prefix, func(r rune) bool { return r < ' ' || r > '~' }),
		"", "this cannot stand in a header")
}
