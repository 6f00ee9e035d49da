package gateway

import (
	"errors"
	"net/netip"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/config"
	door "github.com/recoursehq/recourse/internal/endpoint"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/limit"
	"github.com/recoursehq/recourse/internal/secret"
	"github.com/recoursehq/recourse/internal/upstream"
)

// throttle lets the call of a tool pass unless one of the endpoint's limits is exceeded. The server never
// sees a call that is refused, and no limit counts it.
//
// A call that has passed counts in all windows, whatever becomes of it, with two exceptions: a call that was
// never sent, and one that failed through the caller's own mistake.
func throttle(c *call, next next) error {
	l := c.on.limits
	if l == nil || !c.req.isCall() || !c.req.asks() {
		return next(c)
	}
	a, counted := &c.out.allowance, limited{c}
	defer a.Leave(c.g.counting)
	var e *recourse.Error
	if c.on.manner.acts() { // else nothing waits
		e = a.Enter(c.ctx, c.g.counting, l, counted)
	}
	now := time.Now() // also the time in the headers of a refusal
	if e == nil {
		e = a.Charge(c.ctx, c.table.counter, l, counted, now)
	}
	if e != nil {
		if err := c.reply.manner.object(c, e); err != nil {
			limits.TellRefusal(c.reply.header(), e, now)
			return err
		}
		return next(c)
	}
	if !a.Counts() {
		return next(c)
	}
	if l.Headers {
		a.TellRemaining(c.reply.header())
		c.reply.limits = true
	}
	err := next(c)
	if c.isFree(err) {
		c.giveBack()
	}
	return err
}

// isFree reports whether a call that ended with err is not counted. The server is believed if it says that
// the caller made a mistake: limits protect the server itself.
func (c *call) isFree(err error) bool {
	e, ok := errors.AsType[*recourse.Error](err)
	if !ok {
		return false
	}
	class := e.Kind.Class()
	return c.out.Sent == 0 || class == recourse.ClassInput || class == recourse.ClassProtocol
}

// giveBack takes the call out of all windows, once.
func (c *call) giveBack() {
	a := &c.out.allowance
	if a.GiveBack(c.ctx, c.table.counter) && c.on.limits.Headers && !c.reply.started {
		a.TellRemaining(c.reply.header())
	}
}

// limited is a call as limits see it.
type limited struct{ *call }

func (c limited) Tool() string { return c.req.msg.Name }

// Key implements [limits.Call].
//
// A caller who was not verified is identified by the forwarded credentials, which the server checks, and
// otherwise by the address: anything that nobody checks could be changed with each call for free.
func (c limited) Key(of *config.Limit) limit.Key {
	var key limit.Key
	for _, by := range of.By {
		switch by {
		case config.LimitByTool:
			key.Tool = c.req.msg.Name
		case config.LimitByAddress:
			key.Address = c.address()
		case config.LimitByOrg:
			if key.Org = c.who.verified.Org; key.Org == "" {
				c.setCaller(&key)
			}
		case config.LimitByCaller:
			c.setCaller(&key)
		case config.LimitByServer:
		}
	}
	return key
}

// address returns the part of the client's address that limits count by.
func (c limited) address() netip.Addr { return door.Counted(c.table.proxies.Client(c.req.http)) }

func (c limited) setCaller(key *limit.Key) {
	if who := &c.who.verified; who.Known() {
		key.Access, key.Name = who.Access, who.Name
		return
	}
	var sent []string
	for _, name := range c.on.forward {
		if name == "Cookie" || secret.Name(name) { // it identifies the client
			for _, value := range c.req.http.Header[name] {
				sent = append(sent, name, value)
			}
		}
	}
	if sent == nil {
		key.Address = c.address()
	} else {
		key.Digest = upstream.CallerOf(sent...)
	}
}
