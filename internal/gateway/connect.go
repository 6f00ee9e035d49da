package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/auth"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/connection"
	door "github.com/recoursehq/recourse/internal/endpoint"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/upstream"
)

// A credential is what a server gets of a caller's account at a provider.
type credential struct {
	connection.Credential

	// missing says why there is none; nil: there is one, or the server wants none.
	missing error
	renewed bool // once, because the server refused the one before

	// How it is connected, for failures that this mends:
	invitation connection.Invitation
	link       string // which opens the page; "": for no other
	why        string // in a sentence without the link
	scopes     []string

	answer linkAnswer // of the client
}

// connect looks up the caller's account at the provider that the server goes by. A call of a tool fails without one, when its
// arguments have been checked; see [connected]. Lists are asked for all the same: many servers give them to anybody.
func connect(c *call, next next) error {
	if c.provider() == nil {
		return next(c)
	}
	c.who.withAccount(c.owner())
	if err := c.takeLinkAnswer(); err != nil {
		return settled(err)
	}
	if c.req.asks() {
		c.lookUp(c.req.http.Context())
	}
	return next(c)
}

// withAccount tells the caller from those with other accounts: at the server they have nothing in common.
func (who *caller) withAccount(owner string) {
	with := func(id upstream.Caller) upstream.Caller { return upstream.CallerOf(string(id[:]), "account", owner) }
	who.id, who.server = with(who.id), with(who.server)
}

// provider returns where the server's callers have accounts; nil: it wants none.
func (c *call) provider() *provider { return c.table.providers[c.on.Connection] }

// A provider is one of the configuration.
type provider struct {
	connection.Provider

	perOrg bool // the callers of an organisation share an account
}

func (c *call) lookUp(ctx context.Context) {
	c.account.Credential, c.account.missing = c.g.reach.Connections.Credential(ctx, &c.provider().Provider, c.owner())
}

// connected ends a call whose caller has no account at the server's provider.
func connected(c *call, next next) error {
	if !c.req.isCall() {
		return next(c)
	}
	if c.account.answer.accepted {
		c.awaitAccount()
	}
	if c.account.missing != nil {
		return settled(c.invite(c.account.missing, nil))
	}
	return next(c)
}

// owner returns whose account it is.
func (c *call) owner() string {
	who, p := &c.who.verified, c.provider()
	switch {
	case p.Flow == connection.ClientCredentials:
		return connection.GatewayOwner
	case p.perOrg && who.Org != "":
		return connection.OrgOwner(who.Access, who.Org)
	case who.Known():
		return connection.CallerOwner(connection.Person{Access: who.Access, Name: who.Name})
	case c.who.user != "":
		return connection.UserOwner(c.on.Name, c.who.user)
	default:
		return connection.AnybodyOwner
	}
}

// invite adds the link under which a person connects the account, for failures that this mends.
func (c *call) invite(err error, scopes []string) *recourse.Error {
	e := recourse.From(err)
	p := &c.provider().Provider
	if e.Kind.Class() != recourse.ClassAuth || p.Flow == connection.ClientCredentials {
		return e
	}
	ask := connection.Ask{Provider: p, Owner: c.owner(), Server: c.on.Name, Scopes: scopes}
	if who := &c.who.verified; who.Known() && who.Method != auth.MethodLoopback {
		if who.Method == auth.MethodJWT && p.Flow != connection.DeviceCode {
			return e // there is no page on which they could say who they are
		}
		ask.By = connection.Person{Access: who.Access, Name: who.Name}
	}
	how, err := c.g.reach.Connections.Invite(c.req.http.Context(), ask)
	if err != nil {
		return recourse.From(err)
	}
	why, link := e.Message, how.Direct
	if how.Code == "" {
		link = c.base() + how.Path
		e = e.WithMessage("%s Connect it at %s", why, link)
	} else {
		e = e.WithMessage("%s Connect it at %s with the code %s", why, how.URL, how.Code).WithDetail("connectCode", how.Code)
		why += " Enter the code " + how.Code + " on the page."
	}
	c.account.invitation, c.account.link, c.account.why, c.account.scopes = how, link, why, scopes
	c.mask = nil // what the person needs is not masked
	return e.WithDetail("connectUrl", link).WithEffect(recourse.EffectNone)
}

// rejected deals with a server's refusal of the credential. It reports true if there is another one now, with which the call can
// be made again: a refusal is the server's word that it did nothing.
func (c *call) rejected() (again bool, e *recourse.Error) {
	title := c.provider().Title
	if c.account.renewed {
		return false, c.invite(recourse.TokenRevoked(title), nil)
	}
	c.account.renewed = true
	err := c.g.reach.Connections.Rejected(c.ctx, &c.provider().Provider, c.owner(), c.account.Version)
	if err == nil {
		c.lookUp(c.ctx)
		err = c.account.missing
	}
	switch {
	case err != nil:
		return false, c.invite(err, nil)
	case c.reply.started, c.out.last.answered && !c.mayRepeat():
		return false, recourse.Unavailable(title).WithMessage("The access to %s had expired. It is renewed now.", title)
	}
	return true, nil
}

// aboutAccount deals with a tool's failure that may be about the caller's account: its server gives the credential on to the
// provider, and says in the result what the provider thinks of it. One that names another provider is about something else.
func (c *call) aboutAccount(f *failure) error {
	p, e := c.provider(), f.e
	if c.account.Header == "" || !c.req.isCall() || e.Kind.Class() != recourse.ClassAuth ||
		e.Provider != "" && !strings.EqualFold(e.Provider, p.Title) && !strings.EqualFold(e.Provider, p.Name) {
		return f
	}
	if e.Kind == recourse.KindMissingScope {
		return settled(c.invite(e, e.MissingScopes).WithEffect(c.effect(e)))
	}
	c.out.last.refused = true
	return e
}

