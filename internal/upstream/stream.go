package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/recoursehq/recourse/internal/wire"
)

// respond returns a whole answer.
func respond(status int, contentType string, text []byte) *http.Response {
	resp := head(status, contentType)
	resp.ContentLength = int64(len(text))
	if len(text) == 0 {
		resp.Body = http.NoBody
		return resp
	}
	resp.Header["Content-Length"] = []string{strconv.Itoa(len(text))}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return resp
}

// head returns an answer without a body, of unknown length.
func head(status int, contentType string) *http.Response {
	resp := &http.Response{
		StatusCode: status, Status: strconv.Itoa(status) + " " + http.StatusText(status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, ContentLength: -1,
	}
	if contentType != "" {
		resp.Header["Content-Type"] = []string{contentType}
	}
	return resp
}

// refuse returns an answer that says, in words, why a message is not taken.
func refuse(status int, why string) *http.Response {
	return respond(status, "text/plain; charset=utf-8", []byte(why))
}

// spoolBody is the body of an answer that is one long text.
type spoolBody struct {
	ctx   context.Context //nolint:containedctx // reading is part of the exchange, as it is in net/http
	spool *spool
}

var _ io.ReadCloser = (*spoolBody)(nil)

// Read implements [io.Reader].
func (b *spoolBody) Read(p []byte) (int, error) { return b.spool.next(b.ctx, p) }

// Close implements [io.Closer]. It may be called while Read waits.
func (b *spoolBody) Close() error {
	b.spool.close()
	return nil
}

// eventBody is a body of server-sent events, one for each message of a mailbox.
type eventBody struct {
	ctx     context.Context //nolint:containedctx // as that of spoolBody
	mailbox *mailbox
	onClose func()

	once   sync.Once
	closed chan struct{}

	buf  []byte // what was not read yet of it
	from []byte // the memory of buf
	text *spool // the rest of the event, if there is more
	mu   sync.Mutex
}

var _ io.ReadCloser = (*eventBody)(nil)

func newEventBody(ctx context.Context, b *mailbox, onClose func()) *eventBody {
	return &eventBody{ctx: ctx, mailbox: b, onClose: onClose, closed: make(chan struct{})}
}

const (
	eventBegin = "event: message\ndata: "
	eventEnd   = "\n\n"
)

// load makes m the next thing to read.
func (b *eventBody) load(m message) {
	if m.spool == nil {
		b.from = wire.AppendEvent(b.from[:0], "", "message", m.text)
	} else {
		b.from = append(b.from[:0], eventBegin...)
		b.mu.Lock()
		b.text = m.spool
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
			b.from = append(b.from[:0], eventEnd...)
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
