// Package recovery is for callers of MCP tools. [Policy] turns the retry rule of a
// contract into a policy of package retry, which then decides about each failed call.
package recovery

import (
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/retry"
)

// Policy returns the policy of a client that keeps the retry rule of c: at most
// RetryRule.Retries more attempts, where a wait that a failure states takes the place of
// RetryRule.Start.
func Policy(c *contract.Contract) retry.Policy {
	rule := c.Retry
	return retry.Policy{
		Attempts: rule.Retries + 1, Start: rule.Start, Factor: rule.Factor,
		JitterMax: rule.JitterMax, JitterFrom: rule.JitterFrom, GrowStated: true,
	}
}
