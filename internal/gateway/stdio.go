package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/spool"
	"github.com/recoursehq/recourse/internal/wire"
)

const (
	// stdioGrace is how long calls under way may take when the host has closed its end.
	stdioGrace = 30 * time.Second
	// stdioGoodbye bounds the ending of the session, and of calls that were broken off.
	stdioGoodbye = 2 * time.Second
	// maxStdioCalls bounds the calls under way of one host.
	maxStdioCalls = 256
)

// A stdioFront serves one host over a pair of streams. Each message becomes a
// request of Streamable HTTP within the process, so that it comes past the same
// stages as any other.
type stdioFront struct {
	g    *Gateway
	path string
	out  *lineWriter
	room spool.Room

	life context.Context //nolint:containedctx // the life of the calls and the stream
	work sync.WaitGroup  // calls and the stream

	opening sync.Mutex // held while a session is opened

	mu      sync.Mutex
	open    wire.Line // the host's initialize request
	session string
	version string // of the protocol, as negotiated; empty: none that HTTP knows
	ready   bool   // the host has said notifications/initialized
	unhear  context.CancelFunc
	calls   map[*stdioCall]struct{}
}

// A stdioCall is a request of the host under way.
type stdioCall struct {
	id        wire.ID
	era       wire.Era
	cancel    context.CancelFunc
	cancelled atomic.Bool // the host has no use for an answer
}

// ServeStdio serves one host that speaks MCP over stdio (MCP 2025-11-25 and
// 2026-07-28, basic/transports): it reads messages from in, a line each, passes them
// to the server at path, and writes what comes back to out, a whole line each and
// nothing else. Calls run side by side. What is no message, or larger than the
// configuration allows, is answered with a JSON-RPC error; it never ends the session,
// and neither does the server's death.
//
// It returns when in ends, after calls under way have had up to 30 s to end; when out
// cannot be written, with that error; and when ctx ends, at once: calls are broken
// off. A read of in that is under way then is left behind until in ends or is closed.
func (g *Gateway) ServeStdio(ctx context.Context, path string, in io.Reader, out io.Writer) error {
	if g.table.Load().endpoints[path] == nil {
		return fmt.Errorf("serve stdio: there is no server at %q", path)
	}
	life, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &stdioFront{
		g: g, path: path, out: newLineWriter(out), life: life,
		calls: map[*stdioCall]struct{}{}, unhear: func() {},
	}
	err := f.read(in)
	grace := stdioGrace
	if ctx.Err() != nil || f.out.failed() != nil {
		grace = 0
	}
	f.end(cancel, grace)
	if err == nil {
		err = f.out.failed()
	}
	if err != nil {
		return fmt.Errorf("serve stdio: %w", err)
	}
	return nil
}

