// Package intake takes in the messages of clients: from the body of a request or the line of a host, within what all
// requests together may hold in memory. Of what is too large, only the beginning is kept.
package intake

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

const (
	// One part in smallShare of the memory is reserved for requests of up to smallRequest, so that they get
	// through when large ones use the rest.
	smallRequest = 64 << 10
	smallShare   = 4
	// BusyWait is how long a client is told to wait if there is no room for its request.
	BusyWait = time.Second
)

// InFlight counts the requests in progress, and the bytes that they hold. It is safe for concurrent use.
type InFlight struct{ Requests, bytes atomic.Int64 }

// Bytes returns how many bytes all requests hold.
func (f *InFlight) Bytes() int64 { return f.bytes.Load() }

// take counts n more bytes for a request that holds have, and reports whether all requests together stay
// within most.
func (f *InFlight) take(have, n, most int64) bool {
	if have+n > smallRequest+1 { // of these, the last one is never read
		most -= most / smallShare
	}
	if f.bytes.Add(n) > most {
		f.bytes.Add(-n)
		return false
	}
	return true
}

// Limits are how many bytes a message may have, and all that are in flight.
type Limits struct{ Message, InFlight int64 }

// An Intake takes in the message of one request.
type Intake struct {
	From *http.Request       // over HTTP, whose body it is
	To   http.ResponseWriter // over HTTP, who is answered
	Line *wire.Line          // of a host on stdio; nil: it has written none

	Of     *InFlight // counts it
	Limits Limits

	Text []byte // as far as it has come
	held int64  // bytes that count as in flight
}

// A Refusal says why a message is not read to its end.
type Refusal struct {
	Status int // of HTTP
	Err    *recourse.Error
	ID     wire.ID       // of the message, if it can be found: the Go SDK ends its session after a 4xx without one
	Call   bool          // the message is the call of a tool
	Wait   time.Duration // until there may be room; 0: it does not help
}

// mostDropped is how many times the size of the largest message is read of one that is refused, so that the refusal finds its
// call: most clients send the id last, and many do not read an answer before they have sent everything.
const mostDropped = 16

// refuse refuses the message. The rest of it is read as well, in little memory.
func (in *Intake) refuse(status int, e *recourse.Error) *Refusal {
	var outline wire.Outline
	switch {
	case in.Line != nil && in.Line.Cut():
		outline = in.Line.Outline
	case in.Line != nil:
		outline = wire.Outlined(bytes.NewReader(in.Text))
	case in.From.ContentLength > mostDropped*in.Limits.Message, in.From.Header.Get("Expect") != "":
		in.Text = in.First()
		return &Refusal{Status: status, Err: e, ID: door.FirstID(in.Text)}
	default:
		rest := io.LimitReader(in.From.Body, mostDropped*in.Limits.Message)
		outline = wire.Outlined(io.MultiReader(bytes.NewReader(in.Text), rest))
		in.Text = in.Text[:min(len(in.Text), firstPart)]
	}
	return &Refusal{Status: status, Err: e, ID: outline.ID, Call: outline.Method == wire.MethodToolsCall}
}

// Read reads the message to its end, and counts its bytes as in flight until Release.
func (in *Intake) Read() *Refusal {
	size := in.From.ContentLength
	if in.Line != nil {
		in.Text, size = in.Line.Text, int64(in.Line.Size)
	}
	switch {
	case size > in.Limits.Message:
		return in.refuse(http.StatusRequestEntityTooLarge, recourse.TooLarge(in.Limits.Message).WithOrigin(recourse.OriginCaller))
	case in.Line == nil:
		return in.readAll()
	case !in.take(size):
		return in.busy()
	default:
		return nil
	}
}

// Release gives back what Read has taken.
func (in *Intake) Release() {
	if in.Of != nil {
		in.Of.bytes.Add(-in.held)
	}
}

func (in *Intake) take(n int64) bool {
	if !in.Of.take(in.held, n, in.Limits.InFlight) {
		return false
	}
	in.held += n
	return true
}

// busy refuses a request for which there is no memory.
func (in *Intake) busy() *Refusal {
	refusal := in.refuse(http.StatusTooManyRequests, recourse.RateLimited(BusyWait).
		WithMessage("The gateway is busy with other requests. This one was not carried out: repeat it in %s.",
			recourse.FormatWait(BusyWait)).
		WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone))
	refusal.Wait = BusyWait
	return refusal
}

// Within limits the time for receiving a body. The limit stays even if the body is not read: net/http still
// waits for the rest of it.
func (in *Intake) Within(until time.Time) {
	if in.From.ContentLength != 0 {
		_ = http.NewResponseController(in.To).SetReadDeadline(until) // not every writer has one
	}
}

// Only the beginning of a message that is too large is read, if it comes at once.
const (
	firstPart    = 1 << 10
	firstTimeout = 100 * time.Millisecond
)

// First reads the beginning of a message when the rest is not needed.
func (in *Intake) First() []byte {
	switch {
	case in.Line != nil:
		return in.Line.Text
	case in.From.ContentLength == 0 || in.From.Header.Get("Expect") != "": // the body has not been sent yet
		return nil
	}
	in.Within(time.Now().Add(firstTimeout))
	text := make([]byte, firstPart)
	n, _ := io.ReadFull(in.From.Body, text) // what has arrived is enough
	return text[:n]
}

// readAll reads the body to its end. The memory for it counts as in flight before any of it arrives, and grows with what
// arrives: a client that announces a large body does not have to send it.
func (in *Intake) readAll() *Refusal {
	const first = 16 << 10
	for {
		have := len(in.Text)
		if have == cap(in.Text) {
			more := max(have, first)
			if rest := in.From.ContentLength + 1 - int64(have); rest > 0 { // one more byte, to see the end
				more = int(min(int64(more), rest))
			}
			if !in.take(int64(more)) {
				return in.busy()
			}
			in.Text = append(make([]byte, 0, have+more), in.Text...)
		}
		n, err := in.From.Body.Read(in.Text[have:cap(in.Text)])
		in.Text = in.Text[:have+n]
		switch {
		case int64(have+n) > in.Limits.Message:
			return in.refuse(http.StatusRequestEntityTooLarge, recourse.TooLarge(in.Limits.Message).WithOrigin(recourse.OriginCaller))
		case errors.Is(err, io.EOF):
			in.Within(time.Time{})
			return nil
		case err != nil:
			e := recourse.New(recourse.KindMalformed, "The message did not arrive in full.").CausedBy(err)
			return in.refuse(http.StatusBadRequest, e)
		}
	}
}
