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
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// Errors as a real connection would return them.
var (
	errReset   = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
)

// handover is the time between the last byte and a reset, which discards what has not been handed over yet.
const handover = 20 * time.Millisecond

// deliver returns the reader from which the client gets an answer of that length, and how many bytes the
// headers announce: fewer arrive if the connection is reset. A length of -1 means unknown; nothing is halved
// then.
func (t *treatment) deliver(ctx context.Context, answer io.Reader, length int64) (io.Reader, int64) {
	name := ""
	if t.fault != nil {
		name = t.fault.Name
	}
	switch name {
	case drip:
		return &dripping{ctx: ctx, from: answer, gap: t.fault.Gap}, length
	case truncate:
		if length > 0 {
			length /= 2
			answer = io.LimitReader(answer, length)
		}
		return answer, length
	case resetWithin:
		if length > 0 {
			answer = io.LimitReader(answer, length/2)
		}
		return io.MultiReader(answer, resetting{ctx}), length
	case resetAfter:
		return io.MultiReader(answer, resetting{ctx}), length
	default:
		return answer, length
	}
}

// dripping reads byte by byte, with a pause before each byte but the first.
type dripping struct {
	ctx  context.Context
	from io.Reader
	gap  time.Duration

	begun bool
}

// Read implements [io.Reader].
func (d *dripping) Read(p []byte) (int, error) {
	if d.begun && !pause.For(d.ctx, d.gap) {
		return 0, context.Cause(d.ctx)
	}
	n, err := d.from.Read(p[:min(1, len(p))])
	d.begun = d.begun || n > 0
	return n, err
}

// resetting fails as a connection does when it is reset.
type resetting struct {
	ctx context.Context
}

// Read implements [io.Reader].
func (r resetting) Read([]byte) (int, error) {
	pause.For(r.ctx, handover)
	return 0, errReset
}

// maxAnswer limits an answer that is changed. A larger one passes unchanged.
const maxAnswer = 16 << 20

// A streamed is the body of an event stream: all events but the answer pass as they come.
type streamed struct {
	source io.Closer
	events *wire.MessageReader
	id     wire.ID
	// change returns the reader of what the client gets instead of the answer, after which the stream ends.
	change func(answer []byte) io.Reader

	passing []byte
	last    io.Reader
}

// newStreamed returns the body that replaces that of resp.
func newStreamed(resp *http.Response, id wire.ID, change func([]byte) io.Reader) *streamed {
	return &streamed{source: resp.Body, events: wire.NewMessageReader(wire.OverHTTP(resp), maxAnswer), id: id, change: change}
}

// Read implements [io.Reader]. It takes part by part, since its reader decides when there is another.
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
				s.last = io.MultiReader(brokenReader{err})
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

// brokenReader is a reader that fails.
type brokenReader struct{ err error }

// Read implements [io.Reader].
func (f brokenReader) Read([]byte) (int, error) { return 0, f.err }

// drain reads an answer to its end, so that the server has done its work.
func drain(body io.ReadCloser) error {
	_, err := io.Copy(io.Discard, body)
	return errors.Join(err, body.Close())
}
