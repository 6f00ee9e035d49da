package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/auth"
	"github.com/recoursehq/recourse/retry"
)

// recheckEvery is how often the credentials behind a long call or an open stream are verified again.
const recheckEvery = 10 * time.Second

// A recheck verifies the caller of a call again while the call is under way, and ends the call when its credentials have expired
// or been revoked. It can be used again when it has been stopped. Like that of a [deadline.Deadline], its timer is set again only when
// it goes off.
type recheck struct {
	mu     sync.Mutex
	timer  *time.Timer
	set    bool // the timer is
	on     *endpoint
	r      *http.Request // nil: nobody is watched
	since  time.Time
	cancel context.CancelCauseFunc // ends the call
}

// start watches the caller of c.
func (k *recheck) start(c *call) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.on, k.r, k.since = c.on, c.req.http, c.out.began
	switch {
	case k.set:
	case k.timer == nil:
		k.timer = time.AfterFunc(recheckEvery, k.look)
	default:
		k.timer.Reset(recheckEvery)
	}
	k.set = true
}

// ends says how the call is ended. It is not for calls that nobody watches.
func (k *recheck) ends(cancel context.CancelCauseFunc) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.r != nil {
		k.cancel = cancel
	}
}

func (k *recheck) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.on, k.r, k.cancel = nil, nil, nil
}

// look verifies the caller again.
func (k *recheck) look() {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.r
	if k.set = r != nil; !k.set {
		return
	}
	if early := time.Until(k.since.Add(recheckEvery)); early > 0 {
		k.timer.Reset(early)
		return
	}
	g, name := k.on.target.g, k.on.Name
	copied := r.Clone(g.life) // r is not ours once the call has ended
	k.mu.Unlock()
	no := g.verifyAgain(name, copied)
	k.mu.Lock()
	if no != nil && k.r == r && k.cancel != nil {
		k.cancel(&lapse{no})
	}
	k.timer.Reset(recheckEvery)
}

// verifyAgain returns why the caller of a request would not be let in now. The configuration may have changed since. That nothing
// can be found out is no reason.
func (g *Gateway) verifyAgain(name string, r *http.Request) *auth.Refusal {
	on := g.table.Load().named[name]
	if on == nil || on.access == nil {
		return nil
	}
	_, err := on.access.who.Authenticate(r)
	if err == nil {
		return nil
	}
	no := auth.RefusalOf(err)
	switch no.Record.Kind.Class() {
	case recourse.ClassAuth, recourse.ClassPermission:
		return no
	default:
		return nil
	}
}

// A lapse ends a call whose caller may not be let in any more.
type lapse struct{ no *auth.Refusal }

// Error implements error.
func (l *lapse) Error() string { return l.no.Error() }

// Unwrap says what it is to everybody who carries the call out: not the server's fault.
func (*lapse) Unwrap() error { return recourse.Cancelled() }

// lapsed returns why the caller may not be let in any more, if that has ended the call.
func (c *call) lapsed() *auth.Refusal {
	if c.ctx == nil || c.ctx.Err() == nil {
		return nil
	}
	if l, ok := context.Cause(c.ctx).(*lapse); ok { //nolint:errorlint // it is given as it is
		return l.no
	}
	return nil
}

// refuseLapsed returns the failure of a call whose caller may not be let in any more. Where nothing can have been done, it is that
// of the first request with such credentials, which has clients authenticate and call again. A call that may have changed
// something is not to be made again by itself: its client hears of that with the next one.
func (c *call) refuseLapsed(no *auth.Refusal) *failure {
	if !c.reply.started && c.member == nil && (c.out.attempts == 0 || c.rule.nature == retry.Reads) {
		return c.refuseAccess(no)
	}
	e := no.Record.WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone)
	if c.out.attempts > 0 && c.rule.nature != retry.Reads {
		e = e.WithEffect(recourse.EffectUnknown)
	}
	return &failure{e: e, at: contract.AtSession}
}
