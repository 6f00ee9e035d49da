package recovery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// wholeEvents is the body of an event stream that answers a request. It passes on only complete events, since an SDK would
// end its session over half an event. If the stream breaks off before the answer, it ends with an event that says so. A
// stream that can be resumed, because its events have ids, is left to break off.
type wholeEvents struct {
	from     io.Closer
	messages wire.MessageReader
	ctx      context.Context
	id       wire.ID // of the request

	begun     []byte // the beginning of an event, which may break off
	ready     []byte
	err       error // returned after ready
	answered  bool
	resumable bool
}

// newWholeEvents returns the whole events of a server's body.
func newWholeEvents(ctx context.Context, id json.RawMessage, body io.ReadCloser) *wholeEvents {
	w := &wholeEvents{from: body, ctx: ctx, id: wire.ID(id)}
	w.messages.Reset(body, true, 0, maxAnswer)
	return w
}

// Read implements [io.Reader].
func (w *wholeEvents) Read(p []byte) (int, error) {
	for len(w.ready) == 0 {
		if w.err != nil {
			return 0, w.err
		}
		w.fill()
	}
	n := copy(p, w.ready)
	w.ready = w.ready[n:]
	return n, nil
}

// Close implements [io.Closer].
func (w *wholeEvents) Close() error { return w.from.Close() }

// fill reads until there is something to pass on, or the stream ends.
func (w *wholeEvents) fill() {
	part, err := w.messages.Next()
	switch {
	case err != nil:
		w.end(err)
	case part.First && !part.Complete: // too large for the buffer, or broken off: the next part shows which
		w.begun = bytes.Clone(part.Raw)
	case !part.First: // too large: it is passed on part by part
		w.answered = true
		w.ready, w.begun = slices.Concat(w.begun, part.Raw), nil
	default:
		w.resumable = w.resumable || part.HasID
		w.answered = w.answered || part.Kind == wire.Response && part.Signs.ID.Equal(w.id)
		w.ready = part.Raw
	}
}

// end ends the body.
func (w *wholeEvents) end(err error) {
	if errors.Is(err, wire.ErrUnfinishedEvent) {
		err = io.EOF
	}
	w.err = err
	if w.answered || w.resumable || w.ctx.Err() != nil {
		w.ready = w.begun
		return
	}
	e := recourse.BadResponse("").WithOrigin(recourse.OriginServer)
	if wire.BrokeOff(err) {
		e = recourse.From(err)
	}
	if message, failed := errorMessage(json.RawMessage(w.id), e); failed == nil {
		w.ready, w.err = wire.AppendEvent(nil, "", "message", message), io.EOF
	}
}
