package gateway

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/access"
	"github.com/recoursehq/recourse/internal/gateway/failures"
	"github.com/recoursehq/recourse/internal/gateway/front"
	"github.com/recoursehq/recourse/internal/gateway/masking"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// enforcing writes failures in the contract's form.
type enforcing struct{}

func (enforcing) object(_ *call, e *recourse.Error) *failure { return settled(e) }

func (enforcing) final(c *call) string {
	if c.reply.hasBegun() {
		return "part of the answer has been sent"
	}
	return ""
}

// passedBack are headers of an answer that matter to clients: HTTP's content, caching and authentication
// headers (RFC 9110, 9111), the protocol's, and those about limits. All others are the server's own business.
var passedBack = map[string]bool{
	"Content-Type": true, "Content-Encoding": true, "Content-Language": true, "Cache-Control": true, "Expires": true,
	"Pragma": true, "Age": true, "Etag": true, "Last-Modified": true, "Allow": true, "Www-Authenticate": true,
	"Retry-After": true, "Ratelimit": true, "Ratelimit-Policy": true, "Deprecation": true, "Sunset": true,
	"X-Accel-Buffering": true,
}

func (enforcing) passes(name string) bool {
	return passedBack[name] || strings.HasPrefix(name, "X-Ratelimit-") || strings.HasPrefix(name, "Ratelimit-") ||
		strings.HasPrefix(name, "Mcp-") && name != wire.HeaderSession // what the protocol may add
}

func (m enforcing) answer(c *call) end {
	switch {
	case !c.req.asks():
		return m.handedOver(c)
	case c.in.resp.Status != http.StatusOK:
		return c.refusal()
	case c.in.resp.Stream && c.req.msg.Method == wire.MethodListen: // a stream without an end of its own
		m.passStream(c)
		if refusal := access.Lapsed(c.ctx); refusal != nil {
			return c.refuseLapsed(refusal).end()
		}
		return end{why: answered}
	}
	return m.pass(c)
}

// pass passes on the server's answer: a JSON text or an event stream. Progress, logs and questions for the
// client are forwarded as they arrive. The final message is read up to the decision window: if it ends there,
// it is either passed on or found to be a failure. A larger one is streamed and checked as it passes.
func (m enforcing) pass(c *call) end {
	dropped := false // the message whose rest is being read
	for c.in.open(); c.nextPart(); {
		part := c.in.part
		if dropped {
			dropped = !part.Complete
			continue
		}
		if !c.in.stream {
			c.in.text = part.Data
		}
		c.in.noteResumption()
		var end end
		switch {
		case part.Other:
			c.reply.relay(c.spoken(&part.Event), true, front.Between)
		case part.Err != nil:
			return again(c.in.bad(part.Err))
		case part.Complete:
			end = m.takeWhole(c, &part.Event)
		case c.in.stream && c.on.tooLongToMask(c.in.signs, c.req.id):
			dropped = true
		default:
			end = m.takeLarge(c)
		}
		if end.why != 0 {
			return end
		}
	}
	if e := c.in.ended(c.ctx); e != nil {
		return again(e)
	}
	c.reply.startEvents()
	return end{why: answered}
}

// nextPart reads the next message, or piece of one.
func (c *call) nextPart() bool {
	if !c.rule.patient {
		return c.in.next()
	}
	var ok bool
	c.patiently(func() { ok = c.in.next() })
	return ok
}

// takeWhole handles a message that arrived complete. The answer goes on unless the message ends it.
func (enforcing) takeWhole(c *call, event *wire.Event) end {
	switch signs := c.in.signs; {
	case c.in.stream && signs.Message() != wire.Response:
		c.notice(signs)
		c.reply.relay(c.spoken(event), true, front.Notice)
		return end{}
	case c.in.stream && !signs.ID.Equal(c.in.sentID()):
		c.in.wrong = errWrongID // nor the client's: it is dropped
		return end{}
	case !isWhole(signs):
		return again(c.in.bad(errNoMessage))
	case !signs.ID.Equal(c.in.sentID()):
		return again(c.in.bad(errWrongID))
	case c.in.tooMuch(int64(len(event.Data))):
		return again(c.in.tooLarge())
	}
	if c.in.stream {
		c.in.continues = true
	}
	if f := c.judge(event.Data); f != nil {
		return c.aboutAccount(f)
	}
	c.noteList(event.Data)
	text := c.passed(event.Data)
	if !c.in.stream && !c.reply.started {
		c.reply.head(int64(len(text)), false)
	}
	switch {
	case !bytes.Equal(text, event.Data):
		event = event.Changed(text)
	case c.in.stream:
		event = masking.WithoutComments(event)
	}
	c.reply.relay(event, c.in.stream, front.Answer)
	return end{why: answered}
}

// noteList takes note of the list of tools that the server has given to the client.
func (c *call) noteList(text []byte) {
	if c.req.msg.Method == wire.MethodToolsList && json.Lookup(c.req.msg.Params, "/cursor") == nil {
		c.on.to.backend.Lists.Passed(listRequest{c}, c.in.signs.Result.Of(text))
	}
}

// notice looks at a message from the server that is not an answer.
func (c *call) notice(signs *wire.Signs) {
	switch what := signs.Message(); {
	case what == wire.Request && c.session != nil: // from here on the server waits for its client
		c.in.hasQuestion = true
		c.session.Questions.Ask(signs.ID, c.deadline)
	case what == wire.Request: // nothing tells which answer is the client's
		c.deadline.Suspend()
	case what == wire.Notification && string(signs.Method) == wire.MethodProgress:
		c.deadline.Alive()
		c.rule.reports = true
	case what == wire.Notification && string(signs.Method) == wire.MethodToolsChanged:
		c.on.to.backend.Lists.Changed(listRequest{c}.Key())
	}
}

// passed returns the current message in the form that is forwarded: with its id as the client wrote it, and
// without a record that is not ours.
func (c *call) passed(text []byte) []byte {
	signs := c.in.signs
	var edits []wire.Edit
	if string(signs.ID) != string(c.req.msg.ID) {
		edits = append(edits, wire.Edit{At: signs.IDAt, With: c.req.msg.ID})
	}
	if !signs.Error.IsZero() && !c.on.to.entry.Trusted { // it asks the client a question
		raw := json.Value(signs.Error.Of(text))
		if own := failures.WithoutRecord(raw); len(own) != len(raw) {
			edits = append(edits, wire.Edit{At: signs.Error, With: own})
		}
	}
	if edits != nil {
		text = wire.Splice(nil, text, edits...)
	}
	if c.in.forged() {
		text = withoutRecord(text)
	}
	if c.on.filters(&c.req) {
		text = granted(text, c.sees)
	}
	if failures.Asks(text, c.in.signs) { // of a question, which may well be about addresses and paths, only credentials are masked
		text = c.masker().As(redact.Secrets).Message(c.bindState(text))
	}
	return text
}

// withoutRecord returns a message without a record under our key.
func withoutRecord(text []byte) []byte {
	var p wire.Rewriter
	p.WithoutRecord()
	return p.Close(p.Append(make([]byte, 0, len(text)), text))
}
