package gateway

import (
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/gateway/front"
	"github.com/recoursehq/recourse/internal/gateway/intake"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// receive reads the message, and finds out its era.
func receive(c *call, next next) *failure {
	var f *failure
	if c.req.stdio {
		f = c.receiveLine()
	} else {
		f = c.receiveHTTP()
	}
	switch {
	case f != nil:
		return f
	case c.req.overLimit:
		held := notSent(c.on.to.heldBackFor(intake.BusyWait).WithMessage("%d calls of this host are under way. This one was not sent: "+
			"wait for one of them to end, then call again.", front.MaxStdioCalls))
		return held.settled()
	default:
		return next(c)
	}
}

// receiveHTTP reads a message from a body, and checks it against its headers.
func (c *call) receiveHTTP() *failure {
	h := c.req.header
	if len(c.req.from.TransferEncoding) > 0 {
		// It may have had a Content-Length as well, but net/http does not say so: the connection has to be
		// closed (RFC 9112, section 6.1).
		c.reply.header().Set("Connection", "close")
	}
	if c.req.method != http.MethodPost {
		c.req.era = wire.Legacy
		if f := c.takeIn(); f != nil { // there should be none
			return f
		}
		if c.req.method == http.MethodGet && !wire.Accepts(h["Accept"], wire.TypeEventStream) {
			return refuse(http.StatusNotAcceptable, recourse.New(recourse.KindInvalidRequest, "Accept must include text/event-stream."))
		}
		return nil
	}
	if !wire.IsMediaType(h.Get("Content-Type"), wire.TypeJSON) || h.Get("Content-Encoding") != "" {
		return refuse(http.StatusUnsupportedMediaType, recourse.New(recourse.KindInvalidRequest,
			"Send the message as Content-Type application/json, without Content-Encoding."))
	}
	if !wire.Accepts(h["Accept"], wire.TypeJSON) || !wire.Accepts(h["Accept"], wire.TypeEventStream) {
		return refuse(http.StatusNotAcceptable, recourse.New(recourse.KindInvalidRequest,
			"Accept must include both application/json and text/event-stream."))
	}
	if f := c.takeIn(); f != nil {
		return f
	}
	return c.understand(func() (wire.Era, error) { return wire.CheckHeaders(h, c.req.msg) })
}

// receiveLine takes the message that a host has written on a line.
func (c *call) receiveLine() *failure {
	if c.req.method != http.MethodPost {
		c.req.era = wire.Legacy
		return nil
	}
	if f := c.takeIn(); f != nil {
		return f
	}
	return c.understand(func() (wire.Era, error) { return wire.EraOfMessage(c.req.msg) })
}

// takeIn reads the message, up to max_request bytes.
func (c *call) takeIn() *failure {
	limit := int64(c.table.config.MaxRequest)
	all := max(int64(c.table.config.MaxInFlight), 2*limit) // else the largest would never have room
	refusal := c.req.intake.Read(&c.g.inFlight, intake.Limits{Message: limit, InFlight: all})
	if c.req.body = c.req.intake.Text; refusal == nil {
		return nil
	}
	c.req.msg.ID = refusal.ID
	header := c.reply.header()
	if header.Set("Connection", "close"); refusal.Wait > 0 {
		header["Retry-After"] = []string{limits.Seconds(refusal.Wait)}
	}
	return refuse(refusal.Status, refusal.Err)
}

// understand parses the message, and finds out its era.
func (c *call) understand(era func() (wire.Era, error)) *failure {
	err := c.req.parse()
	if err != nil {
		c.req.msg.ID = nil // an invalid message is not trusted about anything
	} else {
		c.req.era, err = era()
	}
	if err != nil {
		return refuse(http.StatusBadRequest, door.Refused(err))
	}
	return nil
}
