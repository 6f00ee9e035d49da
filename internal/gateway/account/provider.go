package account

import (
	"strings"

	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/connection"
)

// Providers are a configuration's providers, by name.
type Providers map[string]*Provider

// A Provider is where callers have accounts.
type Provider struct {
	connection.Provider

	perOrg bool // the callers of an organisation share an account
}

// NewProviders returns the providers of a configuration.
func NewProviders(cfg *config.Config) Providers {
	providers := Providers{}
	for _, entry := range cfg.Providers {
		from := entry.Value
		if from.ClientID == config.ClientIDMetadata {
			from.ClientID = strings.TrimSuffix(cfg.PublicURL, "/") + connection.ClientPath(entry.Key)
		}
		providers[entry.Key] = &Provider{perOrg: from.Per == config.PerOrganisation, Provider: connection.Provider{
			Name: entry.Key, Title: from.Title, Flow: connection.Flow(from.Flow),
			AuthorizeURL: from.AuthorizeURL, DeviceURL: from.DeviceURL, TokenURL: from.TokenURL,
			ClientID: from.ClientID, ClientSecret: from.ClientSecret, InBody: from.ClientAuth == config.ClientAuthBody,
			Scopes: from.Scopes, Params: from.Params, Header: from.Header, Prefix: *from.Prefix,
		}}
	}
	return providers
}

// A Holder is a caller at the endpoint of a server.
type Holder struct {
	Subject  connection.Subject
	Verified *authn.Identity // by access control; not known: nobody was verified
	User     string          // that the path names
	Server   string
	Login    bool // they can sign in on a page, though what they call with is a token
}

func (p *Provider) owner(h *Holder) string {
	switch who := h.Verified; {
	case p.Flow == connection.ClientCredentials:
		return connection.GatewayOwner
	case p.perOrg && who.Org != "":
		return connection.OrgOwner(who.Access, who.Org)
	case who.Known():
		return connection.CallerOwner(connection.Person{Access: who.Access, Name: who.Name})
	case h.User != "":
		return connection.UserOwner(h.Server, h.User)
	default:
		return connection.AnybodyOwner
	}
}
