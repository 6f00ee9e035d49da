package limits

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/policy/limit"
)

// busyWait is the Retry-After when it is unknown when there will be room again.
const busyWait = time.Second

// Counted is a call that limits count.
type Counted struct {
	Payer

	Tool string
}

// A Payer is what limits tell callers apart by.
type Payer struct {
	Verified *authn.Identity // by access control; not known: nobody was verified
	// Credentials is a digest of an unverified caller's credentials, which the server checks; zero: there are none.
	Credentials [32]byte
	Address     netip.Addr // as it is counted
}

// key returns the key under which a limit counts the call together with others.
func (c *Counted) key(of *config.Limit) limit.Key {
	var key limit.Key
	for _, by := range of.By {
		switch by {
		case config.LimitByTool:
			key.Tool = c.Tool
		case config.LimitByAddress:
			key.Address = c.Address
		case config.LimitByOrg:
			if key.Org = c.Verified.Org; key.Org == "" {
				c.identify(&key)
			}
		case config.LimitByCaller:
			c.identify(&key)
		case config.LimitByServer:
		}
	}
	return key
}

// identify adds the caller to a key. One who was not verified is identified by credentials that the server checks,
// and otherwise by the address: anything that nobody checks could be changed with each call for free.
func (who *Payer) identify(key *limit.Key) {
	switch {
	case who.Verified.Known():
		key.Access, key.Name = who.Verified.Access, who.Verified.Name
	case who.Credentials != [32]byte{}:
		key.Digest = who.Credentials
	default:
		key.Address = who.Address
	}
}

// An Allowance is what a call uses of its endpoint's limits. The zero value has used nothing.
type Allowance struct {
	Refused string // the name of the limit that refused the call

	charges []limit.Charge // one for each of rates
	rates   []*rate
	inside  []admission // the gates that the call has passed

	at    time.Time // when they were charged
	given bool      // they have been given back
}

// An admission is a call's right to be in progress.
type admission struct {
	gate *gate
	key  limit.Key
}

// Clear resets a for another call, and only keeps its memory.
func (a *Allowance) Clear() {
	clear(a.charges)
	clear(a.rates)
	clear(a.inside)
	*a = Allowance{charges: a.charges[:0], rates: a.rates[:0], inside: a.inside[:0]}
}

// Counts reports whether the call has been charged.
func (a *Allowance) Counts() bool { return len(a.charges) > 0 }

// Enter waits until the call may proceed, or returns why it may not. waits is called before each wait, and its
// result after that.
func (a *Allowance) Enter(ctx context.Context, n *Counting, l *Limits, c *Counted, waits func() (waited func())) *recourse.Error {
	for i := range l.gates {
		g := &l.gates[i]
		if !g.Counts(c.Tool) {
			continue
		}
		key, waited := c.key(g.Limit), waits()
		err := n.gate.Enter(ctx, &g.bound, key)
		waited()
		if err != nil {
			a.Refused = g.Name
			return crowded(g, key, err)
		}
		a.inside = append(a.inside, admission{g, key})
	}
	return nil
}

// Leave ends the call's right to be in progress.
func (a *Allowance) Leave(n *Counting) {
	for _, at := range a.inside {
		n.gate.Leave(&at.gate.bound, at.key)
	}
	a.inside = a.inside[:0]
}

func crowded(g *gate, key limit.Key, err error) *recourse.Error {
	why := "and the queue is full"
	if !errors.Is(err, limit.ErrFull) {
		why = "and none of them ended in time"
	}
	return recourse.RateLimited(busyWait).WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).
		WithMessage("The limit of %s at the same time has been reached, %s.", callsOf(int64(g.AtOnce)), why).
		With(func(r *recourse.Error) {
			r.Quotas = []recourse.Quota{{Policy: g.Name, Limit: int64(g.AtOnce), Partition: partition(key)}}
		}).CausedBy(err)
}

