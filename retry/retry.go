// Package retry decides whether a failed call is made again: only if that is proven to be safe,
// never before the stated wait, and within a budget.
//
// A call is safe to repeat if it did not take effect (it was never sent, or it was
// refused), if its tool only reads, or if its tool is idempotent. Nothing else is: a
// write that may have happened is settled by a verify call, not by a second write.
//
// The package is pure: it neither waits nor sends. The loop is the caller's:
//
//	e = e.WithEffect(retry.Effect(e, nature))
//	d := policy.Decide(e, nature, attempt, time.Until(deadline))
//	if d.Repeat && budget.Take() {
//		// wait for d.Wait, then call again
//	}
//
// A [Policy] says how often to retry and how long to wait; a [Budget] bounds the load that
// retries add to a failing server, over all calls.
package retry

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/recoursehq/recourse"
)

// Nature says what a tool does to the world. The zero value, which writes, must be assumed for
// an unknown tool.
type Nature int

// The natures.
const (
	Writes     Nature = iota
	Idempotent        // writes; twice has the effect of once
	Reads
)

// String returns the word for n.
func (n Nature) String() string {
	switch n {
	case Reads:
		return "reads"
	case Idempotent:
		return "idempotent"
	case Writes:
		return "writes"
	default:
		return "writes"
	}
}

// Effect returns whether a failed call of a tool of that nature changed anything. What e states
// counts, but a tool that only reads has no effect, whatever e says. If e states nothing,
// failures that occur before the work (of class protocol, input, auth, permission, resource,
// state, allowance or data, not implemented, or for a person to set right at the server first) have
// no effect; the effect of any other is unknown.
//
// Whether e is believed is for the caller to decide: of a server that is not trusted, an effect so derived has
// [recourse.BasisStated].
func Effect(e *recourse.Error, nature Nature) recourse.Effect {
	if nature == Reads {
		return recourse.EffectNone
	}
	if e.Effect != "" {
		return e.Effect
	}
	if e.Kind == recourse.KindPartial {
		return recourse.EffectApplied
	}
	switch e.Kind.Class() {
	case recourse.ClassProtocol, recourse.ClassInput, recourse.ClassAuth, recourse.ClassPermission,
		recourse.ClassResource, recourse.ClassState, recourse.ClassAllowance, recourse.ClassData:
		return recourse.EffectNone
	default:
	}
	if e.Kind == recourse.KindNotImplemented || e.Retry == recourse.RetryAfterSetup {
		return recourse.EffectNone
	}
	return recourse.EffectUnknown
}

// Policy bounds the retries of a call. The zero value allows none.
type Policy struct {
	// Attempts is the maximum number of times that one call is sent, including the first.
	Attempts int
	// Start is the wait before the first retry. Each later wait is Factor times as long; less
	// than 1 counts as 1. For a rate limit without a stated wait, Start is at least a second.
	Start  time.Duration
	Factor float64
	// Jitter is the largest random addition to a wait, as a fraction of it, such as 0.5.
	Jitter float64
	// JitterMax is the largest random time added to any wait, from retry JitterFrom on; the
	// first retry is 1.
	JitterMax  time.Duration
	JitterFrom int
	// GrowStated says that a wait stated by a failure replaces Start and
	// grows with Factor. Otherwise a stated wait is only a minimum.
	GrowStated bool
	// Random returns a number in [0, 1); nil means rand.Float64 of math/rand/v2.
	Random func() float64
}

// Decision says whether to make a call again.
type Decision struct {
	Repeat bool
	// Wait is how long to wait before the retry.
	Wait time.Duration
	// Verify is the call that settles whether the failed one took effect. It is set only if that
	// is why the call is not repeated, and there is such a call.
	Verify *recourse.Verify
	// Reason says why, for the log.
	Reason string
}

// Decide says whether to repeat a call that failed with e. attempt is the number of attempts so
// far, at least 1. left is the time until the call's deadline: the call is not repeated if the
// wait is not shorter. e must state its effect, see [Effect]; that nothing was changed counts only as far as it is
// known, see [recourse.Error.KnownEffect].
func (p Policy) Decide(e *recourse.Error, nature Nature, attempt int, left time.Duration) Decision {
	advice := e.WithEffect(recourse.EffectNone).RetryAdvice() // apart from the effect
	effect := e.KnownEffect()
	safe := effect == recourse.EffectNone || nature != Writes
	switch {
	case effect == recourse.EffectUnknown && !safe:
		return Decision{Reason: unsafe, Verify: e.Verify}
	case advice != recourse.RetrySameCall:
		return Decision{Reason: fmt.Sprintf("%s: the same call would fail again", e.Kind)}
	case !safe:
		return Decision{Reason: unsafe, Verify: e.Verify}
	case attempt >= p.Attempts:
		return Decision{Reason: fmt.Sprintf("gave up after %d attempts", attempt)}
	}
	wait := p.Wait(e, attempt)
	if wait >= left {
		return Decision{Reason: fmt.Sprintf("the wait of %s is longer than the %s that are left",
			recourse.FormatWait(wait), recourse.FormatWait(max(left, 0)))}
	}
	return Decision{Repeat: true, Wait: wait, Reason: reason(nature)}
}

const unsafe = "the call may have taken effect: a repetition might do it twice"

func reason(nature Nature) string {
	if nature == Writes {
		return "the call did not take effect"
	}
	return "the tool " + map[Nature]string{Reads: "only reads", Idempotent: "is idempotent"}[nature]
}

// Wait returns the wait before a call that failed with e in its attempt-th attempt (from 1) is
// made again: a stated wait is a minimum, and jitter only adds to it.
func (p Policy) Wait(e *recourse.Error, attempt int) time.Duration {
	start := p.Start
	switch {
	case e.RetryAfter > 0 && p.GrowStated:
		start = e.RetryAfter
	case e.RetryAfter == 0 && e.Kind == recourse.KindRateLimited:
		start = max(start, time.Second)
	}
	backoff := float64(start) * math.Pow(max(p.Factor, 1), float64(attempt-1))
	random := rand.Float64
	if p.Random != nil {
		random = p.Random
	}
	backoff += backoff * p.Jitter * random()
	if attempt >= p.JitterFrom {
		backoff += float64(p.JitterMax) * random()
	}
	return max(e.RetryAfter, time.Duration(min(backoff, float64(recourse.MaxWait))))
}
