package toolcall

import (
	"cmp"
	stdjson "encoding/json"
	"slices"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/retry"
)

// A Call is a failed call, with what the program that carries it out knows about it. Any other request is one
// as well: of a tool without a name.
type Call struct {
	Listed

	ID        string // of the request
	Method    string
	Name      string // of the tool
	Arguments json.Value
	Contract  *contract.Contract // that the client sees
	Masker    func() *redact.Masker

	Nature   retry.Nature
	Assumed  bool // nobody who is trusted says what the tool does: that it writes is an assumption
	Profiled bool // only the server's profile says what the tool does
	Ran      bool // the tool may have started
	Wrote    bool // and something is known to have been written for it
	Doubt    bool // or may have been, by an earlier attempt
	Broke    bool // by the status of its answer, the server failed: what else the answer says settles nothing

	// Relays says that another program has carried the call out, Title what it is called, and InSession that it knows
	// the client's session.
	Relays    bool
	Title     string
	InSession bool
	// Trusted says that records are trusted about their effect and the call that verifies it.
	Trusted bool
	// Reads reports whether a tool only reads, where t is its entry in the list; it is used if records are
	// not trusted.
	Reads func(name string, t *Entry) bool

	// Verify is the call that settles whether this one took effect, and Kept the contract that names one if
	// neither Verify nor Contract does. Both may be nil.
	Verify *Verification
	Kept   *contract.Contract
}

// Effect returns whether the call changed anything, and on what that rests: for a program that is not trusted, what
// the protocol says is known, and what follows from its words, or from what the tool says about itself, is only
// stated.
func (c *Call) Effect(e *recourse.Error) (recourse.Effect, recourse.Basis) {
	switch {
	case c.Ran && c.Nature == retry.Reads && c.Profiled:
		return recourse.EffectNone, recourse.BasisProfile
	case !c.Ran || c.Nature == retry.Reads: // nothing has started, or there is nothing that it could change
		return recourse.EffectNone, recourse.BasisKnown
	}
	effect, basis := c.stated(e)
	earlier := c.Wrote && (e.Effect == "" || e.Origin == recourse.OriginProvider) // a provider only speaks of a single request
	if effect == recourse.EffectNone && (c.Doubt || earlier) {
		return recourse.EffectUnknown, "" // this request did nothing, but an earlier one may have
	}
	return effect, basis
}

// stated returns the effect by what e says.
func (c *Call) stated(e *recourse.Error) (recourse.Effect, recourse.Basis) {
	effect := retry.Effect(e, c.Nature)
	switch {
	case e.Kind == recourse.KindClientError && e.Effect == "": // refused, for whatever reason
		return recourse.EffectNone, recourse.BasisStated
	case c.Trusted, e.Effect == recourse.EffectNone && e.EffectBasis != recourse.BasisStated:
		return effect, basisOf(effect, e.EffectBasis)
	case c.saysReads() && (e.Effect == "" || e.Origin == recourse.OriginGateway) && !broken(e) && !c.Broke:
		return recourse.EffectNone, recourse.BasisStated
	case effect == recourse.EffectNone && (c.Broke || c.isLater(e)):
		return recourse.EffectUnknown, ""
	case effect != recourse.EffectUnknown: // by the kind
		return effect, recourse.BasisStated
	default:
		return effect, ""
	}
}

// saysReads reports whether the tool's own annotations say that it only reads, and nobody here says anything.
func (c *Call) saysReads() bool { return c.Assumed && c.Tool != nil && c.Tool.ReadOnly }

// broken reports whether a call never got a proper answer. What a tool says about itself does not count then: it said how it
// works, and it did not work.
func broken(e *recourse.Error) bool { return e.Kind.Class() == recourse.ClassUpstream }

// basisOf returns the basis of an effect that is believed, where said is what the failure says of it.
func basisOf(effect recourse.Effect, said recourse.Basis) recourse.Basis {
	if effect == recourse.EffectUnknown {
		return ""
	}
	return cmp.Or(said, recourse.BasisKnown)
}

