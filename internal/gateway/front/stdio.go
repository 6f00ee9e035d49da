package front

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/spool"
)

const (
	// stdioGrace is how long calls in progress may take after the host has closed its end.
	stdioGrace = 30 * time.Second
	// stdioGoodbye limits how long ending the session, and aborted calls, may take.
	stdioGoodbye = 2 * time.Second
	// MaxStdioCalls limits the calls in progress of one host.
	MaxStdioCalls = 256
)

// Stdio lets in one host that speaks MCP over a pair of streams (MCP 2025-11-25 and 2026-07-28,
// basic/transports). It opens the sessions and streams of the legacy era for it.
type Stdio struct {
	Handler Handler
	Path    string // of the endpoint
	Limit   int    // of a message, in bytes
	Log     *slog.Logger
}

// Serve reads messages from in, a line each, gets answers to them concurrently, and writes only complete
// lines with the answers to out. A line that is not a message, or is larger than the limit, is answered with
// a JSON-RPC error, and never ends the session.
//
// It returns when in ends, after calls in progress have had up to 30 s to finish; if out cannot be written,
// with that error; and when ctx ends, at once: calls are aborted. A read from in that is in progress is then
// left behind until in ends or is closed.
func (s Stdio) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	life, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &host{
		Stdio: s, lines: wire.NewLineReader(in, s.Limit+len("\r\n")), out: newLineWriter(out),
		over: make(chan error, 1), next: make(chan struct{}),
		life: life, calls: map[*hostCall]struct{}{}, stopHearing: func() {},
	}
	var err error
	if h.from, err = http.NewRequestWithContext(life, http.MethodPost, "http://localhost"+s.Path, http.NoBody); err != nil {
		return fmt.Errorf("serve stdio: %w", err)
	}
	go h.read()
	select {
	case err = <-h.over:
	case <-h.out.broken:
	case <-ctx.Done():
	}
	grace := stdioGrace
	if ctx.Err() != nil || h.out.failed() != nil {
		grace = 0
	}
	h.end(cancel, grace)
	if err == nil {
		err = h.out.failed()
	}
	if err != nil {
		return fmt.Errorf("serve stdio: %w", err)
	}
	return nil
}

// A host is the host being served.
type host struct {
	Stdio

	lines *wire.LineReader
	out   *lineWriter
	next  chan struct{} // makes a goroutine that waits read on
	idle  atomic.Int32  // how many wait
	over  chan error    // gets the end of the lines; nil: there are no more
	room  spool.Room
	from  *http.Request // it, as the handler sees it

	life context.Context
	work sync.WaitGroup // work in progress, and the stream; begun by enter

	opening sync.Mutex // held while a session is being opened

	mu          sync.Mutex
	open        hostLine           // its initialize request; the zero value: there was none
	session     http.Header        // its id, and the version of the protocol; never changed, but replaced
	ready       bool               // it has said notifications/initialized
	ended       bool               // nothing new begins
	stopHearing context.CancelFunc // ends the stream
	calls       map[*hostCall]struct{}
}

// A hostLine is what the host has written on one.
type hostLine struct {
	wire.Line

	msg *wire.Message // nil: it is none, or cut
}

// A hostCall is a request of the host in progress.
type hostCall struct {
	id        wire.ID
	era       wire.Era
	cancel    context.CancelFunc
	cancelled atomic.Bool // the host has no use for an answer
}

// maxIdle limits the goroutines that wait to read on.
const maxIdle = 8

// readOn has another goroutine read the next line: one that waits, whose stack has grown already, or a new one.
func (h *host) readOn() {
	select {
	case h.next <- struct{}{}:
	default:
		go h.read()
	}
}

// read reads the host's lines until there are no more. The goroutine that has read a request continues with
// it, while another one reads the next line: waking one for the request would take longer than everything
// else here. Afterwards it waits to read on.
func (h *host) read() {
	for h.readRequest() {
		waits := h.idle.Add(1) <= maxIdle
		if waits {
			select {
			case <-h.next:
			case <-h.life.Done():
				waits = false
			}
		}
		h.idle.Add(-1)
		if !waits {
			return
		}
	}
}

// readRequest reads lines up to a request, and answers it. It reports false if there are no more.
func (h *host) readRequest() bool {
	for isRequest := false; !isRequest; {
		l, err := h.lines.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			h.over <- err
			return false
		}
		if !h.enter() {
			return false
		}
		isRequest = h.take(l)
		h.work.Done()
	}
	return true
}

