// Package recovery is for callers of MCP tools: what a contract asks of whoever
// repeats a call.
package recovery

import (
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/retry"
)

// Policy returns the policy of a client that keeps the retry rule of c: a wait that a
// failure states takes the place of the rule's start.
func Policy(c *contract.Contract) retry.Policy {
	rule := c.Retry
	return retry.Policy{
		Attempts: rule.Retries + 1, Start: rule.Start, Factor: rule.Factor,
		JitterMax: rule.JitterMax, JitterFrom: rule.JitterFrom, GrowStated: true,
	}
}
