package gateway

import (
	"net/netip"
	"slices"

	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/gateway/account"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/privacy/secret"
	"github.com/recoursehq/recourse/internal/upstream"
)

// A caller is who calls. [call.identify] determines it, in one place and once for each call: of a client's request
// when it is let in, and of a nested call when it is made, from the caller of the request that it is made for. That
// one cannot be taken over as it is, since each server of an endpoint is forwarded other headers, and may need an
// account of its own. Nothing is taken from unverified credentials but digests.
type caller struct {
	user string // named by the path
	// verified is the caller that access control found, or zero if the endpoint has none.
	verified authn.Identity
	// id tells callers apart by what is forwarded to the server: their credentials, the user, and the account.
	// Callers of whom nothing is forwarded share one id, and are shown the same lists.
	id upstream.Caller
	// server tells the caller apart from others at the server: it is the owner, and the account. A program sees no
	// credentials, but its clients may have to be kept apart all the same; a wrapper's host needs no id, since there is
	// only one.
	server upstream.Caller
	// owner is whose session, state or key it is, even if nothing of the caller is forwarded. A verified caller
	// remains the same with new credentials, such as a refreshed token.
	owner upstream.Caller
	// credentials and address tell unverified callers apart for limits, if the endpoint has any; see [caller.counted].
	credentials upstream.Caller
	address     netip.Addr

	account account.Account // at the server's provider: connect looks it up
	outer   *outer          // the request at an endpoint with several servers, for nested calls; nil: it is at another one
}

// counted returns the caller as limits count calls.
func (who *caller) counted() limits.Payer {
	return limits.Payer{Verified: &who.verified, Credentials: who.credentials, Address: who.address}
}

// identify determines who calls, and whose account at the server's provider the call uses. verified is the caller
// that access control found; of is the request that a nested call is made for, or nil.
func (c *call) identify(verified *authn.Identity, of *outer) {
	var user, sent, credentials []string
	if c.req.user != "" {
		user = []string{"user", c.req.user}
	}
	known := identityWords(verified)
	counts := c.on.limits != nil && known == nil
	proved := false // only verified facts are forwarded
	for _, name := range c.on.forward {
		if slices.Contains(verified.Headers, name) {
			proved = true
			continue
		}
		identifies := counts && (name == "Cookie" || secret.Name(name))
		for _, value := range c.req.forwarded(name) {
			sent = append(sent, name, value)
			if identifies {
				credentials = append(credentials, name, value)
			}
		}
	}
	var room [8]string
	all := append(append(append(room[:0], known...), sent...), user...)
	who := &c.who
	*who = caller{user: c.req.user, verified: *verified, owner: upstream.CallerOf(all...)}
	if who.id = who.owner; !proved {
		who.id = upstream.CallerOf(slices.Concat(sent, user)...)
	}
	who.server = who.owner
	if len(c.on.entry.Command) > 0 {
		words := c.req.identifiedBy(known)
		if of != nil {
			words = of.apart
		}
		if words = append(slices.Clip(words), user...); len(words) == 1 && words[0] == theHost {
			who.server = ofTheHost
		} else {
			who.server = upstream.CallerOf(words...)
		}
	}
	if c.on.limits != nil {
		who.credentials, who.address = upstream.CallerOf(credentials...), door.Counted(c.table.proxies.Client(c.req.from))
	}
	if p := c.table.providers[c.on.entry.Connection]; p != nil {
		c.who.account = account.At(p, c.g.reach.Connections, account.Holder{
			Verified: &who.verified, User: who.user, Server: c.on.entry.Name, Login: c.table.logins[verified.Access] != nil,
		})
		// Callers with different accounts share nothing at the server.
		with := func(id upstream.Caller) upstream.Caller {
			return upstream.CallerOf(string(id[:]), "account", c.who.account.Owner())
		}
		who.id, who.server = with(who.id), with(who.server)
	}
}

// identifiedBy returns what tells a caller from others at a program, which sees no headers. known is what a verified
// caller is known by.
func (r *request) identifiedBy(known []string) []string {
	if known == nil {
		known = r.header["Authorization"]
	}
	if r.stdio {
		known = append(slices.Clip(known), theHost)
	}
	return known
}

// theHost is what identifies the host of a wrapper, of which nothing else is known, and ofTheHost the caller that it is.
const theHost = "the host"

var ofTheHost = upstream.CallerOf(theHost)

// identityWords returns what tells a verified caller from others, or nil if there is none.
func identityWords(who *authn.Identity) []string {
	if !who.Known() {
		return nil
	}
	return []string{"verified", who.Access, who.Method, who.Name, who.Org}
}
