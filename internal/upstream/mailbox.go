package upstream

import (
	"context"
	"io"
	"sync"

	"github.com/recoursehq/recourse/internal/json"
)

const (
	// mailboxMessages and mailboxBytes bound what waits for a reader that is slow.
	mailboxMessages = 256
	mailboxBytes    = 1 << 20
)

// A message is what a child said, for one reader: a whole text, or one that is still
// being written.
type message struct {
	text []byte
	long *longAnswer // in place of text
	last bool        // it is the answer
}

// member returns the result of an answer, or its error; nil: it has none, or is too long.
func (m message) member(name json.Pointer) json.Value { return json.Lookup(m.text, name) }

// A Mailbox holds the messages that wait for their one reader. Putting never blocks. The zero
// Mailbox is empty. It is safe for concurrent use.
type Mailbox struct {
	mu    sync.Mutex
	wake  chan struct{} // holds a token when there is something new; nil: nobody has waited yet
	queue []message
	bytes int
	err   error // with which it ends; nil while it is open
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
func (b *Mailbox) Finish(text []byte) { b.finish(message{text: text}, io.EOF) }

// finish adds the answer, after which nothing comes but err. It reports false when
// the mailbox has ended.
func (b *Mailbox) finish(m message, err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return false
	}
	m.last = true
	b.queue, b.err = append(b.queue, m), err
	wake(b.wake)
	return true
}

// End ends the mailbox: when what it holds has been taken, err comes.
func (b *Mailbox) End(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
	wake(b.wake)
}

// next takes a message and waits for one. The error is that of End or finish, the
// cause of ctx, or errClosed.
func (b *Mailbox) next(ctx context.Context, closed <-chan struct{}) (message, error) {
	for {
		if m, ok, err := b.poll(); ok || err != nil {
			return m, err
		}
		select {
		case <-b.wake:
		case <-ctx.Done():
			return message{}, context.Cause(ctx)
		case <-closed:
			return message{}, errClosed
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
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.queue
	b.queue, b.bytes = nil, 0
	if b.err == nil {
		b.err = err
	}
	wake(b.wake)
	return left
}