// Charge counts the call in all windows, or returns why it may not pass.
func (a *Allowance) Charge(ctx context.Context, counter limit.Counter, l *Limits, c *Counted, now time.Time) *recourse.Error {
	for i := range l.rates {
		if r := &l.rates[i]; r.Counts(c.Tool) {
			a.add(r, c)
		}
	}
	if len(a.charges) == 0 {
		return nil
	}
	a.at = now
	ok, err := counter.Take(ctx, now, a.charges)
	switch {
	case err != nil:
		return recourse.New(recourse.KindUnavailable, "The gateway cannot check its limits at the moment, so it refuses all calls.").
			WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).WithRetry(recourse.RetrySameCall).
			WithRetryAfter(busyWait).CausedBy(err)
	case ok:
		return nil
	}
	return a.exceeded()
}

func (a *Allowance) add(r *rate, c *Counted) {
	a.charges = append(a.charges, limit.Charge{Window: &r.window, Key: c.key(r.Limit)})
	a.rates = append(a.rates, r)
}

// Left returns what a caller has left in each window, without using any of it. Limits of single tools are not among them.
func Left(ctx context.Context, counter limit.Counter, l *Limits, who Payer, now time.Time) ([]recourse.Quota, error) {
	a, c := Allowance{at: now}, &Counted{Payer: who}
	for i := range l.rates {
		if r := &l.rates[i]; len(r.Tools) == 0 && !slices.Contains(r.By, config.LimitByTool) {
			a.add(r, c)
		}
	}
	if len(a.charges) == 0 {
		return nil, nil
	}
	if err := counter.Look(ctx, now, a.charges); err != nil {
		return nil, err
	}
	return a.quotas(), nil
}

// exceeded returns the refusal of a call for which a window has no room. The window that has room last
// decides.
func (a *Allowance) exceeded() *recourse.Error {
	binding := -1
	for i := range a.charges {
		if a.charges[i].Full() && (binding < 0 || a.charges[i].Reset > a.charges[binding].Reset) {
			binding = i
		}
	}
	a.Refused = a.rates[binding].Name
	quotas := []recourse.Quota{a.quota(binding)}
	for i := range a.charges {
		if i != binding {
			quotas = append(quotas, a.quota(i))
		}
	}
	kind := recourse.KindRateLimited
	if a.charges[binding].Window.Length >= day {
		kind = recourse.KindQuotaExhausted
	}
	w := a.charges[binding].Window
	return recourse.New(kind, "").WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).
		WithMessage("The limit of %s in %s has been reached.", callsOf(w.Calls), recourse.FormatWait(w.Length)).
		With(func(r *recourse.Error) {
			// Whole seconds, so that all forms of the wait agree.
			r.Quotas, r.RetryAfter = quotas, (quotas[0].ResetAt.Sub(a.at) + time.Second - 1).Truncate(time.Second)
		})
}

const day = 24 * time.Hour

func (a *Allowance) quotas() []recourse.Quota {
	all := make([]recourse.Quota, len(a.charges))
	for i := range all {
		all[i] = a.quota(i)
	}
	return all
}

func (a *Allowance) quota(i int) recourse.Quota {
	charge, r := &a.charges[i], a.rates[i]
	return recourse.Quota{
		Policy: r.Name, Limit: r.window.Calls, Window: r.window.Length, Remaining: charge.Remaining,
		ResetAt: a.at.Add(charge.Reset + time.Millisecond - 1).Truncate(time.Millisecond), Partition: partition(charge.Key),
	}
}

// GiveBack takes the call out of all windows, once. It reports false if there was nothing to give back.
func (a *Allowance) GiveBack(ctx context.Context, counter limit.Counter) bool {
	if a.given || len(a.charges) == 0 {
		return false
	}
	a.given = true
	counter.Give(ctx, a.charges)
	for i := range a.charges {
		a.charges[i].Remaining++
	}
	return true
}

// TellRemaining writes headers with what remains after a call that has passed. The single values are those of
// the shortest window.
func (a *Allowance) TellRemaining(h http.Header) {
	quotas, shortest := a.quotas(), 0
	for i := range quotas {
		if quotas[i].Window < quotas[shortest].Window {
			shortest = i
		}
	}
	tell(h, quotas, shortest, a.at, a.at)
}

// partition returns whose allowance is counted under a key, as far as that is known.
func partition(key limit.Key) string {
	known := slices.DeleteFunc([]string{key.Org, key.Name, key.Tool}, func(part string) bool { return part == "" })
	return strings.Join(known, " ")
}

func callsOf(n int64) string {
	if n == 1 {
		return "1 call"
	}
	return strconv.FormatInt(n, 10) + " calls"
}