// enter begins work that end waits for. It reports false if the host is no longer served.
func (h *host) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.work.Add(1)
	}
	return !h.ended
}

// end gives calls in progress some time, aborts the rest, and ends the session. Anything that does not even
// end then, since the host reads nothing any more, is left behind.
func (h *host) end(cancel context.CancelFunc, grace time.Duration) {
	h.mu.Lock()
	h.ended = true
	h.stopHearing()
	h.mu.Unlock()
	done := make(chan struct{})
	go func() {
		h.work.Wait()
		close(done)
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-h.out.broken:
	case <-h.life.Done():
	}
	cancel()
	bye, release := context.WithTimeout(context.WithoutCancel(h.life), stdioGoodbye)
	defer release()
	select {
	case <-done:
	case <-bye.Done():
		return
	}
	if header := h.header(nil); header[wire.HeaderSession] != nil {
		h.send(bye, h.newAnswer(nil), &Request{Method: http.MethodDelete, Header: header})
	}
}

// take handles one line. Requests run concurrently: for them it makes another goroutine read on, and reports
// true. Messages whose order matters are handled before the next line is read.
func (h *host) take(l wire.Line) (isRequest bool) {
	m := new(wire.Message)
	if l.Cut() || wire.Parse(l.Text, m) != nil { // the handler refuses it
		a := h.newAnswer(nil)
		a.loud = true
		h.post(h.life, a, hostLine{Line: l}, h.header(nil))
		return false
	}
	said := hostLine{l, m}
	switch {
	case m.Kind == wire.Request && m.Method == wire.MethodInitialize:
		h.initialize(said)
	case m.Kind == wire.Request:
		return h.call(said)
	case m.Method == wire.MethodCancelled:
		h.cancel(said)
	default:
		h.post(h.life, h.newAnswer(nil), said, h.header(m))
		if m.Method == wire.MethodInitialized {
			h.begin()
		}
	}
	return false
}

// initialize opens a session. Everything that follows waits for it.
func (h *host) initialize(l hostLine) {
	h.opening.Lock()
	defer h.opening.Unlock()
	h.mu.Lock()
	h.stopHearing()
	h.open, h.session, h.ready = l, nil, false // the host starts over
	h.mu.Unlock()
	a := h.newAnswer(l.msg.ID)
	a.keep = true
	h.post(h.life, a, l, h.header(l.msg))
	a.settle(h.life)
	h.opened(a)
}

// opened takes over the session from the answer to initialize.
func (h *host) opened(a *lineAnswer) {
	session := http.Header{}
	if id := a.header[wire.HeaderSession]; id != nil {
		session[wire.HeaderSession] = id
	}
	version := json.Text(a.answer, "/result/protocolVersion")
	if era, ok := wire.EraOf(version); ok && era == wire.Legacy {
		session[wire.HeaderVersion] = []string{version}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.session = session
}

// reopen opens a session to replace one that the gateway no longer knows, such as after a day of silence.
// However many calls find that out, it is done once. It reports whether there is another session now.
func (h *host) reopen(header http.Header) bool {
	h.opening.Lock()
	defer h.opening.Unlock()
	h.mu.Lock()
	l, session, ready := h.open, h.session, h.ready
	h.mu.Unlock()
	if session.Get(wire.HeaderSession) != header.Get(wire.HeaderSession) {
		return true
	}
	if l.msg == nil {
		return false
	}
	a := h.newAnswer(l.msg.ID)
	a.keep, a.quiet = true, new(atomic.Bool)
	a.quiet.Store(true)
	h.post(h.life, a, l, nil)
	a.drop()
	if a.header[wire.HeaderSession] == nil {
		return false
	}
	h.opened(a)
	if ready {
		text := wire.AppendRequest(nil, nil, wire.MethodInitialized, nil)
		h.post(h.life, h.newAnswer(nil), hostLine{Line: wire.Line{Text: text, Size: len(text)}}, h.header(nil))
		h.begin()
	}
	return true
}

// call carries out a request, while another goroutine reads on. It reports false if there are too many: the handler
// refuses it, before the next line is read.
func (h *host) call(l hostLine) bool {
	ctx, cancel := context.WithCancel(h.life)
	c := &hostCall{id: l.msg.ID, era: wire.Legacy, cancel: cancel}
	if l.msg.ProtocolVersion != "" {
		c.era = wire.Modern
	}
	defer h.done(c)
	h.mu.Lock()
	full := len(h.calls) >= MaxStdioCalls
	if !full {
		h.calls[c] = struct{}{}
	}
	h.mu.Unlock()
	if full {
		a := h.newAnswer(c.id)
		h.send(ctx, a, &Request{Method: http.MethodPost, Header: h.header(l.msg), Line: l.Line, Message: l.msg, Excess: true})
		a.settle(ctx)
		return false
	}
	header := h.header(l.msg)
	h.readOn()
	a := h.newAnswer(c.id)
	a.quiet = &c.cancelled
	h.post(ctx, a, l, header)
	if a.status == http.StatusNotFound && header[wire.HeaderSession] != nil && !a.answered && h.reopen(header) {
		header = h.header(nil)
		a = h.newAnswer(c.id)
		a.quiet = &c.cancelled
		h.post(ctx, a, l, header)
	}
	h.resume(ctx, a, header)
	a.settle(ctx)
	return true
}

func (h *host) done(c *hostCall) {
	c.cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.calls, c)
}

