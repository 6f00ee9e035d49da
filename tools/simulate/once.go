package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/recoursehq/recourse"
)

// grace is how long an unknown call may still take effect, as in docs/configuration.md.
const grace = time.Minute

// A sentOnce is an order that has been sent: it has been answered, or nobody knows what became of it.
type sentOnce struct {
	answer json.RawMessage
	since  time.Time // it is unknown
}

// callOnce is call with `once: contract`: an order that is sent again gets the first answer or, if that was lost, what the verify
// call finds.
func (g *gatewayModel) callOnce(c toolCall, gone time.Time) (json.RawMessage, error) {
	id := g.clock.running.id
	if row := g.once[id]; row != nil {
		if row.answer == nil && !g.settle(row) {
			return g.write(c, recourse.New(recourse.KindTimeout, "This call was made before, and it is not known what became of it.").
				WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectUnknown).WithRetryAfter(grace-g.clock.now.Sub(row.since))), nil
		}
		if row.answer != nil {
			return row.answer, nil
		}
	}
	result, e, err := g.send(c, gone)
	switch {
	case err != nil:
		g.once[id] = &sentOnce{since: g.clock.now}
		return nil, context.DeadlineExceeded
	case e == nil:
		g.once[id] = &sentOnce{answer: result}
		return result, nil
	case e.Effect == recourse.EffectNone:
		delete(g.once, id)
	default:
		g.once[id] = &sentOnce{since: g.clock.now}
	}
	return g.write(c, e), nil
}

// settle makes the verify call for an unknown order. It reports whether that has settled it: the order is there, and the row has the
// answer, or it is not, and may be sent again.
func (g *gatewayModel) settle(row *sentOnce) bool {
	t := g.clock.running
	a := g.shop.call(toolCall{Name: toolRead, Arguments: json.RawMessage(`{"externalIds":["` + t.id + `"]}`)})
	var found struct {
		StructuredContent struct {
			Items []json.RawMessage `json:"items"`
		} `json:"structuredContent"`
	}
	if a.fault != nil || json.Unmarshal(a.result, &found) != nil || found.StructuredContent.Items == nil {
		return false
	}
	if len(found.StructuredContent.Items) > 0 {
		row.answer = a.result
		return true
	}
	return g.clock.now.Sub(row.since) >= grace
}
