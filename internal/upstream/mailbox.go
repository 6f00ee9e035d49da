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
)

// A message is something that a server said to one reader: a complete text, or one that is still being
// written.
type message struct {
	text []byte
	long *longAnswer // in place of text
	last bool        // it is the answer
}

// A Mailbox holds messages waiting for a single reader. Put never blocks. The zero Mailbox is empty. It is
// safe for concurrent use.
type Mailbox struct {
	mu    sync.Mutex
	wake  chan struct{} // holds a token when there is something new; nil: nobody has waited yet
	queue []message
	bytes int
	err   error // how it ends; nil while it is open
}

// Put adds a message, and reports false when the mailbox is full or has ended.
func (b *Mailbox) Put(text []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil || len(b.queue) >= mailboxMessages || b.bytes+len(text) > mailboxBytes && len(b.queue) > 0 {
		return false
	}
	b.bytes += len(text)
	b.queue = append(b.queue, message{text: text})
	wake(b.wake)
	return true
}

// Finish adds the last message, after which io.EOF comes.
func (b *Mailbox) Finish(text []byte) { b.finish(message{text: text}) }

func (b *Mailbox) finish(m message) (taken bool) {
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
func (b *Mailbox) next(ctx context.Context) (message, error) {
	for {
		if m, ok, err := b.poll(); ok || err != nil {
			return m, err
		}
		select {
		case <-b.wake:
		case <-ctx.Done():
			return message{}, context.Cause(ctx)
		}
	}
}

func (b *Mailbox) poll() (m message, ok bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		if b.wake == nil {
			b.wake = make(chan struct{}, 1)
		}
		return message{}, false, b.err
	}
	m = b.queue[0]
	b.queue[0] = message{}
	if b.queue = b.queue[1:]; len(b.queue) == 0 {
		b.queue = nil
	}
	b.bytes -= len(m.text)
	return m, true, nil
}

// drain takes everything that is left, and ends the mailbox with err.
func (b *Mailbox) drain(err error) []message {
	b.End(err)
	return b.take()
}

func (b *Mailbox) take() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.queue
	b.queue, b.bytes = nil, 0
	return left
}

// Events returns a body of server-sent events, one for each message, until the mailbox or ctx ends. Its first
// Close calls onClose.
func (b *Mailbox) Events(ctx context.Context, onClose func()) io.ReadCloser {
	return b.events(ctx, onClose)
}

func (b *Mailbox) events(ctx context.Context, onClose func()) *eventBody {
	ctx, cancel := context.WithCancelCause(ctx)
	return &eventBody{ctx: ctx, cancel: cancel, mailbox: b, onClose: onClose}
}

// eventBody is the body that [Mailbox.Events] returns.
type eventBody struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	mailbox *Mailbox
	onClose func()
	once    sync.Once

	buf  []byte                     // what is not read yet of an event
	from []byte                     // the memory of buf
	long atomic.Pointer[longAnswer] // the rest of the event, if there is more
}

func (b *eventBody) load(m message) {
	if m.long == nil {
		b.from = wire.AppendMessage(b.from[:0], m.text)
	} else {
		b.from = append(b.from[:0], wire.EventBegin...)
		m.long.ctx = b.ctx
		b.long.Store(m.long)
	}
	b.buf = b.from
	if cap(b.from) > keptBuffer {
		b.from = nil
	}
}

// Read implements [io.Reader].
func (b *eventBody) Read(p []byte) (int, error) {
	for len(b.buf) == 0 {
		if long := b.long.Load(); long != nil {
			n, err := long.Read(p)
			if n > 0 || !errors.Is(err, io.EOF) {
				return n, err
			}
			long.close()
			b.long.Store(nil)
			b.from = append(b.from[:0], wire.EventEnd...)
			b.buf = b.from
			break
		}
		m, err := b.mailbox.next(b.ctx)
		if err != nil {
			return 0, err
		}
		b.load(m)
	}
	n := copy(p, b.buf)
	b.buf = b.buf[n:]
	return n, nil
}

// Close implements [io.Closer]. It may be called while Read waits.
func (b *eventBody) Close() error {
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
