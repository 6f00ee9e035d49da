package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/session"
	"github.com/recoursehq/recourse/internal/policy/auth"
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
		if params, ok := c.who.account.TakeAnswer(c.req.msg.Params); ok {
			if e := c.req.change(params); e != nil {
				return answer.Settled(e)
			}
		}
	}
	if c.req.asks() {
		c.who.account.LookUp(c.req.ctx)
	}
	return next(c)
}

// invite adds the link for connecting the account to failures that connecting would fix. Nobody reads that of an endpoint
// which listens for its clients.
func (who *caller) invite(r *request, err error, scopes []string) *recourse.Error {
	if r.nested && r.lasts() {
		return recourse.From(err)
	}
	return who.account.Invite(r.ctx, r.base(), err, scopes)
}

// rejected handles a server's refusal of the credential. It returns nil if there is a new one, so that the
// call can be sent again: by refusing, the server says that it did nothing. final says that it cannot be all the same.
func (who *caller) rejected(ctx context.Context, r *request, final bool) *recourse.Error {
	err := who.account.Replace(ctx)
	switch {
	case err != nil:
		return who.invite(r, err, nil)
	case final:
		title := who.account.Title()
		return recourse.Unavailable(title).WithMessage("The access to %s had expired. It is renewed now.", title).
			WithOrigin(recourse.OriginGateway)
	}
	return nil
}

// aboutAccount handles a tool's failure that may be about the caller's account: a server that passes the
// credential on to the provider reports the provider's objection in its result.
func (enforcing) aboutAccount(c *call, f *failure) end {
	e := f.Err
	c.out.Reason = cmp.Or(f.Reason, c.out.Reason)
	if !c.req.isCall() || !c.who.account.Concerns(e) {
		return f.End()
	}
	if e.Kind == recourse.KindMissingScope && !c.who.account.IsOutdated(c.ctx) {
		return answer.Settled(c.failing(c.in.Shown()).effectOf(e, c.who.invite(&c.req, e, e.MissingScopes))).End()
	}
	return end{Why: answer.AccountRefused, Err: e}
}

// refusesAccount reports whether a server refuses the caller's credential, the lack of one, or its permissions. narrowed is
// then the failure, if a new credential would not do: it says what is missing.
func (who *caller) refusesAccount(
	ctx context.Context, r *request, status int, header http.Header,
) (refuses bool, narrowed *recourse.Error) {
	if e, ok := errors.AsType[*recourse.Error](who.account.Missing); ok && status == http.StatusUnauthorized {
		return true, who.invite(r, e, nil)
	}
	if who.account.Header == "" {
		return false, nil
	}
	switch status {
	case http.StatusUnauthorized:
		return true, nil
	case http.StatusForbidden:
		if e := who.account.LacksScope(header.Get("WWW-Authenticate")); e != nil {
			if who.account.IsOutdated(ctx) {
				return true, nil
			}
			return true, who.invite(r, e, e.MissingScopes)
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

// spareLinks lets the model read links for the person, if the client cannot show them itself.
func (c *call) spareLinks(links string) bool {
	if c.req.showsLinks(c.session) {
		return false
	}
	c.mask = c.masker().Sparing(links)
	return true
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

// connected ends a call whose caller has no account at the server's provider.
func connected(c *call, next next) *failure {
	if !c.req.isCall() {
		return next(c)
	}
	if c.who.account.Awaits() {
		c.deadline.Suspend()
		c.who.account.Await(c.ctx, c.deadline.Left()/2)
		c.deadline.Alive()
	}
	if refusal, ok := errors.AsType[*auth.Refusal](c.who.account.Missing); ok { // another token of the caller's would do
		return c.refuseLapsed(refusal)
	}
	if c.who.account.Missing != nil {
		return answer.Settled(c.who.invite(&c.req, c.who.account.Missing, nil))
	}
	return next(c)
}
