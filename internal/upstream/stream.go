package upstream

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/recoursehq/recourse/internal/wire"
)

// longBody is the body of an answer that is one long text.
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

// eventBody is the body that [Mailbox.Events] returns.
type eventBody struct {
	ctx     context.Context //nolint:containedctx // as that of longBody
	mailbox *Mailbox
	onClose func()

	once   sync.Once
	closed chan struct{}

	buf  []byte      // what was not read yet of it
	from []byte      // the memory of buf
	text *longAnswer // the rest of the event, if there is more
	mu   sync.Mutex
}

var _ io.ReadCloser = (*eventBody)(nil)

// Events returns a body of server-sent events, one for each message, up to the end of the
// mailbox or of ctx. It is closed once, which calls onClose.
func (b *Mailbox) Events(ctx context.Context, onClose func()) io.ReadCloser {
	return b.events(ctx, onClose)
}

func (b *Mailbox) events(ctx context.Context, onClose func()) *eventBody {
	return &eventBody{ctx: ctx, mailbox: b, onClose: onClose, closed: make(chan struct{})}
}

// load makes m the next thing to read.
func (b *eventBody) load(m message) {
	if m.long == nil {
		b.from = wire.AppendMessage(b.from[:0], m.text)
	} else {
		b.from = append(b.from[:0], wire.EventBegin...)
		b.mu.Lock()
		b.text = m.long
		b.mu.Unlock()
	}
	b.buf = b.from
	if cap(b.from) > keptBuffer {
		b.from = nil
	}
}

// Read implements [io.Reader].
func (b *eventBody) Read(p []byte) (int, error) {
	for len(b.buf) == 0 {
		if b.text != nil {
			n, err := b.text.next(b.ctx, p)
			if n > 0 || !errors.Is(err, io.EOF) {
				return n, err
			}
			b.text.close()
			b.mu.Lock()
			b.text = nil
			b.mu.Unlock()
			b.from = append(b.from[:0], wire.EventEnd...)
			b.buf = b.from
			break
		}
		m, err := b.mailbox.next(b.ctx, b.closed)
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
		close(b.closed)
		b.mu.Lock()
		if b.text != nil {
			b.text.close()
		}
		b.mu.Unlock()
		b.onClose()
	})
	return nil
}