// cancel ends a call that the host no longer wants. A legacy server is notified; in the modern era ending the
// stream of a call cancels it, which is up to the handler.
func (h *host) cancel(l hostLine) {
	var found *hostCall
	h.mu.Lock()
	for c := range h.calls {
		if c.id.Equal(l.msg.RequestID) {
			found = c
		}
	}
	h.mu.Unlock()
	if found != nil {
		found.cancelled.Store(true)
	}
	if found == nil || found.era == wire.Legacy {
		h.post(h.life, h.newAnswer(nil), l, h.header(l.msg))
	}
	if found != nil {
		found.cancel()
	}
}

// post gets an answer to what the host has written.
func (h *host) post(ctx context.Context, a *lineAnswer, l hostLine, header http.Header) {
	h.send(ctx, a, &Request{Method: http.MethodPost, Header: header, Line: l.Line, Message: l.msg})
}

// header returns the session of a message, which it does not name itself; m is nil if it could not be read. It must not be changed.
func (h *host) header(m *wire.Message) http.Header {
	if m != nil && m.ProtocolVersion != "" {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session
}

const (
	// resumeWait is how long a stream that has ended rests before it is opened again,
	// unless the server says something else (HTML Standard, section 9.2.3); the longest
	// wait after failures is resumeMost.
	resumeWait = time.Second
	resumeMost = 30 * time.Second
	// maxResumes limits how often the rest of one answer is requested.
	maxResumes = 10
)

// resume requests the rest of an answer whose stream the server has ended after an event with an id (MCP
// 2025-11-25, basic/transports, "Resumability and Redelivery"). Outside of a session, and so in the modern era, there is none.
func (h *host) resume(ctx context.Context, a *lineAnswer, header http.Header) {
	for range maxResumes {
		if header == nil || a.answered || a.lastEvent == "" || a.aborted || !pause.For(ctx, a.wait()) {
			return
		}
		get := header.Clone()
		get[wire.HeaderLastEventID] = []string{a.lastEvent}
		once, cancel := context.WithCancel(ctx)
		a.onAnswer = cancel // such a stream may stay open
		h.send(once, a, &Request{Method: http.MethodGet, Header: get})
		cancel()
	}
}

// begin opens the stream for what the server says unasked, now that the host is ready for it.
func (h *host) begin() {
	header := h.header(nil).Clone()
	if header[wire.HeaderSession] == nil {
		return
	}
	ctx, cancel := context.WithCancel(h.life)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopHearing()
	if h.ready, h.stopHearing = true, cancel; h.ended {
		cancel()
		return
	}
	h.work.Go(func() { h.hear(ctx, header) })
}

// hear passes on what the server says unasked, until the session ends or it turns out that the server says
// nothing.
func (h *host) hear(ctx context.Context, header http.Header) {
	for failures := 0; ; {
		a := h.newAnswer(nil)
		h.send(ctx, a, &Request{Method: http.MethodGet, Header: header.Clone()})
		switch {
		case a.stream:
			failures = 0
		case a.status == http.StatusMethodNotAllowed, a.status == http.StatusNotFound:
			return
		default:
			failures++
		}
		if a.lastEvent != "" {
			header[wire.HeaderLastEventID] = []string{a.lastEvent}
		}
		if !pause.For(ctx, min(a.wait()<<min(failures, 5), resumeMost)) {
			return
		}
	}
}
