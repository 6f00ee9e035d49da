package gateway

import (
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/gateway/access"
	"github.com/recoursehq/recourse/internal/gateway/account"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/privacy/secret"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/retry"
)

// authenticate finds out who calls, before anything in the request is read. It checks the credentials, then
// that the forwarded headers are there, then that the user is there and valid. Whether the forwarded values
// are valid is for the server to say; see [call.at].
func authenticate(c *call, next next) *failure {
	var who authn.Identity
	if c.on.access != nil {
		var refusal *auth.Refusal
		if who, refusal = c.table.verify(c.on, &c.req, c.out.Began); refusal != nil {
			return c.on.refuse(&c.req, c.reply.Header(), refusal)
		}
	}
	missing := door.Missing(c.req.header, c.on.asked)
	switch user := c.req.user; {
	case missing != "":
		return answer.RefuseAt(contract.AtCredentialsMissing, recourse.Unauthenticated().
			WithMessage("The header %s is missing.", missing))
	case c.on.userParam != "" && user == "":
		return answer.RefuseAt(contract.AtUserMissing, recourse.Missing(c.on.userParam).
			WithMessage("The path lacks the %s.", c.on.userParam))
	case c.on.userParam != "" && !door.IsUser(user):
		return answer.RefuseAt(contract.AtUserInvalid, recourse.New(recourse.KindNotFound, "").
			WithMessage("The %s in the path is not valid.", c.on.userParam))
	}
	if refusal := c.on.users.May(c.req.ctx, &who, c.req.user); refusal != nil {
		return c.on.refuse(&c.req, c.reply.Header(), refusal)
	}
	c.identify(&who, nil)
	if who.Known() {
		c.recheck.Start(c.req.from, c.out.Began, c.on)
	}
	return next(c)
}

// verify finds out who has sent a request according to the endpoint's access, or why it is refused.
func (t *table) verify(on *endpoint, r *request, now time.Time) (authn.Identity, *auth.Refusal) {
	address := t.proxies.Client(r.from)
	if wait := t.lockout.Wait(address, now); wait > 0 {
		return authn.Identity{}, &auth.Refusal{
			At: contract.AtSession,
			Record: recourse.RateLimited(wait).WithOrigin(recourse.OriginGateway).
				WithMessage("Too many authentications from this address have failed. Try again in %s.", recourse.FormatWait(wait)),
		}
	}
	who, err := on.access.Authenticate(r.from)
	if err == nil {
		return who, nil
	}
	refusal := auth.RefusalOf(err)
	if refusal.At == contract.AtCredentialsInvalid && t.lockout.Failed(address, now) {
		on.g.log.LogAttrs(r.ctx, slog.LevelWarn, "an address is refused: too many authentications have failed",
			slog.String("address", door.Counted(address).String()), slog.String("request_id", r.id))
	}
	return authn.Identity{}, refusal
}

// refuse returns the failure for a request whose caller is not let in, with the challenge that tells the
// client what is needed. The body is not read, except for the message's id if it is near the beginning, since some
// clients end their session after a 4xx without one.
func (on *endpoint) refuse(r *request, reply http.Header, refusal *auth.Refusal) *failure {
	kind, status := refusal.Record.Kind, door.Status(refusal.At)
	switch {
	case status == http.StatusUnauthorized:
		on.challenge(r, reply, "", refusal)
	case status != 0:
	case kind == recourse.KindMissingScope:
		status = http.StatusForbidden
		on.challenge(r, reply, "insufficient_scope", refusal)
	case kind == recourse.KindPermissionDenied:
		status = http.StatusForbidden
	default:
		status = http.StatusServiceUnavailable
		if kind == recourse.KindRateLimited {
			status = http.StatusTooManyRequests
		}
		reply["Retry-After"] = []string{limits.Seconds(refusal.Record.RetryAfter)}
	}
	if r.method == http.MethodPost && r.body == nil {
		r.msg.ID = door.FirstID(r.intake.First())
	}
	return &failure{Err: refusal.Record, Refusal: true, At: refusal.At, Status: status, OfCaller: true}
}

// challenge tells the client what to bring; code is the error of a token that was understood.
func (on *endpoint) challenge(r *request, reply http.Header, code string, refusal *auth.Refusal) {
	metadata := r.base() + access.MetadataPath + r.from.URL.EscapedPath()
	reply.Add("WWW-Authenticate", on.access.Challenge(code, refusal, metadata))
}

// Again implements [access.Verifier]. The configuration may have changed since the call has come.
func (on *endpoint) Again(r *http.Request) *auth.Refusal {
	t := on.g.table.Load()
	now := t.named[on.entry.Name]
	if now == nil || now.access == nil {
		return nil
	}
	who, refusal := now.access.Again(r.WithContext(on.g.life))
	if refusal != nil || !who.Known() {
		return refusal
	}
	_, user, _ := t.find(r.URL)
	if refusal = now.users.May(on.g.life, &who, user); refusal != nil && refusal.At == contract.AtUserInvalid {
		return refusal
	}
	return nil
}

// refuseLapsed returns the failure for a call whose caller is no longer let in. If nothing can have been
// done, it is the failure of a first request with such credentials, after which clients authenticate and call
// again. A call that may have changed something must not be repeated automatically: its client learns about
// the credentials with the next call.
func (c *call) refuseLapsed(refusal *auth.Refusal) *failure {
	if !c.reply.Started && c.member == nil && (c.out.counted == 0 || c.rule.nature == retry.Reads) {
		return c.on.refuse(&c.req, c.reply.Header(), refusal)
	}
	e := refusal.Record.WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone)
	if c.out.counted > 0 && c.rule.nature != retry.Reads {
		e = e.WithEffect(recourse.EffectUnknown)
	}
	return &failure{Err: e, At: contract.AtSession}
}

// A caller is who calls. [call.identify] determines it, in one place and once for each call: of a client's request
// when it is let in, and of a nested call when it is made, from the caller of the request that it is made for. That
// one cannot be taken over as it is, since each server of an endpoint is forwarded other headers, and may need an
// account of its own. Nothing is taken from unverified credentials but digests.
type caller struct {
	user  string // named by the path
	token string // with which a caller with a JWT came
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
	token := ""
	switch {
	case of != nil:
		token = of.token
	case verified.Method == auth.MethodJWT:
		token, _ = auth.Bearer(c.req.header) // which has been verified
	}
	who.token, who.user, who.verified, who.owner = token, c.req.user, *verified, upstream.CallerOf(all...)
	who.id = who.owner
	if !proved {
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
			Subject:  connection.Subject{Token: who.token, Expires: who.verified.Expires},
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
