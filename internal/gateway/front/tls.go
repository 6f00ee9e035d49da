package front

import (
	"net/http"
	"time"
)

// patient does for the streams of HTTP/2 what clientConn does for connections: a client that reads its other
// streams, but not this one, only holds it for a limited time per piece.
type patient struct {
	http.Handler

	patience time.Duration
}

func (p patient) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 2 {
		w = &streamWriter{w, http.NewResponseController(w), p.patience}
	}
	p.Handler.ServeHTTP(w, r)
}

// A streamWriter writes to a stream of HTTP/2.
type streamWriter struct {
	http.ResponseWriter

	control  *http.ResponseController
	patience time.Duration
}

// Unwrap is for [http.ResponseController].
func (w *streamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *streamWriter) Write(p []byte) (written int, err error) {
	for {
		piece := p[written:min(len(p), written+writePiece)]
		n, err := w.within(func() (int, error) { return w.ResponseWriter.Write(piece) })
		if written += n; err != nil || written == len(p) {
			return written, err
		}
	}
}

// FlushError sends what was written.
func (w *streamWriter) FlushError() error {
	_, err := w.within(func() (int, error) { return 0, w.control.Flush() })
	return err
}

func (w *streamWriter) within(write func() (int, error)) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.patience)) // a stream of HTTP/2 has one
	defer func() { _ = w.control.SetWriteDeadline(time.Time{}) }()
	return write()
}