// Settle completes a failure with what is known about the call, and masks it.
func (c *Call) Settle(e *recourse.Error) *recourse.Error {
	e = c.brokenJSON(c.ownData(e))
	settled := e
	if c.Relays || len(c.Contract.Mask) > 0 {
		settled = c.Masker().Error(e)
	}
	return settled.With(func(r *recourse.Error) {
		r.Effect, r.EffectBasis = c.Effect(e)
		c.ownFile(r, e.Resource)
		c.identify(r)
		r.RequestID = cmp.Or(r.RequestID, c.ID)
		if r.Kind == recourse.KindUnknownSession && c.InSession {
			// The session exists. A client that was told otherwise would open another one, and call again.
			r.Kind, r.Code, r.Contract = recourse.KindClientError, "", ""
		}
		if r.Provider == "" && r.Kind.Class() == recourse.ClassUpstream {
			r.Provider = c.Title
		}
		r.Failed = c.items(r.Failed)
		r.Verify = c.believed(r.Verify)
		if r.Effect == recourse.EffectUnknown && r.Verify == nil {
			r.Verify = c.verify()
		}
	}).CausedBy(e.Cause())
}

// identify replaces the request id in a record by the one that all logs on the way of a relayed call use. The
// other program's own id becomes a detail.
func (c *Call) identify(r *recourse.Error) {
	if c.Relays && r.RequestID != "" && r.RequestID != c.ID {
		r.Upstream.RequestID = cmp.Or(r.Upstream.RequestID, r.RequestID)
		r.RequestID = c.ID
	}
}

// items settles the items of a call that has failed in part: a program that is not trusted about the call is
// not trusted about its items.
func (c *Call) items(items []recourse.FailedItem) []recourse.FailedItem {
	items = slices.Clone(items)
	for i, item := range items {
		if item.Error == nil {
			continue
		}
		items[i].Error = item.Error.With(func(r *recourse.Error) {
			c.identify(r)
			r.Failed = c.items(r.Failed)
			if c.Trusted {
				return
			}
			if effect, basis := c.Effect(item.Error); effect != recourse.EffectNone || basis == recourse.BasisStated {
				r.Effect, r.EffectBasis = effect, basis
			}
			r.Verify = c.believed(r.Verify)
		})
	}
	return items
}

// believed returns the call that a record names as the one that settles its effect: for a program that is not
// trusted, only if the tool is known to read, and nobody here knows a call for that.
func (c *Call) believed(v *recourse.Verify) *recourse.Verify {
	switch {
	case v == nil, c.Trusted:
		return v
	case c.Verify != nil, c.Contract.Writes(c.Name), c.Kept != nil && c.Kept.Writes(c.Name):
		return nil
	}
	of := c.List.In(v.Tool)
	if of.List != nil && of.Tool == nil || !c.Reads(v.Tool, of.Tool) {
		return nil
	}
	return v
}

// verify returns the call that settles whether this one took effect, unless the contract
// itself names one.
func (c *Call) verify() *recourse.Verify {
	switch {
	case c.Verify != nil:
		return c.Verify.of(c.Arguments, c.shows)
	case c.Kept != nil && !c.Contract.Writes(c.Name):
		return c.Kept.VerifyFor(&contract.Call{
			Tool: c.Name, Arguments: stdjson.RawMessage(c.Arguments), Relay: contract.Relay{Shows: c.shows},
		})
	default:
		return nil
	}
}

// shows reports whether a value of the arguments may appear in a suggested call: no part of it is masked.
func (c *Call) shows(value []byte) bool {
	return c.Masker().String(string(value)) == string(value)
}

// Describe describes the call to the contract; at is where it was when it failed.
func (c *Call) Describe(at contract.At) *contract.Call {
	call := &contract.Call{
		Method: c.Method, Tool: c.Name, Arguments: stdjson.RawMessage(c.Arguments), At: at,
		Relay: contract.Relay{Shows: c.shows, Assumed: c.Assumed || c.Nature == retry.Idempotent},
	}
	if t := c.Tool; t != nil {
		call.OutputSchema, call.FormatArgument = t.OutputSchema, t.Takes(c.Contract.FormatArgument())
	}
	if list := c.List; list != nil {
		call.HasTool = func(name string) bool { return list.Tools[name] != nil }
	}
	return call
}
