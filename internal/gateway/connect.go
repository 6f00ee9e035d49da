package gateway

import (
	"context"
	"net/http"
	"strconv"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/internal/gateway/session"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/store"
)

// connect looks up the caller's account at the server's provider. Without one, the call of a tool fails after
// its arguments have been checked; see [connected]. Lists are requested all the same: many servers give them
// to anybody.
func connect(c *call, next next) *failure {
	if c.on.entry.Connection == "" {
		return next(c)
	}
	if c.req.era == wire.Modern && c.req.isCall() {
		if params, ok := c.account.TakeAnswer(c.req.msg.Params); ok {
			if e := c.req.change(params); e != nil {
				return settled(e)
			}
		}
	}
	if c.req.asks() {
		c.account.LookUp(c.req.ctx)
	}
	return next(c)
}

// invite adds the link for connecting the account to failures that connecting would fix.
func (c *call) invite(err error, scopes []string) *recourse.Error {
	c.unmask() // what the person needs is shown
	return c.account.Invite(c.req.ctx, c.table.base(c.req.from), err, scopes)
}

// rejected handles a server's refusal of the credential. It returns nil if there is a new one, so that the
// call can be sent again: by refusing, the server says that it did nothing.
func (c *call) rejected(last *end) *recourse.Error {
	err := c.account.Replace(c.ctx)
	switch {
	case err != nil:
		return c.invite(err, nil)
	case c.reply.hasBegun(), last.full && !c.rule.mayRepeat(c.on.to, last):
		title := c.account.Title()
		return recourse.Unavailable(title).WithMessage("The access to %s had expired. It is renewed now.", title).
			WithOrigin(recourse.OriginGateway)
	}
	return nil
}

// aboutAccount handles a tool's failure that may be about the caller's account: a server that passes the
// credential on to the provider reports the provider's objection in its result.
func (c *call) aboutAccount(f *failure) end {
	e := f.e
	if !c.req.isCall() || !c.account.Concerns(e) {
		return f.end()
	}
	if e.Kind == recourse.KindMissingScope && !c.account.IsOutdated(c.ctx) {
		return settled(c.failing(c.in.shown()).effectOf(e, c.invite(e, e.MissingScopes))).end()
	}
	return end{why: accountRefused, e: e}
}

// refusesAccount reports whether a server refuses the caller's credential or its permissions. If so, the
// failure says which scopes are missing.
func (c *call) refusesAccount(status int, header http.Header) (refuses bool, narrowed *recourse.Error) {
	if c.account.Header == "" {
		return false, nil
	}
	switch status {
	case http.StatusUnauthorized:
		return true, nil
	case http.StatusForbidden:
		if e := c.account.LacksScope(header.Get("WWW-Authenticate")); e != nil {
			if c.account.IsOutdated(c.ctx) {
				return true, nil
			}
			return true, c.invite(e, e.MissingScopes)
		}
	}
	return false, nil
}

// showsLinks reports whether the client of a call can show a link to its user. of is its session, or nil.
func (r *request) showsLinks(of *session.Session) bool {
	var declared json.Value
	switch {
	case !r.isCall():
	case r.era == wire.Modern:
		declared = json.Lookup(r.msg.ClientCapabilities, "/elicitation/url")
	case of != nil:
		declared = json.Lookup(of.Opening().Body, "/params/capabilities/elicitation/url")
	}
	return declared.Kind() == '{'
}

// showLink ends a call that needs a connected account by asking the client to show the link.
func (c *call) showLink(f *failing, e *recourse.Error) {
	record := c.on.contract.Write(e, f.describe(e, 0)).Record.CausedBy(e.Cause())
	c.out.record(record, "the client is asked to show its person the link")
	form, _ := record.MarshalJSON() // without one there is no data
	if c.req.era == wire.Modern {
		c.out.Form = wire.InputRequired
		c.reply.message(http.StatusOK, c.req.msg.ID, wire.AppendResult(nil, c.req.msg.ID, c.account.Question(form)))
		return
	}
	c.out.Form = strconv.Itoa(wire.CodeURLElicitation)
	c.g.notices.WhenConnected(&c.account, c.session, c.g.background)
	text := wire.AppendError(nil, c.req.msg.ID, wire.CodeURLElicitation, e.Sentence(), c.account.Elicitation(form))
	c.reply.message(http.StatusOK, c.req.msg.ID, text)
}

// lettingIn returns the authenticators of the endpoints that an entry of access control lets callers in to.
func (t *table) lettingIn(entry string) []authn.Authenticator {
	var all []authn.Authenticator
	for _, on := range t.endpoints {
		if on.access.Accepts(entry) {
			all = append(all, on.access)
		}
	}
	return all
}

// ConnectLink returns the link with which the owner of an account can reconnect it, as
// [connection.Manager.NewLink] makes it. It also returns [store.ErrConflict] if the configuration has no such
// provider.
func (g *Gateway) ConnectLink(ctx context.Context, providerName, owner string) (link string, err error) {
	t := g.table.Load()
	p := t.providers[providerName]
	if p == nil {
		return "", store.ErrConflict
	}
	path, err := g.reach.Connections.NewLink(ctx, &p.Provider, owner)
	if err != nil {
		return "", err
	}
	return g.URL() + path, nil
}
