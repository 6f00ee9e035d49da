package upstream

import (
	"bytes"
	"io"
	"sync/atomic"
)

// Body is a message to send, once or more often. A transport may go on reading it
// after the answer has come (see http.RoundTripper): its memory belongs to the
// transport as long as it is [Body.Busy]. The zero Body is empty.
type Body struct {
	text    []byte
	readers atomic.Int32
}

// NewBody returns a Body of that text.
func NewBody(text []byte) *Body { return &Body{text: text} }

// Set makes text the message. The Body must not be busy.
func (b *Body) Set(text []byte) { b.text = text }

// Busy reports whether something still reads the message.
func (b *Body) Busy() bool { return b.readers.Load() > 0 }

func (b *Body) open() io.ReadCloser {
	b.readers.Add(1)
	r := &bodyReader{of: b}
	r.Reset(b.text)
	return r
}

type bodyReader struct {
	bytes.Reader

	of     *Body
	closed atomic.Bool
}

func (r *bodyReader) Close() error {
	if !r.closed.Swap(true) {
		r.of.readers.Add(-1)
	}
	return nil
}
