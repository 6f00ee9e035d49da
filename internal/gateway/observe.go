package gateway

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/wire"
)

// observing passes everything on as it came, and tells what enforcing would have done.
type observing struct{}

func (observing) object(c *call, e *recourse.Error) error {
	c.observe(e)
	return nil
}

func (observing) final(*call) string { return "failures are only observed" }

// keptBack are the headers of an answer that are of the connection, of the server's own
// session and cookies, or that the gateway writes itself.
var keptBack = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Authenticate": true, "Proxy-Connection": true, "Te": true,
	"Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
	"Content-Length": true, "Date": true, "Server": true, "Set-Cookie": true,
	wire.HeaderSession: true, wire.HeaderRequestID: true,
	"Access-Control-Allow-Origin": true, "Access-Control-Allow-Credentials": true,
	"Access-Control-Expose-Headers": true, "Vary": true,
}

func (observing) passes(name string) bool { return !keptBack[name] || enforcing{}.passes(name) }

func (observing) holds() bool { return false }

func (observing) answer(c *call, resp *http.Response) error {
	method, status := c.req.http.Method, resp.StatusCode
	streams := status == http.StatusOK && isEventStream(resp)
	switch {
	case streams && method == http.MethodGet, streams && c.req.msg.Method == wire.MethodListen:
		c.stream(resp, func(event *wire.Event) []byte { return event.Raw })
	case streams && c.req.asks():
		return c.watchEvents(resp)
	case status == http.StatusOK && c.req.asks():
		return c.watchJSON(resp)
	case c.passesAuth(status):
		body, e := c.refusedCredentials(resp)
		c.passWith(resp, body)
		c.record(e, notedAuth)
	case c.req.asks(), status >= http.StatusMultipleChoices && (status != http.StatusMethodNotAllowed || method == http.MethodPost):
		return c.watchRefusal(resp)
	default:
		c.passOn(resp)
	}
	return nil
}

// watchRefusal passes on an answer whose status is not 200.
func (c *call) watchRefusal(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, int64(c.table.config.DecideWithin)+1)) // a broken body says no more than the status
	if c.ctx.Err() != nil {
		return c.to.up.Broken(c.ctx, c.ctx.Err())
	}
	c.observe(c.refusedFor(c.to.readHTTP(resp.StatusCode, resp.Header, body, "").Error(), body))
	c.passWith(resp, body)
	return nil
}

// passWith passes on an answer of whose body the beginning has been read.
func (c *call) passWith(resp *http.Response, body []byte) {
	c.begin(resp)
	c.reply.pour(io.MultiReader(bytes.NewReader(body), resp.Body))
}

// watchJSON passes on an answer that is one JSON text.
func (c *call) watchJSON(resp *http.Response) error {
	c.in.scan.Reset()
	c.in.window = c.in.window[:0]
	c.begin(resp)
	within, whole := int(c.table.config.DecideWithin), true
	buffer := make([]byte, 4<<10)
	for {
		n, err := resp.Body.Read(buffer)
		_, _ = c.in.scan.Write(buffer[:n]) // Close says what is wrong
		if whole = whole && len(c.in.window)+n <= within; whole {
			c.in.window = append(c.in.window, buffer[:n]...)
		} else {
			c.deadline.alive()
		}
		switch {
		case n > 0 && c.reply.put(buffer[:n]) != nil: // nobody sees the rest
			return nil //nolint:nilerr // err is about that
		case errors.Is(err, io.EOF) && whole:
			c.watch(c.in.window, c.in.scan.Close())
			return nil
		case errors.Is(err, io.EOF):
			c.watchLarge()
			return nil
		case err != nil:
			return c.breakOff(c.to.up.Broken(c.ctx, err))
		}
	}
}

// watchEvents passes on an event stream.
func (c *call) watchEvents(resp *http.Response) error {
	reader := c.eventsOf(resp)
	answered, resumable := false, false
	for {
		event, err := reader.Next()
		if err != nil {
			return c.watchedAll(resp, err, answered, resumable)
		}
		c.forward(resp, event.Raw)
		if event.First {
			c.in.scan.Reset()
		}
		_, _ = c.in.scan.Write(event.Data) // what is no message is none to look into
		resumable = resumable || len(event.ID) > 0 || event.Retry >= 0
		if !event.First || !event.Complete {
			c.deadline.alive()
		}
		if !event.Complete || len(event.Data) == 0 || !isMessage(event.Type) {
			continue
		}
		switch signs := c.in.scan.Signs(); {
		case event.First && signs.Message() != wire.Response:
			c.notice(signs)
			continue
		case event.First:
			c.watch(event.Data, nil)
		case !signs.MethodAt.IsZero():
			continue
		default:
			c.watchLarge()
		}
		answered = true
	}
}

// watchedAll deals with the end of a stream that was passed on.
func (c *call) watchedAll(resp *http.Response, err error, answered, resumable bool) error {
	clean := errors.Is(err, io.EOF)
	c.startEvents(resp)
	switch {
	case answered && !clean:
		c.reply.abort()
	case answered, clean && resumable && c.req.era == wire.Legacy:
	case clean, errors.Is(err, wire.ErrUnfinishedEvent):
		c.observe(c.bad(resp, errNoMessage).WithMessage("%s ended its answer without a result.", c.to.Title))
	default:
		return c.breakOff(c.to.up.Broken(c.ctx, err))
	}
	return nil
}

// observe takes down a failure that was passed on as it came: what the client got, and what
// it would have got.
func (c *call) observe(e *recourse.Error) {
	if e == nil {
		return
	}
	e = c.settle(e)
	after := c.on.contract.Write(e, c.contractCall(e, c.protocolStatus(e.Kind)))
	c.out.record, c.out.reason = after.Record, "failures are only observed"
	c.out.told = append(c.out.told, told{
		message: "observed", e: after.Record, note: "passed on as it came", attempts: c.out.attempts,
		reason: c.out.reason, before: e.Cause(), after: errors.New(shown(after)),
	})
}

// watch looks for the failure in an answer that was passed on.
func (c *call) watch(text []byte, broken error) {
	signs := c.in.scan.Signs()
	if broken == nil && !signs.ID.Equal(c.req.msg.ID) {
		broken = errWrongID
	}
	if broken != nil {
		c.observe(recourse.BadResponse(c.to.Title).WithOrigin(recourse.OriginServer).CausedBy(broken))
		return
	}
	if reading, _, ok := c.reading(text); ok {
		c.observe(c.caused(reading.Error(), text))
	}
}

// watchLarge does so with one that was too large to be kept.
func (c *call) watchLarge() {
	if err := c.flaw(); err != nil {
		c.observe(recourse.BadResponse(c.to.Title).WithOrigin(recourse.OriginServer).CausedBy(err))
		return
	}
	c.late()
}
