// Package access decides who may call an endpoint, by the entries of access control that its entry names.
//
//	access: [team, staff]   in the configuration
//	  |  New                joins an authenticator of package auth for each entry
//	  v
//	Access
//	     Authenticate       who calls, or why that is not known
//	     Challenge          what the client should send; Metadata says where it gets that
//	     Again              the same question later: Recheck asks it while a call or a stream lasts
//
// Users decides which users a caller may be, where the path names one.
package access

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// An Access decides who may call an endpoint. A nil one lets everybody in. It is immutable.
type Access struct {
	said settings
	who  authn.Authenticator

	bearer  bool     // Authorization may hold a credential
	headers []string // other headers that may hold one
	issuers []string // of the tokens, if clients sign in
	scopes  []string // required of every token
}

// settings is the part of a configuration that an access depends on.
type settings struct {
	entries []config.Access
	names   []string
	proxies []string
	claim   string // that names the users of a token
}

// New returns the access of an entry that names entries of access control; nil: it names none. users may name a claim. old is the
// entry's previous access, which is kept, with the tokens that it has verified, if nothing has changed. stored are
// the keys besides those in the configuration; nil: there are none.
func New(
	cfg *config.Config, names []string, users *config.Users, issuers *auth.Issuers, stored auth.KeyStore, old *Access,
) (*Access, error) {
	if len(names) == 0 {
		return nil, nil
	}
	a := &Access{said: settings{names: names, proxies: cfg.TrustedProxies}}
	if users != nil {
		a.said.claim = users.Claim
	}
	var all auth.AnyOf
	for _, name := range names {
		if name == config.Loopback {
			all = append(all, &auth.Loopback{Access: name, Proxies: cfg.Proxies()})
			a.said.entries = append(a.said.entries, config.Access{})
			continue
		}
		entry, ok := cfg.Access.Get(name)
		if !ok {
			return nil, fmt.Errorf("there is no access entry %s", name)
		}
		a.said.entries = append(a.said.entries, entry)
		all = append(all, a.add(issuers, stored, name, &entry))
	}
	if old != nil && reflect.DeepEqual(old.said, a.said) {
		return old, nil
	}
	a.who = all
	if len(all) == 1 {
		a.who = all[0]
	}
	return a, nil
}

func (a *Access) add(issuers *auth.Issuers, stored auth.KeyStore, name string, entry *config.Access) authn.Authenticator {
	if j := entry.JWT; j != nil {
		a.bearer = true
		a.issuers = append(a.issuers, j.Issuer)
		a.scopes = append(a.scopes, j.Scopes...)
		set := issuers.Keys(j.Issuer, j.JWKS)
		set.Begin()
		rule := tokenRule(name, j)
		rule.UsersClaim = a.said.claim
		return auth.NewJWT(rule, set)
	}
	if !entry.StoredKeys {
		stored = nil
	}
	keys := auth.NewKeys(name, entry.Fixed(), stored)
	if h := entry.Headers; h != nil {
		a.headers = append(a.headers, h.Key)
		if h.ID != "" {
			a.headers = append(a.headers, h.ID)
		}
		return &auth.Headers{Keys: keys, ID: h.ID, Key: h.Key}
	}
	a.bearer = true
	return auth.BearerKeys{Keys: keys}
}

// tokenRule returns the rule for the tokens that an entry accepts.
func tokenRule(name string, j *config.AccessJWT) auth.TokenRule {
	rule := auth.TokenRule{
		Access: name, Issuer: j.Issuer, Audiences: j.Audience, Leeway: j.Leeway, Scopes: j.Scopes,
		NameClaim: j.Name, OrgClaim: j.Org, RolesClaim: j.Roles,
	}
	for _, algorithm := range j.Algorithms {
		rule.Algorithms = append(rule.Algorithms, string(algorithm))
	}
	return rule
}

// NewLogins returns the logins with which callers of entries of access control sign in on pages.
func NewLogins(cfg *config.Config, issuers *auth.Issuers) map[string]*auth.Login {
	logins := map[string]*auth.Login{}
	for _, entry := range cfg.Access {
		j := entry.Value.JWT
		if j == nil || j.Login == nil {
			continue
		}
		client := auth.LoginClient{ID: j.Login.ClientID, Secret: j.Login.ClientSecret, Scopes: j.Login.Scopes}
		logins[entry.Key] = auth.NewLogin(tokenRule(entry.Key, j), issuers.Keys(j.Issuer, j.JWKS), client)
	}
	return logins
}

// Authenticate implements [authn.Authenticator].
func (a *Access) Authenticate(r *http.Request) (authn.Identity, error) {
	return a.who.Authenticate(r)
}

// Accepts reports whether an entry of access control lets callers in.
func (a *Access) Accepts(entry string) bool { return a != nil && slices.Contains(a.said.names, entry) }

// HasIssuer reports whether clients can sign in somewhere.
func (a *Access) HasIssuer() bool { return a != nil && len(a.issuers) > 0 }

// Again returns the caller of a request, or why that caller would not be let in now. If that cannot be determined, it returns
// neither.
func (a *Access) Again(r *http.Request) (authn.Identity, *auth.Refusal) {
	who, err := a.who.Authenticate(r)
	if err == nil {
		return who, nil
	}
	refusal := auth.RefusalOf(err)
	switch refusal.Record.Kind.Class() {
	case recourse.ClassAuth, recourse.ClassPermission:
		return who, refusal
	default:
		return authn.Identity{}, nil
	}
}

// Challenge returns the WWW-Authenticate that tells a client what to send (RFC 6750, section 3; MCP,
// "Authorization"). code is the error of a token that was understood, and metadata the URL of [Access.Metadata].
func (a *Access) Challenge(code string, refusal *auth.Refusal, metadata string) string {
	if !a.bearer && len(a.headers) > 0 {
		return "ApiKey " + door.Param("headers", strings.ToLower(strings.Join(a.headers, " ")))
	}
	var params []string
	if code == "" && refusal.At == contract.AtCredentialsInvalid {
		code = "invalid_token"
	}
	if code != "" {
		params = append(params, door.Param("error", code), door.Param("error_description", refusal.Record.Message))
	}
	scopes := refusal.Scopes
	if scopes == nil {
		scopes = a.scopes
	}
	if len(scopes) > 0 {
		params = append(params, door.Param("scope", strings.Join(scopes, " ")))
	}
	if len(a.issuers) > 0 {
		params = append(params, door.Param("resource_metadata", metadata))
	}
	return strings.TrimSpace("Bearer " + strings.Join(params, ", "))
}

// MetadataPath is the path of the metadata of protected resources (RFC 9728, section 3), before the path of
// the resource.
const MetadataPath = "/.well-known/oauth-protected-resource"

// Metadata returns the metadata of an endpoint as a protected resource (RFC 9728), which names the issuer
// where clients sign in.
func (a *Access) Metadata(resource, title string, grants []config.Grant) ([]byte, error) {
	scopes := slices.Clone(a.scopes)
	for i := range grants {
		scopes = append(scopes, grants[i].Scopes...)
	}
	slices.Sort(scopes)
	text, err := json.Marshal(struct {
		Resource string   `json:"resource"`
		Issuers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name"`
	}{resource, a.issuers, slices.Compact(scopes), []string{"header"}, title})
	if err != nil {
		return nil, fmt.Errorf("metadata of %s: %w", title, err)
	}
	return text, nil
}
