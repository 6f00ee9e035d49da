package gateway

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/access"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/failures"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/gateway/session"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream/api"
)

// A mode is how an endpoint replies: in its contract's form, or only observing.
type mode interface {
	// answer handles the server's answer.
	answer(c *call) end
	// object handles what the gateway itself finds wrong with a call. If it returns no failure, the call
	// continues.
	object(c *call, e *recourse.Error) *failure
	// final says why a call is not repeated; "" means that it may be.
	final(c *call) string
}

// enforcing writes failures in the contract's form.
type enforcing struct{}

func (enforcing) object(_ *call, e *recourse.Error) *failure { return answer.Settled(e) }

func (enforcing) final(c *call) string {
	if c.reply.HasBegun() {
		return "part of the answer has been sent"
	}
	return ""
}

func (m enforcing) answer(c *call) end {
	switch {
	case !c.req.asks():
		return m.handedOver(c)
	case c.in.Resp.Status != http.StatusOK:
		return m.refusal(c)
	case c.in.Resp.Stream && c.req.msg.Method == wire.MethodListen: // a stream without an end of its own
		c.later = listen
		return end{Why: answer.Answered}
	}
	end := c.in.Pass(c.ctx)
	if end.Why == answer.Failed && !end.Failure.Off {
		return m.aboutAccount(c, end.Failure)
	}
	return end
}

// listen passes on what a server tells a client that listens.
func listen(c *call) *failure {
	_ = passStream(c) // it does not fail
	if refusal := access.Lapsed(c.ctx); refusal != nil {
		return translate(c, func(c *call) *failure { return c.refuseLapsed(refusal) })
	}
	return nil
}

// notice looks at a message from the server that is not an answer.
func (c *call) notice(signs *wire.Signs) {
	switch what := signs.Message(); {
	case what == wire.Request && c.session != nil: // from here on the server waits for its client
		c.in.HasQuestion = true
		c.session.Questions.Ask(signs.ID, c.deadline)
	case what == wire.Request: // nothing tells which answer is the client's
		c.deadline.Suspend()
	case what == wire.Notification && string(signs.Method) == wire.MethodProgress:
		c.deadline.Alive()
		c.rule.reports = true
	case what == wire.Notification:
		c.listChanged(signs)
	}
}

// edit returns a success as its caller may see it, and takes note of the list of tools that a client has asked for.
func (c *call) edit(text []byte) []byte {
	if c.req.msg.Method == wire.MethodToolsList {
		text = c.pinned(text, false)
	}
	if c.req.msg.Method == wire.MethodToolsList && c.req.msg.Cursor == nil {
		c.on.backend.Lists.Passed(listRequest{c}, json.Lookup(text, "/result"))
	}
	if (c.req.msg.Method == wire.MethodInitialize || c.req.msg.Method == wire.MethodDiscover) && c.on.pins != nil {
		text = announcing(text)
	}
	if c.session != nil && c.in.Signs.Error.IsZero() && session.IsAsked(c.req.msg) {
		scope := c.sessions()
		scope.Granted(c.ctx, c.session, c.req.msg)
	}
	c.start.hear(text)
	if c.on.editsList(&c.req) {
		text = c.editList(text)
	}
	if failures.Asks(text, c.in.Signs) { // of a question, which may well be about addresses and paths, only credentials are masked
		text = c.masker().As(redact.Secrets).Message(c.bindState(text, c.in.Signs))
	}
	return text
}

// observing passes everything on unchanged, and reports what enforcing would have done.
type observing struct{}

func (o observing) object(c *call, e *recourse.Error) *failure {
	o.observe(c, e)
	return nil
}

func (observing) final(*call) string { return "failures are only observed" }