// refusesAccount reports whether a server refuses the caller's credential, or what it may do: then the failure says which scopes
// are missing.
func (c *call) refusesAccount(status int, header http.Header) (refuses bool, narrowed *recourse.Error) {
	if c.account.Header == "" {
		return false, nil
	}
	switch status {
	case http.StatusUnauthorized:
		return true, nil
	case http.StatusForbidden:
		if scopes := missingScopes(header.Get("WWW-Authenticate")); len(scopes) > 0 {
			return true, c.invite(recourse.MissingScope(c.provider().Title, scopes...).WithOrigin(recourse.OriginProvider), scopes)
		}
	}
	return false, nil
}

// missingScopes returns the scopes of a challenge that says insufficient_scope (RFC 6750, section 3.1).
func missingScopes(challenge string) []string {
	if !strings.Contains(challenge, `error="insufficient_scope"`) {
		return nil
	}
	_, rest, found := strings.Cut(challenge, `scope="`)
	said, _, closed := strings.Cut(rest, `"`)
	const most = 32
	scopes := strings.Fields(said)
	if !found || !closed || len(said) > 1024 || len(scopes) > most {
		return nil
	}
	return scopes
}

// newProviders returns the providers of a configuration.
func newProviders(cfg *config.Config) map[string]*provider {
	providers := map[string]*provider{}
	for _, entry := range cfg.Providers {
		from := entry.Value
		providers[entry.Key] = &provider{perOrg: from.Per == config.PerOrganisation, Provider: connection.Provider{
			Name: entry.Key, Title: from.Title, Flow: connection.Flow(from.Flow),
			AuthorizeURL: from.AuthorizeURL, DeviceURL: from.DeviceURL, TokenURL: from.TokenURL,
			ClientID: from.ClientID, ClientSecret: from.ClientSecret, InBody: from.ClientAuth == config.ClientAuthBody,
			Scopes: from.Scopes, Params: from.Params, Header: from.Header, Prefix: *from.Prefix,
		}}
	}
	return providers
}

var errNoConnections = errors.New("providers need a store that keeps connections")

// newPages returns the pages on which accounts are connected; nil: there is nothing to connect.
func (g *Gateway) newPages(t *table) (http.Handler, error) {
	if len(t.providers) == 0 {
		return nil, nil //nolint:nilnil // no pages are an answer
	}
	if g.reach.Connections == nil {
		return nil, errNoConnections
	}
	pages := &connection.Pages{
		Manager: g.reach.Connections, Providers: map[string]*connection.Provider{}, Log: g.log,
		URL:    func(r *http.Request) string { return door.Base(r, t.config.PublicURL) },
		Asks:   t.asksFor,
		Verify: t.verifyKey,
	}
	for name, p := range t.providers {
		pages.Providers[name] = &p.Provider
	}
	return pages, nil
}

// ConnectLink returns the link under which the owner of an account can connect it again, as [connection.Manager.NewLink] makes it.
// It also returns [store.ErrConflict] if the configuration has no such provider.
func (g *Gateway) ConnectLink(ctx context.Context, providerName, owner string) (link string, err error) {
	t := g.table.Load()
	p := t.providers[providerName]
	if p == nil {
		return "", store.ErrConflict
	}
	path, err := g.reach.Connections.NewLink(ctx, &p.Provider, owner)
	if err != nil {
		return "", err //nolint:wrapcheck // it is told apart by who asks
	}
	return strings.TrimSuffix(cmp.Or(t.config.PublicURL, "http://"+t.config.Listen), "/") + path, nil
}

var errNotTheKey = errors.New("the endpoint knows no such key")

// asksFor returns what the callers of an entry of access control enter on a page.
func (t *table) asksFor(access string) connection.Asked {
	if entry, ok := t.config.Access.Get(access); ok && entry.Headers != nil {
		return connection.Asked{ID: entry.Headers.ID, Key: entry.Headers.Key}
	}
	return connection.Asked{Key: "API key of your agent"}
}

// verifyKey finds out whose key was entered on a page, with its id or without. Guessing is bounded as at the endpoint itself.
func (t *table) verifyKey(r *http.Request, access, id, key string) (connection.Person, error) {
	address := t.proxies.Client(r)
	if t.lockout.Wait(address, time.Now()) > 0 {
		return connection.Person{}, errNotTheKey
	}
	asked := r.Clone(r.Context())
	if entry, ok := t.config.Access.Get(access); ok && entry.Headers != nil {
		asked.Header = http.Header{entry.Headers.Key: {key}}
		if entry.Headers.ID != "" {
			asked.Header[entry.Headers.ID] = []string{id}
		}
	} else {
		asked.Header = http.Header{"Authorization": {"Bearer " + key}}
	}
	for _, on := range t.endpoints {
		if on.access == nil || !slices.Contains(on.access.said.names, access) {
			continue
		}
		if who, err := on.access.who.Authenticate(asked); err == nil && who.Access == access && who.Method != auth.MethodLoopback {
			return connection.Person{Access: who.Access, Name: who.Name}, nil
		}
	}
	t.lockout.Failed(address, time.Now())
	return connection.Person{}, errNotTheKey
}
