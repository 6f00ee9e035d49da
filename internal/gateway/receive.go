package gateway

import (
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/front"
	"github.com/recoursehq/recourse/internal/gateway/intake"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// receive reads the message, and finds out its era.
func receive(c *call, next next) *failure {
	limit := int64(c.table.config.MaxRequest)
	c.req.intake.Of = &c.g.inFlight
	all := max(int64(c.table.config.MaxInFlight), 2*limit) // else the largest would never have room
	c.req.intake.Limits = intake.Limits{Message: limit, InFlight: all}
	var f *failure
	if c.req.stdio {
		f = c.req.receiveLine(c.reply.Header())
	} else {
		f = c.req.receiveHTTP(c.reply.Header())
	}
	switch {
	case f != nil:
		return f
	case c.req.overLimit:
		held := answer.NotSent(c.on.heldBackFor(intake.BusyWait).WithMessage("%d calls of this host are under way. "+
			"This one was not sent: wait for one of them to end, then call again.", front.MaxStdioCalls))
		return held.Settled()
	default:
		return next(c)
	}
}

// receiveHTTP reads a message from a body, and checks it against its headers.
func (r *request) receiveHTTP(reply http.Header) *failure {
	h := r.header
	if len(r.from.TransferEncoding) > 0 {
		// It may have had a Content-Length as well, but net/http does not say so: the connection has to be
		// closed (RFC 9112, section 6.1).
		reply.Set("Connection", "close")
	}
	if r.method != http.MethodPost {
		r.era = wire.Legacy
		if f := r.takeIn(reply); f != nil { // there should be none
			return f
		}
		if r.method == http.MethodGet && !wire.Accepts(h["Accept"], wire.TypeEventStream) {
			return answer.Refuse(http.StatusNotAcceptable,
				recourse.New(recourse.KindInvalidRequest, "Accept must include text/event-stream."))
		}
		return nil
	}
	if !wire.IsMediaType(h.Get("Content-Type"), wire.TypeJSON) || h.Get("Content-Encoding") != "" {
		return answer.Refuse(http.StatusUnsupportedMediaType, recourse.New(recourse.KindInvalidRequest,
			"Send the message as Content-Type application/json, without Content-Encoding."))
	}
	if !wire.Accepts(h["Accept"], wire.TypeJSON) || !wire.Accepts(h["Accept"], wire.TypeEventStream) {
		return answer.Refuse(http.StatusNotAcceptable, recourse.New(recourse.KindInvalidRequest,
			"Accept must include both application/json and text/event-stream."))
	}
	if f := r.takeIn(reply); f != nil {
		return f
	}
	return r.understand(func() (wire.Era, error) { return wire.CheckHeaders(h, r.msg) })
}

// receiveLine takes the message that a host has written on a line.
func (r *request) receiveLine(reply http.Header) *failure {
	if r.method != http.MethodPost {
		r.era = wire.Legacy
		return nil
	}
	if f := r.takeIn(reply); f != nil {
		return f
	}
	return r.understand(func() (wire.Era, error) { return wire.EraOfMessage(r.msg) })
}

// takeIn reads the message, up to max_request bytes. A call that is refused is answered with a result, like any other.
func (r *request) takeIn(reply http.Header) *failure {
	refusal := r.intake.Read()
	r.body = r.intake.Text
	if refusal == nil {
		return nil
	}
	r.msg.ID = refusal.ID
	if refusal.Call {
		r.msg.Method, r.era = wire.MethodToolsCall, wire.Legacy
		if era, ok := wire.EraOf(r.header.Get(wire.HeaderVersion)); ok {
			r.era = era
		}
		if refusal.Wait == 0 {
			return answer.Settled(refusal.Err)
		}
		busy := answer.NotSent(refusal.Err)
		return busy.Settled()
	}
	reply.Set("Connection", "close")
	if refusal.Wait > 0 {
		reply["Retry-After"] = []string{limits.Seconds(refusal.Wait)}
	}
	return answer.Refuse(refusal.Status, refusal.Err)
}

// understand parses the message, and finds out its era.
func (r *request) understand(era func() (wire.Era, error)) *failure {
	err := r.parse()
	if err != nil {
		r.msg.ID = nil // an invalid message is not trusted about anything
	} else {
		r.era, err = era()
	}
	if err != nil {
		return answer.Refuse(http.StatusBadRequest, door.Refused(err))
	}
	return nil
}
