package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/spool"
)

// longest limits the size of an answer.
const longest = 1 << 30

var (
	errTooLong = fmt.Errorf("the answer is larger than %d MiB", longest>>20)
	errClosed  = errors.New("the answer was closed")
)

// A longAnswer is an answer larger than the window, on its way from the child to the reader waiting for it.
// The child is never kept waiting, since others wait for its next messages.
//
// One goroutine writes and another reads; any may call close.
type longAnswer struct {
	wake chan struct{} // holds a token when there is something new

	mu      sync.Mutex
	text    *spool.Text // written and not yet read
	written int64       // size of the answer
	err     error       // how it ends: io.EOF if it is complete, errClosed if nobody reads it; nil: there is more to come

	// Of the reader:
	rewriter    wire.Rewriter // puts the client's id back
	room, piece []byte        // what has been read, and the same with that id
}

func newLongAnswer(room *spool.Room) *longAnswer {
	return &longAnswer{wake: make(chan struct{}, 1), text: spool.NewText(room)}
}

// renumber gives the reader another id than the child's. It is called before there is a reader.
func (a *longAnswer) renumber(from, to wire.ID) { a.rewriter.Renumber(from, to, false) }

// put writes a piece of the answer. Errors are reported to the reader.
func (a *longAnswer) put(p []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
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

// finish says that the text is complete, by io.EOF, or why it will not be.
func (a *longAnswer) finish(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end(err)
}

func (a *longAnswer) end(err error) {
	if a.err == nil {
		a.err = err
	}
	if !errors.Is(a.err, io.EOF) {
		a.text.Drop()
	}
	wake(a.wake)
}

// close says that nobody reads the answer any more. There may be none.
func (a *longAnswer) close() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = errClosed
	a.text.Drop()
	wake(a.wake)
}

// next returns the next piece, which is valid until the next call. The error is io.EOF with the last piece of a complete text, the fault
// if there was one, or the cause of ctx.
func (a *longAnswer) next(ctx context.Context) ([]byte, error) {
	if a.room == nil {
		a.room = make([]byte, pieceSize)
	}
	for {
		n, err := a.poll(a.room)
		switch {
		case n > 0:
			if a.piece = a.rewriter.Append(a.piece[:0], a.room[:n]); len(a.piece) > 0 {
				return a.piece, nil
			}
		case errors.Is(err, io.EOF):
			return a.rewriter.Close(a.piece[:0]), io.EOF
		case err != nil:
			return nil, err
		default:
			select {
			case <-a.wake:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
	}
}

// poll reads what is there.
func (a *longAnswer) poll(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil && !errors.Is(a.err, io.EOF) {
		return 0, a.err
	}
	n, err := a.text.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		return 0, a.err
	case err != nil:
		err = fmt.Errorf("hold an answer in a file: %w", err)
		a.end(err)
	}
	return n, err
}