func (o observing) answer(c *call) end {
	report := func(e *recourse.Error) { o.observe(c, e) }
	method, status, streams := c.req.method, c.in.Resp.Status, c.in.Resp.Stream
	switch {
	case streams && c.req.lasts():
		c.later = func(c *call) *failure {
			c.stream(unchanged)
			return nil
		}
	case status == http.StatusOK && c.req.asks():
		return c.in.Watch(c.ctx, report)
	case c.on.passesAuth(status):
		f := c.in.RefusedCredentials()
		c.reply.PassOn(io.MultiReader(bytes.NewReader(f.Text), c.in.Resp))
		c.out.Reason = f.Reason
		c.out.record(f.Err, notedAuth)
	case c.req.asks(), status >= http.StatusMultipleChoices && (status != http.StatusMethodNotAllowed || method == http.MethodPost):
		return c.in.WatchRefusal(c.ctx, report)
	default:
		c.reply.PassOn(c.in.Resp)
	}
	return end{Why: answer.Answered}
}

func unchanged(part *wire.Part) *wire.Event { return &part.Event }

// observe records a failure that was passed on unchanged: what the client got, and what it would have got.
func (observing) observe(c *call, e *recourse.Error) {
	if e == nil {
		return
	}
	f := c.failing(c.in.Shown())
	e = f.settle(e)
	after := c.on.contract.Write(e, f.describe(e, f.status(e)))
	c.out.Record, c.out.Reason = after.Record, "failures are only observed"
	c.out.Failures = append(c.out.Failures, observe.Failure{
		Message: "observed", Error: after.Record, Note: "passed on as it came", Attempts: c.out.counted,
		Reason: c.out.Reason, Before: e.Cause(), After: errors.New(observe.Shown(after)),
	})
}

// relaying passes on the answer of a server's own stages. Anything else is handled like an answer from any
// other server.
type relaying struct{ enforcing }

func (relaying) final(*call) string { return "the server's own stages repeat what is safe to repeat" }

func (relaying) answer(c *call) end {
	if !c.who.outer.isRelayed() || !c.req.asks() {
		return enforcing{}.answer(c)
	}
	if c.who.outer.free {
		c.giveBack()
	}
	c.in.Forward()
	return end{Why: answer.Answered}
}

// refusal handles an answer whose HTTP status is not 200.
func (enforcing) refusal(c *call) end {
	status := c.in.Resp.Status
	refused, narrowed := c.who.refusesAccount(c.ctx, &c.req, status, c.in.Resp.Header)
	if narrowed != nil {
		return answer.Settled(narrowed).End()
	}
	if c.on.passesAuth(status) && !c.reply.Started {
		return c.in.RefusedCredentials().End()
	}
	last := c.in.Refusal(c.ctx)
	switch e := last.Cause(); {
	case c.ctx.Err() != nil:
	case refused:
		return end{Why: answer.AccountRefused, Err: e.WithEffect(recourse.EffectNone)}
	case c.hasLost(c.in.Session, status, e):
		return end{Why: answer.SessionLost, Err: e.WithEffect(recourse.EffectNone)}
	}
	return last
}

// passesAuth reports whether a refusal is between the client and the server: the client's own credentials
// were forwarded.
func (on *endpoint) passesAuth(status int) bool {
	return (status == http.StatusUnauthorized || status == http.StatusForbidden) && on.forwards("Authorization")
}

const notedAuth = "passed on under its own status"

// provided reads the answer of an HTTP API's provider again, with everything that the gateway knows about its
// errors. Any other error is returned unchanged.
func (c *call) provided(e *recourse.Error) end {
	refusal, ok := errors.AsType[*api.RefusedError](e.Cause())
	if !ok {
		return answer.Again(e)
	}
	refused, narrowed := c.who.refusesAccount(c.ctx, &c.req, refusal.Status, refusal.Header)
	switch {
	case narrowed != nil:
		return end{Why: answer.Repeatable, Err: narrowed, Status: refusal.Status}
	case refused:
		return end{Why: answer.AccountRefused, Err: e.WithEffect(recourse.EffectNone), Status: refusal.Status}
	}
	reading := c.on.reader.Provider(refusal, e, !c.on.reader.PassesCredentials && !c.on.forwards("Authorization"))
	return end{
		Why: answer.Repeatable, Err: reading.Error(), Status: refusal.Status, Told: c.in.Told(reading, refusal.Cut),
		Full: refusal.Status != http.StatusUnauthorized || reading.Contract != nil,
	}
}
