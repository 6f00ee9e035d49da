package recovery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
)

// wholeEvents is the body of an event stream that answers a request. It passes on only complete events, since an SDK would
// end its session over half an event. If the stream breaks off before the answer, it ends with an event that says so. A
// stream that can be resumed, because its events have ids, is left to break off.
type wholeEvents struct {
	from io.ReadCloser
	ctx  context.Context //nolint:containedctx // of the request
	id   json.RawMessage // of the request

	part      []byte // of an event
	ready     []byte
	err       error // behind what is ready
	answered  bool
	resumable bool
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
	const chunk = 8 << 10
	length := len(w.part)
	w.part = slices.Grow(w.part, chunk)
	n, err := w.from.Read(w.part[length : length+chunk])
	w.part = w.part[:length+n]
	if end := endOfEvents(w.part, length); end > 0 {
		w.look(w.part[:end])
		w.ready, w.part = w.part[:end:end], bytes.Clone(w.part[end:])
	} else if len(w.part) >= maxAnswer { // nobody waits for the end of that
		w.answered = true
		w.ready, w.part = w.part, nil
	}
	if err != nil {
		w.end(err)
	}
}

// end ends the body.
func (w *wholeEvents) end(err error) {
	w.err = err
	if w.answered || w.resumable || w.ctx.Err() != nil {
		w.ready = append(w.ready, w.part...)
		return
	}
	e := recourse.BadResponse("").WithOrigin(recourse.OriginServer)
	if !errors.Is(err, io.EOF) {
		e = recourse.From(err)
	}
	if message, failed := errorMessage(w.id, e); failed == nil {
		w.ready = append(append(append(w.ready, "event: message\ndata: "...), message...), "\n\n"...)
		w.err = io.EOF
	}
}

// look looks for the answer, and for ids, in complete events.
func (w *wholeEvents) look(events []byte) {
	var data []byte
	for line := range bytes.Lines(events) {
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case bytes.HasPrefix(line, []byte("id:")):
			w.resumable = true
		case bytes.HasPrefix(line, []byte("data:")):
			data = append(data, bytes.TrimPrefix(line[len("data:"):], []byte(" "))...)
		case len(line) == 0:
			answers := lookup(data, "/result") != nil || lookup(data, "/error") != nil
			w.answered = w.answered || answers && string(lookup(data, "/id")) == string(w.id)
			data = nil
		}
	}
}

// endOfEvents returns where the last complete event ends, 0 if there is none. None ends before known.
func endOfEvents(b []byte, known int) int {
	from := max(known-len("\r\n\r"), 0) // the end may have begun
	text, end := string(b[from:]), 0
	for _, mark := range []string{"\n\n", "\r\n\r\n"} {
		if i := strings.LastIndex(text, mark); i >= 0 {
			end = max(end, from+i+len(mark))
		}
	}
	return end
}
