package gateway

import (
	"cmp"
	stdjson "encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/argument"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/retry"
)

// What the gateway says of a failed call in its own voice it knows by itself: whether the
// call was sent, by the transport; whether it was refused, by the HTTP status and the
// codes of the protocol (the reader leaves nothing else in a record's effect, unless the
// server is trusted); what the tool does to the world, by the entry, the contract and
// trusted annotations. The rest is the server's word, and is told as such.

// settle completes a failure by what the gateway knows of the call, and masks it.
func (c *call) settle(e *recourse.Error) *recourse.Error {
	cause := e.Cause()
	e = c.masker().Error(e)
	return e.With(func(r *recourse.Error) {
		r.Effect = c.effect(e)
		if r.Kind == recourse.KindUnknownSession && (c.session != nil || c.out.last.answered) && !c.out.last.lost {
			// The session is there. A client that was told otherwise would open another, and call again.
			r.Kind, r.Code, r.Contract = recourse.KindClientError, "", ""
		}
		c.ownID(r)
		r.RequestID = c.req.id
		if r.Provider == "" && r.Kind.Class() == recourse.ClassUpstream {
			r.Provider = c.to.Title
		}
		r.Failed = c.settleItems(r.Failed)
		if !c.to.Trusted {
			r.Verify = c.verifyOf(r.Verify)
		}
		if r.Effect == recourse.EffectUnknown && r.Verify == nil {
			r.Verify = c.keptVerify()
		}
	}).CausedBy(cause)
}

// ownID has a record that names a request name the gateway's: there is one id for a call,
// which every log and answer on its way has, whoever is trusted. What the server calls it is
// of use to the server only.
func (c *call) ownID(r *recourse.Error) {
	if r.RequestID != "" && r.RequestID != c.req.id {
		r.Upstream.RequestID = cmp.Or(r.Upstream.RequestID, r.RequestID)
		r.RequestID = c.req.id
	}
}

// settleItems settles the items of a call that has failed in part: which of them can be
// repeated is no more the server's to say than for the whole, unless it is trusted.
func (c *call) settleItems(items []recourse.Failed) []recourse.Failed {
	items = slices.Clone(items)
	for i, item := range items {
		if item.Error == nil {
			continue
		}
		items[i].Error = item.Error.With(func(r *recourse.Error) {
			c.ownID(r)
			r.Failed = c.settleItems(r.Failed)
			if c.to.Trusted {
				return
			}
			if effect := c.effect(item.Error); effect == recourse.EffectUnknown {
				r.Effect = effect
			}
			r.Verify = c.verifyOf(r.Verify)
		})
	}
	return items
}

// verifyOf returns the call that a server names as the one that settles an effect, if
// the tool is known to read.
func (c *call) verifyOf(v *recourse.Verify) *recourse.Verify {
	if v == nil {
		return nil
	}
	var listed *listedTool
	if c.rule.list != nil {
		if listed = c.rule.list.tools[v.Tool]; listed == nil {
			return nil
		}
	}
	if c.natureOf(v.Tool, c.to.Tool(v.Tool), listed) != retry.Reads {
		return nil
	}
	return v
}

// effect returns whether the call changed anything. Of what is not known to the gateway
// itself a server that is trusted is believed: on what it states, and on what follows
// from the kind of its failure.
func (c *call) effect(e *recourse.Error) recourse.Effect {
	switch {
	case c.out.attempts == 0, c.rule.nature == retry.Reads:
		return recourse.EffectNone // nothing was sent, or there is nothing that it could change
	case c.to.Trusted, e.Effect != "", e.Kind == recourse.KindPartial:
		return retry.Effect(e, c.rule.nature)
	default:
		return recourse.EffectUnknown
	}
}

// mayRepeat reports whether a call that had no effect may be made again: it was not sent,
// or the HTTP status itself says that it is a matter of time. That a server says so in
// words is enough where nothing is written, or where the server is trusted.
func (c *call) mayRepeat() bool {
	return c.rule.nature != retry.Writes || c.to.Trusted || c.out.last.status == 0 || c.out.last.status == http.StatusTooManyRequests
}

// keptVerify returns the call that settles whether this one took effect: by the entry, else
// by the contract that the server keeps where the one that clients see names none.
func (c *call) keptVerify() *recourse.Verify {
	switch {
	case c.rule.Verify != nil:
		return verifyOf(c.rule.Verify, c.req.msg.Arguments, c.shows)
	case c.to.weak != nil && !c.on.contract.Writes(c.req.msg.Name):
		return c.to.weak.VerifyFor(&contract.Call{
			Tool: c.req.msg.Name, Arguments: stdjson.RawMessage(c.req.msg.Arguments), Shows: c.shows,
		})
	default:
		return nil
	}
}

// verifyOf fills in the call that settles whether a failed call took effect, from
// that call's arguments.
func verifyOf(rule *config.Verify, arguments json.Value, shows func([]byte) bool) *recourse.Verify {
	v := &recourse.Verify{Tool: rule.Call, LookAt: rule.Look}
	for _, name := range slices.Sorted(maps.Keys(rule.Args)) {
		if value := argument.Shown(arguments, rule.Args[name]); value != nil && shows(value) {
			v.Args = v.Args.With(name, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rule.With)) {
		v.Args = v.Args.With(name, rule.With[name])
	}
	return v
}

// shows reports whether a value of the call's arguments may stand in a call that is
// advised: nothing of it is what the server's entry, or its contract, has masked.
func (c *call) shows(value []byte) bool {
	return c.masker().String(string(value)) == string(value)
}
