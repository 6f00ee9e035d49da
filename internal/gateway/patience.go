package gateway

import (
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// Clients give up on a call of which they hear nothing for a while, even if the call itself asks to wait longer than that.
// While it waits, the gateway therefore reports progress, if the client has asked for that and the server reports none.

// progressEvery is how often progress is reported: a quarter of the minute for which SDKs wait.
const progressEvery = 15 * time.Second

// ownWait returns how long the tool itself waits for work that takes long, because the call asks for that in the way that
// the contract describes. This time is not the server's silence.
func (on *endpoint) ownWait(r *request) time.Duration {
	if !r.isCall() {
		return 0
	}
	wait := on.contract.Poll.Budget(r.msg.Arguments)
	if known := on.to.reader.Weak; known != nil {
		wait = max(wait, known.Poll.Budget(r.msg.Arguments))
	}
	return wait
}

// patience finds out whether progress is reported while the call waits for the server.
func patience(c *call, next next) *failure {
	token := json.Value(c.req.msg.ProgressToken)
	c.rule.patient = c.rule.wait != 0 && (token.Kind() == '"' || token.Kind() == '0') && c.member == nil && c.req.takesEvents()
	return next(c)
}

// patiently runs what waits for the server, and reports progress meanwhile.
func (c *call) patiently(wait func()) {
	token := json.Value(c.req.msg.ProgressToken)
	ended := make(chan any, 1)
	go func() {
		defer func() { ended <- throw(recover()) }() // a panic belongs to the call
		wait()
	}()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case fault := <-ended:
			if fault != nil {
				panic(fault)
			}
			return
		case <-tick.C:
			if !c.rule.reports {
				c.rule.told++
				c.reply.Progress(token, c.rule.told)
			}
		}
	}
}

// takesEvents reports whether the answer may be an event stream.
func (r *request) takesEvents() bool {
	return r.stdio || strings.Contains(strings.Join(r.header["Accept"], ","), wire.TypeEventStream)
}
