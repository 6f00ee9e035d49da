package gateway

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/gateway/access"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/policy/auth"
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
	if c.identify(&who, nil); who.Known() {
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