// read takes the host's lines until there are no more.
func (f *stdioFront) read(in io.Reader) error {
	ctx := f.life
	lines := make(chan wire.Line)
	var ended error
	go func() {
		defer close(lines)
		reader := wire.NewLineReader(in, int(f.g.table.Load().config.MaxRequest))
		for {
			l, err := reader.Next()
			if err != nil && !errors.Is(err, io.EOF) {
				ended = err
			}
			if err != nil {
				return
			}
			select {
			case lines <- l:
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case l, more := <-lines:
			if !more {
				return ended
			}
			f.take(l)
		case <-f.out.broken:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// end lets calls under way end for a time, breaks off what is left, and ends the
// session. What does not even end then, since the host takes nothing any more, is
// left behind.
func (f *stdioFront) end(cancel context.CancelFunc, grace time.Duration) {
	f.hush()
	done := make(chan struct{})
	go func() {
		f.work.Wait()
		close(done)
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-f.out.broken:
	case <-f.life.Done():
	}
	cancel()
	bye, release := context.WithTimeout(context.WithoutCancel(f.life), stdioGoodbye)
	defer release()
	select {
	case <-done:
	case <-bye.Done():
		return
	}
	if header := f.header(nil); header.Get(wire.HeaderSession) != "" {
		f.send(bye, f.newAnswer(nil), http.MethodDelete, nil, header)
	}
}

// take deals with one line. Requests run side by side; messages whose order matters
// are dealt with before the next line is taken.
func (f *stdioFront) take(l wire.Line) {
	var m wire.Message
	err := wire.Parse(l.Text, &m)
	switch {
	case err != nil || l.Cut(): // the stages refuse it
		a := f.newAnswer(nil)
		a.loud = true
		f.send(f.life, a, http.MethodPost, &l, f.header(nil))
	case m.Kind == wire.Request && m.Method == wire.MethodInitialize:
		f.initialize(l, &m)
	case m.Kind == wire.Request:
		f.call(l, &m)
	case m.Method == wire.MethodCancelled:
		f.cancel(l, &m)
	default:
		f.send(f.life, f.newAnswer(nil), http.MethodPost, &l, f.header(&m))
		if m.Method == methodInitialized {
			f.begin()
		}
	}
}

const methodInitialized = "notifications/initialized"

// initialize opens a session. Everything that follows waits for it.
func (f *stdioFront) initialize(l wire.Line, m *wire.Message) {
	f.opening.Lock()
	defer f.opening.Unlock()
	f.hush()
	f.mu.Lock()
	f.open, f.session, f.version, f.ready = l, "", "", false // the host begins anew
	f.mu.Unlock()
	a := f.newAnswer(m.ID)
	a.keep = true
	f.send(f.life, a, http.MethodPost, &l, f.header(m))
	a.settle(f.life)
	f.opened(a)
}

// opened takes over the session that initialize was answered with.
func (f *stdioFront) opened(a *stdioAnswer) {
	var version string
	if raw := json.Lookup(a.result, "/protocolVersion"); raw.Kind() == '"' {
		_ = json.Unmarshal(raw, &version) // else it stays empty
	}
	if era, ok := wire.EraOf(version); !ok || era != wire.Legacy {
		version = ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.session, f.version = a.header.Get(wire.HeaderSession), version
}

// reopen opens a session in place of one that the gateway does not know any more,
// such as after a day of silence. However many calls find that out, it is done once.
// It reports whether there is another session now.
func (f *stdioFront) reopen(header http.Header) bool {
	f.opening.Lock()
	defer f.opening.Unlock()
	f.mu.Lock()
	l, session, ready := f.open, f.session, f.ready
	f.mu.Unlock()
	if session != header.Get(wire.HeaderSession) {
		return true
	}
	var m wire.Message
	if wire.Parse(l.Text, &m) != nil {
		return false
	}
	a := f.newAnswer(m.ID)
	a.keep = true
	a.quiet.Store(true)
	f.send(f.life, a, http.MethodPost, &l, plainHeader())
	a.drop()
	if a.header.Get(wire.HeaderSession) == "" {
		return false
	}
	f.opened(a)
	if ready {
		said := wire.Line{Text: initialized, Size: len(initialized)}
		f.send(f.life, f.newAnswer(nil), http.MethodPost, &said, f.header(nil))
		f.begin()
	}
	return true
}

// call starts a request.
func (f *stdioFront) call(l wire.Line, m *wire.Message) {
	c := &stdioCall{id: m.ID, era: wire.Legacy}
	if m.ProtocolVersion != "" {
		c.era = wire.Modern
	}
	f.mu.Lock()
	full := len(f.calls) >= maxStdioCalls
	if !full {
		f.calls[c] = struct{}{}
	}
	f.mu.Unlock()
	if full {
		e := recourse.New(recourse.KindUnavailable, "").WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone)
		f.out.failure(m.ID, e.WithMessage("%d calls are under way already. Wait for one of them to end, then call again.", maxStdioCalls))
		return
	}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(f.life)
	header := f.header(m)
	f.work.Go(func() {
		defer f.done(c)
		a := f.newAnswer(c.id)
		a.quiet = &c.cancelled
		f.send(ctx, a, http.MethodPost, &l, header)
		if a.status == http.StatusNotFound && header.Get(wire.HeaderSession) != "" && !a.answered && f.reopen(header) {
			header = f.header(nil)
			a = f.newAnswer(c.id)
			a.quiet = &c.cancelled
			f.send(ctx, a, http.MethodPost, &l, header)
		}
		f.resume(ctx, a, header)
		a.settle(ctx)
	})
}

// done takes a call off the list.
func (f *stdioFront) done(c *stdioCall) {
	c.cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.calls, c)
}

// cancel ends a call that the host wants no more. Of the legacy era the server is told;
// of the modern one, where ending a call's stream cancels it, the stages see to that.
func (f *stdioFront) cancel(l wire.Line, m *wire.Message) {
	var found *stdioCall
	f.mu.Lock()
	for c := range f.calls {
		if c.id.Equal(m.RequestID) {
			found = c
		}
	}
	f.mu.Unlock()
	if found != nil {
		found.cancelled.Store(true)
	}
	if found == nil || found.era == wire.Legacy {
		f.send(f.life, f.newAnswer(nil), http.MethodPost, &l, f.header(m))
	}
	if found != nil {
		found.cancel()
	}
}

// header returns the headers that HTTP wants for a message; m is nil where there is
// none that can be read.
func (f *stdioFront) header(m *wire.Message) http.Header {
	h := plainHeader()
	if m != nil && m.ProtocolVersion != "" {
		wire.SetHeaders(h, m.ProtocolVersion, m)
		return h
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.session != "" {
		h[wire.HeaderSession] = []string{f.session}
	}
	if f.version != "" {
		h[wire.HeaderVersion] = []string{f.version}
	}
	return h
}

func plainHeader() http.Header {
	return http.Header{"Content-Type": {wire.TypeJSON}, "Accept": acceptBoth}
}

const (
	// resumeWait is how long a stream that has ended rests before it is opened again,
	// unless the server says something else (HTML Standard, section 9.2.3); the longest
	// wait after failures is resumeMost.
	resumeWait = time.Second
	resumeMost = 30 * time.Second
	// maxResumes bounds how often the rest of one answer is asked for.
	maxResumes = 10
)

// resume asks for the rest of an answer whose stream the server has ended after an
// event with an id (MCP 2025-11-25, basic/transports, "Resumability and Redelivery").
func (f *stdioFront) resume(ctx context.Context, a *stdioAnswer, header http.Header) {
	for range maxResumes {
		if a.answered || a.lastEvent == "" || a.aborted || !pause(ctx, a.wait()) {
			return
		}
		get := header.Clone()
		delete(get, "Content-Type")
		get[wire.HeaderLastEventID] = []string{a.lastEvent}
		once, cancel := context.WithCancel(ctx)
		a.onAnswer = cancel // such a stream may stay open
		f.send(once, a, http.MethodGet, nil, get)
		cancel()
	}
}

// begin opens the stream on which the server speaks of its own accord, now that the
// host is ready for it.
func (f *stdioFront) begin() {
	header := f.header(nil)
	if header.Get(wire.HeaderSession) == "" {
		return
	}
	delete(header, "Content-Type")
	header["Accept"] = acceptSSE
	ctx, cancel := context.WithCancel(f.life)
	f.mu.Lock()
	f.unhear()
	f.ready, f.unhear = true, cancel
	f.mu.Unlock()
	f.work.Go(func() { f.hear(ctx, header) })
}

// hush ends that stream.
func (f *stdioFront) hush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unhear()
}

// hear passes on what the server says of its own accord, until the session ends or
// it turns out that the server says nothing.
func (f *stdioFront) hear(ctx context.Context, header http.Header) {
	for failures := 0; ; {
		a := f.newAnswer(nil)
		f.send(ctx, a, http.MethodGet, nil, header.Clone())
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
		if !pause(ctx, min(a.wait()<<min(failures, 5), resumeMost)) {
			return
		}
	}
}
