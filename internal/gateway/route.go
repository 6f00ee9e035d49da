package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/nearest"
	"github.com/recoursehq/recourse/internal/wire"
	"github.com/recoursehq/recourse/retry"
)

// route finds out what the request asks of the server, and for how long. It
// reports false when it has answered: the tool does not exist.
func (x *exchange) route() bool {
	x.rule.Timeout = x.s.Timeout
	x.nature = natureOfMethod(x.msg.Method)
	if x.isCall() {
		x.rule = x.s.Tool(x.msg.Name)
		x.nature = x.s.natureOf(x.msg.Name, x.rule, nil)
	}
	x.ctx, x.deadline, x.stop = withDeadline(x.r.Context(), x.rule.Timeout, x.s.MaxTimeout, x.timedOut())
	if e := x.moveSession(); e != nil {
		x.fail(e, nil, nil)
		return false
	}
	if !x.isCall() {
		return true
	}
	x.list = x.s.tools.get(x.ctx, x, time.Time{})
	if x.list != nil && x.list.tools[x.msg.Name] == nil {
		x.refreshList()
	}
	if x.list == nil {
		return true
	}
	x.listed = x.list.tools[x.msg.Name]
	x.nature = x.s.natureOf(x.msg.Name, x.rule, x.listed)
	if x.listed != nil || x.list.partial || !x.isOwnList() {
		return true
	}
	e := recourse.UnknownTool(x.msg.Name).WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
	if name, ok := nearest.Of(x.msg.Name, x.list.names); ok {
		e = e.WithMessage("%s Did you mean %s?", e.Message, name)
	}
	return x.objection(e)
}

// timedOut returns what makes the failure of a call without an answer. It outlives
// the exchange.
func (x *exchange) timedOut() func(within time.Duration) error {
	s := x.s
	return func(within time.Duration) error { return s.said(recourse.Timeout(s.Title, within)) }
}

// objection ends the call with what the gateway itself finds wrong with it. It
// reports whether the call goes on all the same, as it does where failures are
// only observed.
func (x *exchange) objection(e *recourse.Error) bool {
	if x.s.observes() {
		x.observe(e)
		return true
	}
	x.fail(e, nil, nil)
	return false
}

// natureOfMethod returns what a method other than tools/call does to the world.
func natureOfMethod(method string) retry.Nature {
	switch {
	case wire.ReadsOnly(method):
		return retry.Reads
	case method == "logging/setLevel", method == "resources/subscribe", method == "resources/unsubscribe":
		return retry.Idempotent
	default:
		return retry.Writes
	}
}

// addSession names the session at the server in the headers, and returns which one
// it is.
func (x *exchange) addSession(header http.Header) (generation int) {
	if x.session == nil {
		return 0
	}
	id, generation := x.session.at()
	delete(header, wire.HeaderSession)
	if id != "" {
		header[wire.HeaderSession] = []string{id}
	}
	return generation
}

// pause waits, and reports false when the call has ended meanwhile.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
