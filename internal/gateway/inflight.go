package gateway

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse"
)

const (
	// smallRequest is what a request may hold even when large ones hold all that they
	// may together: all but one part in smallShare.
	smallRequest = 64 << 10
	smallShare   = 4
	// busyWait is how long a client is told to wait that was refused for want of room.
	busyWait = time.Second
)

// inFlight counts the bytes that the requests under way hold.
type inFlight struct{ bytes atomic.Int64 }

// take adds n bytes to the have that a request holds, and reports whether there is
// room for them below most.
func (f *inFlight) take(have, n, most int64) bool {
	if have+n > smallRequest {
		most -= most / smallShare
	}
	if f.bytes.Add(n) > most {
		f.bytes.Add(-n)
		return false
	}
	return true
}

// maxInFlight returns how many bytes requests may hold together.
func (t *table) maxInFlight() int64 {
	return max(int64(t.config.MaxInFlight), 2*int64(t.config.MaxRequest)) // else the largest would never have room
}

// errBusy says that the requests under way hold too much.
var errBusy = errors.New("the requests under way hold all the memory that they may")

// A bodyReader reads the body of a request, and counts what the request holds.
type bodyReader struct {
	x    *exchange
	from io.Reader
}

// Read implements [io.Reader].
func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if !b.x.g.inFlight.take(b.x.holding, int64(n), b.x.table.maxInFlight()) {
		return 0, errBusy
	}
	b.x.holding += int64(n)
	return n, err
}

// busy returns the refusal of a request for which there is no room.
func (x *exchange) busy() (status int, e *recourse.Error) {
	wait := recourse.FormatWait(busyWait)
	x.w.Header()["Retry-After"] = []string{strconv.Itoa(int(busyWait.Seconds()))}
	return http.StatusTooManyRequests, recourse.RateLimited(busyWait).
		WithMessage("The gateway is busy with other requests. This one was not carried out; it can be repeated in %s.", wait).
		WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone)
}
