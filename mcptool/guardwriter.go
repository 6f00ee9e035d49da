package mcptool

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/recoursehq/recourse"
)

// A responseWriter knows whether the answer has begun and what the call was charged, and
// withholds answers that are to be replaced.
type responseWriter struct {
	http.ResponseWriter

	started   bool
	charge    Charge
	withholds func(status int, header http.Header) bool // nil: none
	held      *heldAnswer
	ids       *idWriter // nil: nothing in the answer is to be restored
}

// A heldAnswer is an answer that has not been sent to the client.
type heldAnswer struct {
	status int
	text   []byte // the beginning
}

// maxHeld bounds how much of an answer's text is held.
const maxHeld = 4 << 10

// WriteHeader writes the head of the answer.
func (w *responseWriter) WriteHeader(status int) {
	if w.held != nil {
		return
	}
	if !w.started && w.withholds != nil && w.withholds(status, w.Header()) {
		w.held = &heldAnswer{status: status}
		return
	}
	if !w.started && status >= http.StatusOK {
		w.started = true
		if w.charge != nil {
			w.setRemaining()
		}
		if w.ids != nil {
			w.ids.begin(w.Header())
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// setRemaining writes what is left of the allowance with the shortest window.
func (w *responseWriter) setRemaining() {
	quotas := w.charge.Quotas()
	if len(quotas) == 0 {
		return
	}
	shortest := slices.MinFunc(quotas, func(a, b recourse.Quota) int { return int(min(max(a.Window-b.Window, -1), 1)) })
	w.Header().Set("X-RateLimit-Remaining", strconv.FormatInt(max(shortest.Remaining, 0), 10))
}

// Write writes a piece of the body.
func (w *responseWriter) Write(p []byte) (int, error) {
	if !w.started {
		w.WriteHeader(http.StatusOK)
	}
	if w.held != nil {
		w.held.text = append(w.held.text, p[:min(len(p), maxHeld-len(w.held.text))]...)
		return len(p), nil
	}
	if w.ids != nil {
		return len(p), w.ids.write(w.ResponseWriter, p)
	}
	return w.ResponseWriter.Write(p) //nolint:gosec // what is written is the handler's
}

// end sends what is left of the answer.
func (w *responseWriter) end() {
	if w.ids != nil {
		w.ids.end(w.ResponseWriter)
	}
}

// Flush sends what was written, for writers that stream.
func (w *responseWriter) Flush() {
	if !w.started {
		w.WriteHeader(http.StatusOK)
	}
	if w.held != nil {
		return
	}
	_ = http.NewResponseController(w.ResponseWriter).Flush() // not every writer can
}

// Unwrap returns the writer beneath, for http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

var _ http.Flusher = (*responseWriter)(nil)
