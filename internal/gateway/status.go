package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/account"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// statusTool is the gateway's own tool, by which an agent asks how far it may go instead of finding out by failing.
const statusTool = "recourse_status"

var statusDefinition = json.Value(`{"name":"` + statusTool + `","title":"Account and limits","description":"Says whether the account ` +
	`that the other tools work with is connected, with which permissions, and until when, and how many calls are left. ` +
	`Takes no arguments, changes nothing and counts for no limit. Call it before work of many calls, or when an account may be missing.",` +
	`"inputSchema":{"type":"object","properties":{}},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`)

// withStatus returns the tools of a page of the server's list, with the gateway's own on the last one. A tool of the server's of
// that name is not shown.
func (on *endpoint) withStatus(tools []json.Value, result json.Value) []json.Value {
	if !on.entry.StatusTool {
		return tools
	}
	kept := tools[:0]
	for _, raw := range tools {
		if json.Text(raw, "/name") != statusTool {
			kept = append(kept, raw)
		}
	}
	if json.Text(result, "/nextCursor") != "" {
		return kept
	}
	return append(kept, statusDefinition)
}

// A statusReport is the structured answer of the tool.
type statusReport struct {
	Account *account.Status `json:"account,omitempty"`
	Limits  []limitLeft     `json:"limits,omitempty"`
}

// A limitLeft is what is left of a limit.
type limitLeft struct {
	Name   string    `json:"name"`
	Calls  int64     `json:"calls"`
	Window string    `json:"window"`
	Left   int64     `json:"left"`
	Resets time.Time `json:"resetsAt"`
}

// status answers calls of the gateway's own tool.
func status(c *call, next next) *failure {
	if !c.on.entry.StatusTool || !c.req.isCall() || !c.req.asks() || c.req.msg.Name != statusTool {
		return next(c)
	}
	var report statusReport
	var text []string
	if c.on.entry.Connection != "" {
		said, e := c.who.account.Status(c.req.ctx, c.req.base())
		if e != nil {
			return answer.Settled(e)
		}
		report.Account, text = said, append(text, said.Sentence())
	}
	if c.on.limits != nil {
		now := time.Now()
		left, err := limits.Left(c.req.ctx, c.table.counter, c.on.limits, c.who.counted(), now)
		if err != nil {
			return answer.Settled(recourse.Unavailable("").WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).
				CausedBy(err).WithMessage("The gateway cannot read its limits at the moment."))
		}
		for _, q := range left {
			resets := q.ResetAt.UTC().Truncate(time.Second)
			report.Limits = append(report.Limits, limitLeft{q.Policy, q.Limit, recourse.FormatWait(q.Window), q.Remaining, resets})
			text = append(text, fmt.Sprintf("%d of %d calls in %s are left (%s); the count starts over in %s.", q.Remaining, q.Limit,
				recourse.FormatWait(q.Window), q.Policy, recourse.FormatWait(q.ResetAt.Sub(now).Round(time.Second))))
		}
	}
	result := map[string]any{
		"content":           []any{map[string]any{"type": "text", "text": strings.Join(text, "\n")}},
		"structuredContent": report,
	}
	if c.req.era == wire.Modern {
		result["resultType"] = "complete"
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return answer.Settled(recourse.Internal().WithOrigin(recourse.OriginGateway).CausedBy(err))
	}
	c.answer(http.StatusOK, wire.AppendResult(nil, c.req.msg.ID, raw))
	return nil
}
