package main

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/retry"
)

// A toolCall has the members of tools/call.
type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

const (
	// clientTimeout is how long an agent waits for an answer: as long as the TypeScript SDK does.
	clientTimeout = time.Minute
	// gatewayTimeout is how long the gateway waits for the server, as in docs/configuration.md.
	gatewayTimeout = 20 * time.Second
)

// A dealing calls the shop for an agent: directly, or through the gateway.
type dealing struct {
	shop    *shop
	gateway *gatewayModel // nil: it calls directly
	clock   *clock
}

// CallTool implements recovery.Session.
func (s *dealing) CallTool(_ context.Context, c toolCall) (json.RawMessage, error) {
	t := s.clock.running
	t.attempts++
	ends := s.clock.now.Add(clientTimeout)
	if t.deadline.Before(ends) {
		ends = t.deadline
	}
	var result json.RawMessage
	var err error
	if s.gateway != nil {
		result, err = s.gateway.call(c, ends)
	} else {
		result, err = s.direct(c, ends)
	}
	if s.clock.now.After(ends) {
		return nil, context.DeadlineExceeded
	}
	return result, err
}

// direct calls the shop itself, whose failures are texts.
func (s *dealing) direct(c toolCall, ends time.Time) (json.RawMessage, error) {
	a := s.shop.call(c)
	if a.fault == nil {
		return a.result, nil
	}
	switch a.fault.Fault {
	case faultLost:
		s.clock.until(ends)
		return nil, context.DeadlineExceeded
	case faultReset:
		return nil, io.ErrUnexpectedEOF
	case faultUnavailable:
		return failed("Error: Request failed with status code 503"), nil
	case faultLimited:
		return failed("Error: Request failed with status code 429"), nil
	default:
		return failed("Internal error"), nil
	}
}

func failed(text string) json.RawMessage {
	return json.RawMessage(`{"content":[{"type":"text","text":"` + text + `"}],"isError":true}`)
}

// A gatewayModel is a model of the real one: it repeats what is safe to repeat, and writes failures as the contract says.
type gatewayModel struct {
	shop     *shop
	clock    *clock
	contract *contract.Contract
	policy   retry.Policy
	budget   retry.Budget
	once     map[string]*sentOnce // by order; nil: every call is sent
}

func newGateway(s *shop, c *contract.Contract, random func() float64) *gatewayModel {
	return &gatewayModel{
		shop: s, clock: s.clock, contract: c,
		policy: retry.Policy{Attempts: 3, Start: 100 * time.Millisecond, Factor: 2, Jitter: 0.5, Random: random},
	}
}

// call calls the shop for a caller who gives up at gone.
func (g *gatewayModel) call(c toolCall, gone time.Time) (json.RawMessage, error) {
	if g.once != nil && !g.contract.Reads(c.Name) {
		return g.callOnce(c, gone)
	}
	result, e, err := g.send(c, gone)
	if e != nil {
		result = g.write(c, e)
	}
	return result, err
}

// send sends a call, and repeats it where that is safe. It returns the answer, the failure, or that the caller has gone.
func (g *gatewayModel) send(c toolCall, gone time.Time) (json.RawMessage, *recourse.Error, error) {
	ends := g.clock.now.Add(gatewayTimeout)
	nature := retry.Writes
	if g.contract.Reads(c.Name) {
		nature = retry.Reads
	}
	g.budget.Call()
	for attempt := 1; ; attempt++ {
		a := g.shop.call(c)
		if a.fault == nil {
			return a.result, nil, nil
		}
		if a.fault.Fault == faultLost && gone.Before(ends) {
			g.clock.until(gone)
			return nil, nil, context.DeadlineExceeded
		}
		if a.fault.Fault == faultLost {
			g.clock.until(ends)
		}
		e := failure(a)
		e = e.WithEffect(retry.Effect(e, nature))
		d := g.policy.Decide(e, nature, attempt, ends.Sub(g.clock.now))
		if d.Repeat && g.clock.now.Add(d.Wait).After(gone) {
			g.clock.until(gone)
			return nil, nil, context.DeadlineExceeded
		}
		if !d.Repeat || !g.budget.Take() {
			return nil, e, nil
		}
		g.clock.until(g.clock.now.Add(d.Wait))
	}
}

// failure returns the record of an explicit fault.
func failure(a shopAnswer) *recourse.Error {
	switch a.fault.Fault {
	case faultLost:
		return recourse.Timeout("The shop", gatewayTimeout).WithOrigin(recourse.OriginGateway)
	case faultReset:
		return recourse.Unreachable("The shop").WithOrigin(recourse.OriginGateway)
	case faultUnavailable:
		return recourse.Unavailable("The shop").WithRetryAfter(a.wait)
	case faultLimited:
		return recourse.RateLimited(a.wait).WithProvider("The shop")
	default: // it was never sent
		return recourse.Unreachable("The shop").WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).WithRetryAfter(a.wait)
	}
}

// write writes a failure as the contract says.
func (g *gatewayModel) write(c toolCall, e *recourse.Error) json.RawMessage {
	about := &contract.Call{Method: "tools/call", Tool: c.Name, Arguments: c.Arguments, At: contract.AtTool, Now: g.clock.Now}
	if v := g.contract.VerifyFor(about); v != nil && e.Effect == recourse.EffectUnknown {
		e = e.WithVerify(*v)
	}
	return g.contract.Write(e, about).Result
}
