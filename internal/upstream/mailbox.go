package upstream

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

const (
	// mailboxMessages and mailboxBytes limit what waits for a slow reader.
	mailboxMessages = 256
	mailboxBytes    = 1 << 20
	// pieceSize is how much of a long answer is read at a time.
	pieceSize = 32 << 10
)

// A delivery is something that a server said to one reader: a complete text, or one that is still being
// written.
type delivery struct {
	text  []byte
	signs *wire.Signs // of text; nil: it has not been scanned
	long  *longAnswer // in place of text
	last  bool        // it is the answer
}

// A Mailbox holds messages waiting for a single reader. Put never blocks. The zero Mailbox is empty. It is
// safe for concurrent use.
type Mailbox struct {
	mu    sync.Mutex
	wake  chan struct{} // holds a token when there is something new; nil: nobody has waited yet
	queue []delivery
	bytes int
	err   error // how it ends; nil while it is open
}

// Put adds a message, and reports false when the mailbox is full or has ended.
func (b *Mailbox) Put(text []byte) bool { return b.put(delivery{text: text}) }

func (b *Mailbox) put(m delivery) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil || len(b.queue) >= mailboxMessages || b.bytes+len(m.text) > mailboxBytes && len(b.queue) > 0 {
		return false
	}
	b.bytes += len(m.text)
	b.queue = append(b.queue, m)
	wake(b.wake)
	return true
}

// Finish adds the last message, after which io.EOF comes.
func (b *Mailbox) Finish(text []byte) { b.finish(delivery{text: text}) }

func (b *Mailbox) finish(m delivery) (taken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return false
	}
	m.last = true
	b.queue, b.err = append(b.queue, m), io.EOF
	wake(b.wake)
	return true
}

// End ends the mailbox: after its messages have been taken, err is returned.
func (b *Mailbox) End(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
	wake(b.wake)
}

// next takes a message, waiting for one if need be. The error is that of End or Finish, or the cause of ctx.
func (b *Mailbox) next(ctx context.Context) (delivery, error) {
	for {
		if m, ok, err := b.poll(); ok || err != nil {
			return m, err
		}
		select {
		case <-b.wake:
		case <-ctx.Done():
			return delivery{}, context.Cause(ctx)
		}
	}
}

func (b *Mailbox) poll() (m delivery, ok bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		if b.wake == nil {
			b.wake = make(chan struct{}, 1)
		}
		return delivery{}, false, b.err
	}
	m = b.queue[0]
	b.queue[0] = delivery{}
	if b.queue = b.queue[1:]; len(b.queue) == 0 {
		b.queue = nil
	}
	b.bytes -= len(m.text)
	return m, true, nil
}

// drain takes everything that is left, and ends the mailbox with err.
func (b *Mailbox) drain(err error) []delivery {
	b.End(err)
	return b.take()
}

func (b *Mailbox) take() []delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.queue
	b.queue, b.bytes = nil, 0
	return left
}

// Answer returns an answer that is the messages, until the mailbox or ctx ends. Its first Close calls onClose.
func (b *Mailbox) Answer(ctx context.Context, onClose func()) *wire.Answer {
	parts := b.parts(ctx, onClose)
	return wire.RespondParts(parts, parts)
}

func (b *Mailbox) parts(ctx context.Context, onClose func()) *mailboxParts {
	ctx, cancel := context.WithCancelCause(ctx)
	return &mailboxParts{ctx: ctx, cancel: cancel, mailbox: b, onClose: onClose}
}

// mailboxParts are the messages of a mailbox for its reader.
type mailboxParts struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	mailbox *Mailbox
	onClose func()
	once    sync.Once

	said delivery // the last one that was taken, or is to be returned next
	next bool     // it is
	part wire.Part
	long atomic.Pointer[longAnswer] // what is being read in pieces
}

// first makes something that has been taken from the mailbox what Next returns first.
func (b *mailboxParts) first(said delivery) {
	b.said, b.next = said, true
	b.long.Store(said.long)
}

// Next implements [wire.Parts].
func (b *mailboxParts) Next() (*wire.Part, error) {
	if long := b.long.Load(); long != nil && !b.next {
		return b.piece(long, false)
	}
	if !b.next {
		said, err := b.mailbox.next(b.ctx)
		if err != nil {
			return nil, err
		}
		b.first(said)
	}
	if b.next = false; b.said.long != nil {
		if b.ctx.Err() != nil { // Close may have come before it was there
			b.said.long.close()
		}
		return b.piece(b.said.long, true)
	}
	b.part = wire.Whole(b.said.text)
	b.part.Signs = b.said.signs
	return &b.part, nil
}

// piece returns the next piece of a long answer.
func (b *mailboxParts) piece(long *longAnswer, first bool) (*wire.Part, error) {
	text, err := long.next(b.ctx)
	b.part = wire.Whole(text)
	b.part.First, b.part.Complete = first, errors.Is(err, io.EOF)
	switch {
	case b.part.Complete:
		long.close()
		b.long.Store(nil)
	case err != nil:
		return nil, err
	}
	return &b.part, nil
}

// Close implements [io.Closer].
func (b *mailboxParts) Close() error {
	b.once.Do(func() {
		b.cancel(errClosed)
		b.long.Load().close()
		b.onClose()
	})
	return nil
}

// wake puts a token into a channel that has room for one, if there is a channel.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
