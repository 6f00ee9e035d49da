package recovery

import (
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/retry"
)

// Policy returns the policy of a client that follows the retry rule of c
// ([contract.Contract.RetryRuleOrDefault]): a wait that a failure states replaces the rule's start.
func Policy(c *contract.Contract) retry.Policy {
	rule := c.RetryRuleOrDefault()
	return retry.Policy{
		Attempts: rule.Retries + 1, Start: rule.Start, Factor: rule.Factor,
		JitterMax: rule.JitterMax, JitterFrom: rule.JitterFrom, GrowStated: true,
	}
}

// Settle completes a failure with what its contract says: its retry advice, if the failure states none, and its
// effect on a tool of that nature. If the server says that the same call may be repeated, the call took no
// effect: contracts do not say so if the effect is unknown.
func Settle(c *contract.Contract, e *recourse.Error, nature retry.Nature) *recourse.Error {
	return e.With(func(r *recourse.Error) {
		said := e.Retry == recourse.RetrySameCall
		if r.Effect = retry.Effect(e, nature); r.Effect == recourse.EffectUnknown && e.Effect == "" && said {
			r.Effect = recourse.EffectNone
		}
		if e.Retry != "" {
			return
		}
		switch {
		case c.Retryable(e.WithEffect(recourse.EffectNone), &contract.Call{}):
			r.Retry = recourse.RetrySameCall
		case e.Kind.Retry() == recourse.RetrySameCall:
			r.Retry = recourse.RetryNever
		default:
			r.Retry = e.Kind.Retry()
		}
	})
}

// Decide says, by the contract, whether to repeat a call that failed with e in its attempt-th attempt (from 1).
// left is the time until its deadline. random returns a number in [0, 1); nil means math/rand.
func Decide(
	c *contract.Contract, e *recourse.Error, nature retry.Nature, attempt int, left time.Duration, random func() float64,
) retry.Decision {
	policy := Policy(c)
	policy.Random = random
	return policy.Decide(Settle(c, e, nature), nature, attempt, left)
}
