package inject

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/wire"
)

// The errors of faults that a connection would have.
var (
	errReset   = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
)

// handover is the time between the last byte and a reset, which discards what has not been handed over yet.
const handover = 20 * time.Millisecond

// deliver returns the reader from which the client gets an answer, and how many bytes the headers announce: fewer come
// where the connection is reset.
func (t *treatment) deliver(ctx context.Context, text []byte) (body io.Reader, length int) {
	name := ""
	if t.fault != nil {
		name = t.fault.Name
	}
	switch name {
	case drip:
		return &dripping{ctx: ctx, rest: text, gap: t.fault.Gap}, len(text)
	case truncate:
		return bytes.NewReader(text[:len(text)/2]), len(text) / 2
	case resetWithin:
		return io.MultiReader(bytes.NewReader(text[:len(text)/2]), resetting{ctx}), len(text)
	case resetAfter:
		return io.MultiReader(bytes.NewReader(text), resetting{ctx}), len(text)
	default:
		return bytes.NewReader(text), len(text)
	}
}

// dripping reads byte by byte, with a pause before each but the first.
type dripping struct {
	ctx  context.Context //nolint:containedctx // a Read has none, and ends with the request
	rest []byte
	gap  time.Duration

	begun bool
}

// Read implements [io.Reader].
func (d *dripping) Read(p []byte) (int, error) {
	switch {
	case len(d.rest) == 0:
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	case d.begun && !pause.For(d.ctx, d.gap):
		return 0, context.Cause(d.ctx)
	}
	d.begun = true
	p[0], d.rest = d.rest[0], d.rest[1:]
	return 1, nil
}

// resetting fails as a connection does that is reset.
type resetting struct {
	ctx context.Context //nolint:containedctx // as that of dripping
}

// Read implements [io.Reader].
func (r resetting) Read([]byte) (int, error) {
	pause.For(r.ctx, handover)
	return 0, errReset
}

// maxAnswer bounds an answer that is changed. A larger one passes as it is.
const maxAnswer = 16 << 20

// A streamed is the body of an event stream: all events but the answer pass as they come.
type streamed struct {
	source io.Closer
	events *wire.MessageReader
	id     wire.ID
	// change returns the reader of what the client gets in place of the answer, after which the stream ends.
	change func(answer []byte) io.Reader

	passing []byte
	last    io.Reader
}

// newStreamed returns the body in place of that of resp.
func newStreamed(resp *http.Response, id wire.ID, change func([]byte) io.Reader) *streamed {
	return &streamed{source: resp.Body, events: wire.NewMessageReader(resp, maxAnswer), id: id, change: change}
}

// Read implements [io.Reader].
func (s *streamed) Read(p []byte) (int, error) {
	for len(s.passing) == 0 && s.last == nil {
		part, err := s.events.Next()
		switch {
		case part == nil:
			return 0, err
		case !part.Other && part.First && part.Complete && part.Err == nil && answers(part.Signs, s.id):
			s.last = s.change(bytes.Clone(part.Data))
		default:
			s.passing = bytes.Clone(part.Raw)
			if err != nil {
				s.last = io.MultiReader(failing{err})
			}
		}
	}
	if len(s.passing) > 0 {
		n := copy(p, s.passing)
		s.passing = s.passing[n:]
		return n, nil
	}
	return s.last.Read(p)
}

// Close implements [io.Closer].
func (s *streamed) Close() error { return s.source.Close() }

// failing is a reader that fails.
type failing struct{ err error }

// Read implements [io.Reader].
func (f failing) Read([]byte) (int, error) { return 0, f.err }

// drain reads an answer to its end, so that the server has done its work.
func drain(body io.ReadCloser) error {
	_, err := io.Copy(io.Discard, body)
	return errors.Join(err, body.Close())
}
