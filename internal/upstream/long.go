package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/recoursehq/recourse/internal/spool"
	"github.com/recoursehq/recourse/internal/wire"
)

const (
	// longest limits the size of an answer.
	longest = 1 << 30
	// heldBack is how many bytes are held back while the position of the id is unknown: more than any of our
	// ids takes.
	heldBack = 32
)

var (
	errTooLong   = fmt.Errorf("the answer is larger than %d MiB", longest>>20)
	errForeignID = errors.New("the id of the answer is not spelled as an integer")
	errClosed    = errors.New("the answer was closed")
)

// A longAnswer is an answer larger than the window, on its way from the child to the reader waiting for it.
// The child is never kept waiting, since others wait for its next messages. The id, which may come last, is
// replaced on the way.
//
// One goroutine writes and another reads; any may call close.
type longAnswer struct {
	wake chan struct{} // holds a token when there is something new

	mu      sync.Mutex
	text    *spool.Text // written and not yet read
	written int64       // size of the answer
	given   int64       // bytes already read

	id      wire.Span // where the id is, once that is known
	instead wire.ID   // the replacement

	ended  bool  // nothing more will be written
	err    error // how it ends; io.EOF if the answer is complete
	closed bool  // nobody reads it
}

func newLongAnswer(room *spool.Room) *longAnswer {
	return &longAnswer{wake: make(chan struct{}, 1), text: spool.NewText(room)}
}

// replace sets the id that the reader gets. It is called before there is a reader.
func (a *longAnswer) replace(instead wire.ID) { a.instead = instead }

// place sets the position of the id. It is called before the end of the id is written.
func (a *longAnswer) place(at wire.Span) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.id = at; int64(at.Start) < a.given || at.End-at.Start > heldBack {
		a.end(errForeignID)
	}
}

// put writes a piece of the answer. Errors are reported to the reader.
func (a *longAnswer) put(p []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended || a.closed {
		return
	}
	if a.written += int64(len(p)); a.written > longest {
		a.end(errTooLong)
		return
	}
	if _, err := a.text.Write(p); err != nil {
		a.end(fmt.Errorf("hold an answer in a file: %w", err))
	}
	wake(a.wake)
}

// finish says that the text is complete or, with err, why it will not be.
func (a *longAnswer) finish(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		err = io.EOF
	}
	a.end(err)
}

func (a *longAnswer) end(err error) {
	if !a.ended {
		a.ended, a.err = true, err
	}
	if a.err != nil && !errors.Is(a.err, io.EOF) {
		a.text.Drop()
	}
	wake(a.wake)
}

// close says that nobody reads the answer any more.
func (a *longAnswer) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.text.Drop()
	wake(a.wake)
}

// next waits for a piece of the text and reads it into p. The error is io.EOF at the end of a complete text,
// the fault if there was one, or the cause of ctx.
func (a *longAnswer) next(ctx context.Context, p []byte) (int, error) {
	for {
		n, err := a.poll(p)
		if n > 0 || err != nil {
			return n, err
		}
		select {
		case <-a.wake:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

func (a *longAnswer) poll(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return 0, errClosed
	}
	if a.ended && !errors.Is(a.err, io.EOF) {
		return 0, a.err
	}
	ready := a.written - a.given
	if a.id.IsZero() && !a.ended {
		ready = max(0, ready-heldBack)
	}
	if !a.id.IsZero() {
		start, end := int64(a.id.Start), int64(a.id.End)
		switch {
		case a.given < start:
			ready = min(ready, start-a.given)
		case a.given == start && ready < end-start:
			ready = 0
		case a.given == start:
			return a.giveID(p, int(end-start))
		}
	}
	if ready == 0 && a.ended {
		return 0, a.err
	}
	return a.get(p[:min(int64(len(p)), ready)])
}

// giveID gives the client's id instead of the next n bytes.
func (a *longAnswer) giveID(p []byte, n int) (int, error) {
	given := copy(p, a.instead)
	if a.instead = a.instead[given:]; len(a.instead) > 0 {
		return given, nil
	}
	var skipped [heldBack]byte
	for n > 0 { // it may begin in memory and end in the file
		done, err := a.get(skipped[:n])
		if err != nil {
			return given, err
		}
		n -= done
	}
	return given, nil
}

func (a *longAnswer) get(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := a.text.Read(p)
	a.given += int64(n)
	if err != nil {
		err = fmt.Errorf("hold an answer in a file: %w", err)
		a.end(err)
	}
	return n, err
}

// longBody is an answer's body that is one long text.
type longBody struct {
	ctx    context.Context //nolint:containedctx // reading is part of the exchange, as it is in net/http
	answer *longAnswer
}

var _ io.ReadCloser = (*longBody)(nil)

// Read implements [io.Reader].
func (b *longBody) Read(p []byte) (int, error) { return b.answer.next(b.ctx, p) }

// Close implements [io.Closer]. It may be called while Read waits.
func (b *longBody) Close() error {
	b.answer.close()
	return nil
}
