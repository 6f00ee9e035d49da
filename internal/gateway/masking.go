package gateway

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/gateway/failures"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/redact"
	"github.com/recoursehq/recourse/internal/wire"
)

// masker returns what masks this call's failures, within one budget for all of them. Anything in the call's
// own arguments or in the server's entry may be shown, except for secrets.
func (c *call) masker() *redact.Masker {
	if c.mask == nil {
		s, toPerson := c.on, c.account.Shown()
		c.mask = redact.New(s.redact, string(c.req.msg.Arguments), s.URL+" "+s.BaseURL, strings.Join(s.Command, "\n"), s.Cwd, c.url(),
			toPerson).
			Sparing(toPerson).Hiding(c.secrets()).With(s.contract.Mask...).ForAnswer()
	}
	return c.mask
}

// secrets returns what finds the secrets in the server's entry and in the call. It may be called after the
// call has ended.
func (c *call) secrets() func() []string { return c.private().Secrets }

// private returns what it takes to mask what is told of the call.
func (c *call) private() observe.Private {
	p := observe.Private{Tool: c.rule.listed.Tool, Arguments: c.req.msg.Arguments}
	if c.on != nil {
		p.Contract, p.Entry = c.on.contract, c.on.secrets
	}
	return p
}

// masked returns an answer in the contract's form with its texts masked again: pieces that reveal nothing
// alone may do so once they are joined.
func (c *call) masked(answer contract.Answer) contract.Answer {
	if c.on == nil {
		return answer
	}
	m := c.masker()
	switch answer.Surface {
	case contract.SurfaceResult:
		answer.Result = m.JSON(answer.Result)
	case contract.SurfaceRPC:
		answer.Message = m.String(answer.Message)
		if len(answer.Data) > 0 {
			answer.Data = m.JSON(answer.Data)
		}
	case contract.SurfaceHTTP:
		answer.Header, answer.Body = maskHeader(m, answer.Header), maskBody(m, answer.Body)
	}
	return answer
}

func maskHeader(m *redact.Masker, header http.Header) http.Header {
	masked := make(http.Header, len(header))
	for name, values := range header {
		for _, value := range values {
			if name != "Www-Authenticate" { // it says where to get a token
				value = strings.NewReplacer("\r", " ", "\n", " ").Replace(m.String(value))
			}
			masked[name] = append(masked[name], value)
		}
	}
	return masked
}

// maskBody masks the body of any HTTP answer.
func maskBody(m *redact.Masker, body []byte) []byte {
	if len(body) == 0 {
		return body
	}
	if masked, ok := m.Document(body); ok {
		return masked
	}
	return []byte(m.String(string(body)))
}

// question masks an answer that asks the client something: only credentials, since a question may well be
// about addresses and paths. Any other answer is unchanged.
func (c *call) question(text []byte) []byte {
	if !failures.Asks(text, c.in.signs) {
		return text
	}
	return c.masker().As(redact.Secrets).Message(c.bindState(text))
}

// spoken masks an event that is not an answer: error logs like failures, everything else like a question.
// Comments lose their text. raw is the event as it would otherwise be sent.
func (c *call) spoken(event *wire.Event, raw []byte) []byte {
	if c.on.redact == redact.Off || !event.Complete || !event.First {
		return raw
	}
	raw = wire.WithoutComments(raw)
	answers := json.Lookup(event.Data, "/result") != nil
	if len(event.Data) == 0 || answers && json.Lookup(event.Data, "/result/isError").Kind() != 't' {
		return raw
	}
	m := c.masker()
	if answers || json.Lookup(event.Data, "/error") != nil { // a failure for which the client resumes its stream
		return event.With(m.JSON(event.Data))
	}
	if level := string(json.Lookup(event.Data, "/params/level")); !slices.Contains(grave, level) {
		m = m.As(redact.Secrets)
	}
	var masked []byte
	if kind := json.Value(event.Data).Kind(); kind == '{' || kind == '[' {
		masked = m.Message(event.Data)
	} else { // of a type of the server's own: it need not be a message
		masked = []byte(m.String(string(event.Data)))
	}
	if bytes.Equal(masked, event.Data) {
		return raw
	}
	if event.Retry >= 0 {
		return append(fmt.Appendf(nil, "retry: %d\n", event.Retry.Milliseconds()), event.With(masked)...)
	}
	return event.With(masked)
}

// unspeakable reports whether the current message, which is larger than decide_within, is a notification: it
// cannot be masked, and nobody waits for it.
func (c *call) unspeakable() bool {
	signs := c.in.signs
	if c.on.redact == redact.Off || !bytes.HasPrefix(signs.Method, []byte("notifications/")) {
		return false
	}
	c.g.log.Warn("a notification was dropped: it is longer than decide_within and cannot be masked",
		slog.String("server", c.to.Name), slog.String("request_id", c.req.id),
		slog.String("method", observe.Beginning(string(signs.Method))))
	return true
}

// grave are the log levels for failures, in JSON (MCP 2025-11-25, logging).
var grave = []string{`"error"`, `"critical"`, `"alert"`, `"emergency"`}

// A record under our key is the gateway's statement to its client. Records written by an untrusted server are
// removed from everything that is passed on.

// forged reports whether the current message has such a record, as far as it has arrived.
func (c *call) forged() bool {
	return c.in.signs.Record && !c.to.Trusted
}

func recordPruner() *wire.Rewriter {
	p := new(wire.Rewriter)
	p.WithoutRecord()
	return p
}

// rewriter returns a function that converts a large answer for the client as it passes: it removes a forged
// record and restores the request's id. It is nil if nothing changes.
func (c *call) rewriter() *wire.Rewriter {
	if c.in.id == nil && !c.forged() {
		return nil
	}
	p := new(wire.Rewriter)
	p.Renumber(c.in.id, c.req.msg.ID, c.forged())
	return p
}

// stripped returns what a rewriter keeps of a piece; a nil rewriter keeps all of it.
func stripped(p *wire.Rewriter, piece []byte) []byte {
	if p == nil {
		return piece
	}
	return p.Append(make([]byte, 0, len(piece)), piece)
}

// strippedMessage returns an event of a server's own stream without a forged record.
func (c *call) strippedMessage(event *wire.Event) []byte {
	if !event.Complete || !event.First || c.in.signs == nil || !c.forged() {
		return event.Raw
	}
	return recordPruner().AppendEvent(nil, event)
}
