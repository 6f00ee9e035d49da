package gateway

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/front"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// observing passes everything on unchanged, and reports what enforcing would have done.
type observing struct{}

func (m observing) object(c *call, e *recourse.Error) *failure {
	m.report(c, e)
	return nil
}

func (observing) final(*call) string { return "failures are only observed" }

// keptBack are headers of an answer that belong to the connection or to the server's own session and cookies,
// or that the gateway writes itself.
var keptBack = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Authenticate": true, "Proxy-Connection": true, "Te": true,
	"Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
	"Content-Length": true, "Date": true, "Server": true, "Set-Cookie": true,
	wire.HeaderSession: true, wire.HeaderRequestID: true,
	"Access-Control-Allow-Origin": true, "Access-Control-Allow-Credentials": true,
	"Access-Control-Expose-Headers": true, "Vary": true,
}

func (observing) passes(name string) bool { return !keptBack[name] || enforcing{}.passes(name) }

func (m observing) answer(c *call) end {
	method, status := c.req.method, c.in.resp.Status
	streams := c.in.resp.Stream
	switch {
	case streams && method == http.MethodGet, streams && c.req.msg.Method == wire.MethodListen:
		c.stream(func(part *wire.Part) *wire.Event { return &part.Event })
	case status == http.StatusOK && c.req.asks():
		return m.watchAnswer(c)
	case c.on.passesAuth(status):
		body, e := c.refusedCredentials()
		c.reply.passOn(io.MultiReader(bytes.NewReader(body), c.in.resp))
		c.out.record(e, notedAuth)
	case c.req.asks(), status >= http.StatusMultipleChoices && (status != http.StatusMethodNotAllowed || method == http.MethodPost):
		return m.watchRefusal(c)
	default:
		c.reply.passOn(c.in.resp)
	}
	return end{why: answered}
}

// watchRefusal passes on an answer whose status is not 200.
func (m observing) watchRefusal(c *call) end {
	resp := c.in.resp
	body, _ := io.ReadAll(io.LimitReader(resp, int64(c.table.config.DecideWithin)+1)) // if reading fails, the status still counts
	if c.ctx.Err() != nil {
		return again(c.on.to.broken(c.ctx, c.ctx.Err()))
	}
	m.report(c, c.req.explainRefusal(c.on.to.reader.HTTP(resp.Status, resp.Header, body, "").Error(), body))
	c.reply.passOn(io.MultiReader(bytes.NewReader(body), c.in.resp))
	return end{why: answered}
}

// watchAnswer passes on an answer with status 200.
func (m observing) watchAnswer(c *call) end {
	whole := false
	for c.in.open(); c.in.next(); {
		part := c.in.part
		if c.reply.relay(&part.Event, c.in.stream, c.in.said()); c.reply.gone {
			return end{why: answered}
		}
		c.in.noteResumption()
		if !part.First || !part.Complete {
			c.deadline.Alive()
		}
		switch {
		case part.Other, !part.Complete:
			continue
		case c.in.stream && part.First && part.Kind != wire.Response:
			c.notice(part.Signs)
			continue
		case c.in.stream && !part.First && !part.Signs.MethodAt.IsZero():
			continue
		}
		m.watchMessage(c)
		whole = true
	}
	if c.in.part != nil { // what came before the fault
		c.reply.relay(&c.in.part.Event, c.in.stream, front.Unknown)
	}
	if c.reply.gone {
		return end{why: answered}
	}
	return m.watchEnd(c, whole)
}

// watchEnd handles the end of an answer that was passed on.
func (m observing) watchEnd(c *call, whole bool) end {
	if c.in.stream {
		c.reply.startEvents()
	}
	if whole {
		if !errors.Is(c.in.err, io.EOF) {
			c.reply.abort()
		}
		return end{why: answered}
	}
	e := c.in.ended(c.ctx)
	if e != nil && wire.BrokeOff(c.in.err) {
		return c.on.to.breakOff(e)
	}
	m.report(c, e)
	return end{why: answered}
}

// report records a failure that was passed on unchanged: what the client got, and what it would have got.
func (observing) report(c *call, e *recourse.Error) {
	if e == nil {
		return
	}
	f := c.failing(c.in.shown())
	e = f.settle(e)
	after := c.on.contract.Write(e, f.describe(e, c.req.protocolStatus(&c.reply, e.Kind)))
	c.out.Record, c.out.Reason = after.Record, "failures are only observed"
	c.out.Failures = append(c.out.Failures, observe.Failure{
		Message: "observed", Error: after.Record, Note: "passed on as it came", Attempts: c.out.counted,
		Reason: c.out.Reason, Before: e.Cause(), After: errors.New(observe.Shown(after)),
	})
}

// watchMessage looks for the failure in an answer whose last piece has been passed on.
func (m observing) watchMessage(c *call) {
	last := c.in.part
	if err := c.in.flaw(); err != nil {
		m.report(c, c.on.to.reader.BadResponse(err))
		return
	}
	if !last.First { // it was too large to be kept
		c.late()
		return
	}
	if reading, _, ok := c.reading(last.Data); ok {
		m.report(c, c.in.caused(reading.Error(), last.Data))
	}
}
