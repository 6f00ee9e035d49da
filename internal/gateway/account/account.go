package account

import (
	"context"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/policy/auth"
)

// An Account is a caller's account at a provider, as one call uses it. The zero value is for calls whose
// server needs none.
type Account struct {
	connection.Credential

	// Missing says why there is no credential; nil: there is one, or it has not been looked up.
	Missing error

	at      *Provider
	manager *connection.Manager
	holder  Holder
	owner   string
	renewed bool // done once, after the server refused the previous credential

	// How it is connected, for failures that this would fix:
	invitation connection.Invitation
	link       string // which opens the page; "": for no other
	why        string // in a sentence without the link
	scopes     []string

	// The client's answer to [Account.Question], and the state that comes with it. Changing that state only changes
	// how long the call waits, so it is not sealed.
	accepted, declined bool
	after              int64    // the version of the account that was not sufficient
	asked              []string // scopes
}

// At returns a caller's account at a provider. Its credential is not looked up yet.
func At(p *Provider, m *connection.Manager, h Holder) Account {
	return Account{at: p, manager: m, holder: h, owner: p.owner(&h)}
}

// Owner returns who owns the account.
func (a *Account) Owner() string { return a.owner }

// Title returns the provider's display name.
func (a *Account) Title() string { return a.at.Title }

// LookUp looks the credential up.
func (a *Account) LookUp(ctx context.Context) {
	if a.exchanges() {
		a.Credential, a.Missing = a.manager.Exchange(ctx, &a.at.Provider, a.holder.Subject, 0)
		return
	}
	a.Credential, a.Missing = a.manager.Credential(ctx, &a.at.Provider, a.owner)
}

// exchanges reports whether the credential is what the caller's token is exchanged for, without any account that is kept.
func (a *Account) exchanges() bool { return a.at.Flow == connection.TokenExchange }

// Replace looks for a credential other than the one that the server has refused, once per call.
func (a *Account) Replace(ctx context.Context) error {
	if a.renewed { // the provider has renewed it, so nobody has revoked it
		return a.at.Expired()
	}
	a.renewed = true
	if a.exchanges() {
		a.Credential, a.Missing = a.manager.Exchange(ctx, &a.at.Provider, a.holder.Subject, a.Version)
		return a.Missing
	}
	if err := a.manager.Rejected(ctx, &a.at.Provider, a.owner, a.Version); err != nil {
		return err
	}
	a.LookUp(ctx)
	return a.Missing
}

// IsOutdated reports whether there is a newer credential than the one used for the call: a person may have
// reconnected the account at another replica.
func (a *Account) IsOutdated(ctx context.Context) bool {
	return !a.exchanges() && a.manager.IsOutdated(ctx, &a.at.Provider, a.owner, a.Version)
}

// Concerns reports whether a server's failure may be about the account. One that names another provider is about something else.
func (a *Account) Concerns(e *recourse.Error) bool {
	return a.Header != "" && e.Kind.Class() == recourse.ClassAuth &&
		(e.Provider == "" || strings.EqualFold(e.Provider, a.at.Title) || strings.EqualFold(e.Provider, a.at.Name))
}

// LacksScope returns the failure for a credential whose challenge says that scopes are missing (RFC 6750,
// section 3.1), or nil.
func (a *Account) LacksScope(challenge string) *recourse.Error {
	if !strings.Contains(challenge, `error="insufficient_scope"`) {
		return nil
	}
	_, rest, found := strings.Cut(challenge, `scope="`)
	said, _, closed := strings.Cut(rest, `"`)
	const most = 32
	scopes := strings.Fields(said)
	if !found || !closed || len(said) > 1024 || len(scopes) == 0 || len(scopes) > most {
		return nil
	}
	return recourse.MissingScope(a.at.Title, scopes...).WithOrigin(recourse.OriginProvider)
}

// Invite adds the link with which a person connects the account, with more scopes if those are missing. base
// is the gateway's own URL. A failure that connecting would not fix is returned unchanged.
func (a *Account) Invite(ctx context.Context, base string, err error, scopes []string) *recourse.Error {
	e := recourse.From(err)
	p := &a.at.Provider
	if e.Kind.Class() != recourse.ClassAuth || p.Flow == connection.ClientCredentials || a.exchanges() {
		return e
	}
	ask := connection.LinkRequest{Provider: p, Owner: a.owner, Server: a.holder.Server, Scopes: scopes}
	if who := a.holder.Verified; who.Known() && who.Method != auth.MethodLoopback {
		if who.Method == auth.MethodJWT && p.Flow != connection.DeviceCode && !a.holder.Login {
			return e // there is no page on which they could say who they are
		}
		ask.By = connection.Person{Access: who.Access, Name: who.Name}
	}
	how, err := a.manager.Invite(ctx, ask)
	if err != nil {
		return recourse.From(err)
	}
	why, link := e.Message, how.Direct
	if how.Code == "" {
		link = base + how.Path
		e = e.WithMessage("%s Connect it at %s", why, link)
	} else {
		e = e.WithMessage("%s Connect it at %s with the code %s", why, how.URL, how.Code).WithDetail("connectCode", how.Code)
		why += " Enter the code " + how.Code + " on the page."
	}
	a.invitation, a.link, a.why, a.scopes = how, link, why, scopes
	return e.WithDetail("connectUrl", link).WithEffect(recourse.EffectNone)
}

// Shown is the part of the invitation that the person needs, so it is not masked.
func (a *Account) Shown() string { return a.link + " " + a.invitation.URL + " " + a.invitation.Code }

// Awaits reports whether the client has shown the link, and the account has not been replaced since.
func (a *Account) Awaits() bool {
	return a.accepted && (a.Missing != nil || a.Version <= a.after)
}

// Await waits for the person who has been shown the link: a client that was asked again at once would show it
// again.
func (a *Account) Await(ctx context.Context, most time.Duration) {
	waiting, cancel := context.WithTimeout(ctx, min(linkWait, most))
	defer cancel()
	if a.manager.Await(waiting, &a.at.Provider, a.owner, a.after, a.asked) == nil {
		a.LookUp(ctx)
	}
}
