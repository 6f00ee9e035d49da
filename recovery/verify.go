package recovery

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
	internaljson "github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/retry"
)

// verify settles what became of a write with an unknown effect, or of one that would be repeated if only its effect
// were more than a server's word. It returns the verify call's result if the write has landed, and otherwise the failure,
// with its effect if that is now known.
func (x *errand) verify(e *recourse.Error) (*recourse.Error, json.RawMessage) {
	if !x.isOpen(e) {
		return e, nil
	}
	call := x.verifyCall(e)
	if call == nil {
		return e, nil
	}
	arguments, err := json.Marshal(call.Args)
	if err != nil {
		return e, nil
	}
	// The write may still be on its way.
	if wait := x.policy.Wait(e, 1); wait >= x.left() || !x.wait(wait, "the write may be on its way") {
		return e, nil
	}
	result, known := x.lookUp(*call, arguments)
	if !known {
		return e, nil
	}
	landed, known := x.judge(Verification{Tool: x.tool, Arguments: x.arguments, Failure: e, Verify: *call, Result: result})
	reason := "it stays open whether the write has landed"
	switch {
	case landed:
		reason = "the write has landed"
	case known:
		reason = "the write has not landed"
		e = e.WithEffect(recourse.EffectNone).WithEffectBasis(recourse.BasisKnown).WithRetry(recourse.RetrySameCall)
	}
	x.note(Step{Action: ActionDecide, Began: x.now(), Failure: e, Reason: reason})
	if !landed {
		return e, nil
	}
	x.options.server.forget()
	if result == nil {
		result = json.RawMessage(`{"content":[]}`)
	}
	return e, result
}

// isOpen reports whether something depends on what became of the call.
func (x *errand) isOpen(e *recourse.Error) bool {
	if e.Effect == recourse.EffectUnknown {
		return true
	}
	return e.KnownEffect() == recourse.EffectUnknown && e.RetryAdvice() == recourse.RetrySameCall && x.natureOf(x.tool) == retry.Writes
}

// verifyCall returns the call that settles what became of this one: the failure's own, or else the contract's, or else one
// that a hint gives with its arguments. Its tool must only read. An untrusted server could name a call that finds nothing: only
// the contract's counts.
func (x *errand) verifyCall(e *recourse.Error) *recourse.Verify {
	calls := []*recourse.Verify{x.contract.VerifyFor(x.contractCall())}
	if !x.doubts(x.tool) {
		calls = x.named(e, calls[0])
	}
	for _, v := range calls {
		if v != nil && x.mayAsk(v.Tool) {
			return x.filled(v)
		}
	}
	return nil
}

// named returns the calls that may settle what became of this one, the contract's own among them: the failure's first, and those of
// its hints last.
func (x *errand) named(e *recourse.Error, own *recourse.Verify) []*recourse.Verify {
	calls := []*recourse.Verify{e.Verify, own}
	for _, a := range Advised(x.contract, e) {
		call := &recourse.Verify{Tool: a.Tool}
		if err := json.Unmarshal(a.Arguments, &call.Args); err == nil && len(call.Args) > 0 {
			calls = append(calls, call)
		}
	}
	return calls
}

// filled returns v with the arguments that a gateway may not show, taken from the call's own: as the contract's own call,
// if that is the same one.
func (x *errand) filled(v *recourse.Verify) *recourse.Verify {
	if len(v.From) == 0 {
		return v
	}
	if own := x.contract.VerifyFor(x.contractCall()); own != nil && own.Tool == v.Tool && len(own.From) == 0 {
		return own
	}
	return contractform.Fill(v, internaljson.Value(x.arguments))
}

// mayAsk reports whether a call named by the server is allowed: the server has that tool, and it only reads.
func (x *errand) mayAsk(tool string) bool {
	_, listed := x.options.tools[tool]
	return (listed || x.options.tools == nil) && x.natureOf(tool) == retry.Reads
}

// lookUp makes the verify call until it is answered, and returns its result, or nil if it says that there is no such thing.
func (x *errand) lookUp(v recourse.Verify, arguments json.RawMessage) (result json.RawMessage, known bool) {
	for attempt := 1; ; attempt++ {
		result, failure := x.try(ActionVerify, v.Tool, arguments)
		if failure == nil {
			return result, true
		}
		e, ok := failure.(*recourse.Error)
		switch {
		case !ok:
			return nil, false
		case errors.Is(e, recourse.KindNotFound):
			return nil, true
		}
		d := x.policy.Decide(x.settled(e, v.Tool), retry.Reads, attempt, x.left())
		if !d.Repeat || !x.options.server.budget.Take() || !x.wait(d.Wait, d.Reason) {
			return nil, false
		}
	}
}

// judge says whether a write took effect, by the contract or else by the caller's hook, and whether that is known.
func (x *errand) judge(v Verification) (landed, known bool) {
	own := x.contract.VerifyFor(x.contractCall())
	data := dataOf(v.Result)
	if own != nil && own.String() == v.Verify.String() && (data != nil || v.Result == nil) {
		if landed, known = x.contract.Landed(&contract.Call{Tool: v.Tool, Arguments: v.Arguments}, data); known {
			return landed, true
		}
	}
	if x.options.hooks.Landed == nil {
		return false, false
	}
	var judged bool
	known = x.hook(ActionDecide, v.Failure, func(ctx context.Context) (err error) {
		judged, err = x.options.hooks.Landed(ctx, v)
		return err
	})
	return known && judged, known
}
