package http1

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// watchAfter is how long a handler runs before its client is watched. Those that end
// sooner are not worth the goroutine.
const watchAfter = 10 * time.Millisecond

// A watch looks after what comes from a client while its request is answered: the rest of
// the body, and then, after a while, the end of the connection, which ends the request's
// context.
type watch struct {
	nc    net.Conn
	timer *time.Timer // set again when it goes off too early: to set it for each request costs more

	mu       sync.Mutex
	cond     sync.Cond
	armed    time.Time // the deadline that nc has for reading
	until    time.Time // the deadline of the rest of the body
	cancel   context.CancelFunc
	complete bool      // the request has come as a whole
	ticking  bool      // the timer
	waiting  bool      // for the timer
	from     time.Time // when it began to wait
	reading  bool      // the body
	watching bool      // the connection
	aborted  bool      // the deadline is that of end
	byte     [1]byte
	got      bool // byte is the first of the next request
}

func (w *watch) init(nc net.Conn) {
	w.nc = nc
	w.cond.L = &w.mu
}

// begin begins with a request, whose body has to come until then.
func (w *watch) begin(cancel context.CancelFunc, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel, w.until, w.complete = cancel, until, false
}

// start notes that the request has come as a whole.
func (w *watch) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complete, w.until = true, never
	if w.cancel == nil || w.got { // it has ended, or the next one has begun
		return
	}
	w.waiting, w.from = true, time.Now()
	if !w.ticking {
		w.tick(watchAfter)
	}
}

func (w *watch) tick(d time.Duration) {
	w.ticking = true
	if w.timer == nil {
		w.timer = time.AfterFunc(d, w.wake)
	} else {
		w.timer.Reset(d)
	}
}

// wake is called by the timer.
func (w *watch) wake() {
	w.mu.Lock()
	w.ticking = false
	if !w.waiting {
		w.mu.Unlock()
		return
	}
	if early := watchAfter - time.Since(w.from); early > 0 {
		w.tick(early)
		w.mu.Unlock()
		return
	}
	w.waiting, w.watching = false, true
	_ = w.setReadDeadline(never) // reading says what is wrong
	w.mu.Unlock()
	w.look()
}

// look waits for anything to come.
func (w *watch) look() {
	n, err := w.nc.Read(w.byte[:])
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got = n == 1
	ended := w.aborted && errors.Is(err, os.ErrDeadlineExceeded)
	if err != nil && !ended && w.cancel != nil {
		w.cancel()
	}
	w.watching, w.aborted = false, false
	w.cond.Broadcast()
}

// end ends it: from now on nothing is read until somebody asks for it.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel, w.waiting = nil, false
	if !w.watching {
		return
	}
	w.aborted = true
	_ = w.setReadDeadline(past) // as above
	for w.watching {
		w.cond.Wait()
	}
	_ = w.setReadDeadline(never) // as above
}

// take returns the byte that was read.
func (w *watch) take() (byte, bool) {
	got := w.got
	w.got = false
	return w.byte[0], got
}

func (w *watch) setReadDeadline(t time.Time) error {
	w.armed = t
	return w.nc.SetReadDeadline(t)
}

// limit sets the deadline of what is read for the request.
func (w *watch) limit(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = t
	switch {
	case w.reading, w.watching:
		return w.setReadDeadline(t)
	case w.waiting && !t.IsZero(): // net/http would watch already, and end the context then
		w.waiting, w.watching = false, true
		if err := w.setReadDeadline(t); err != nil {
			return err
		}
		go w.look()
	}
	return nil
}

// readMore reads some of the body from the connection.
func (w *watch) readMore(p []byte) (int, error) {
	w.mu.Lock()
	w.reading = true
	if !w.armed.Equal(w.until) {
		_ = w.setReadDeadline(w.until) // reading says what is wrong
	}
	w.mu.Unlock()
	n, err := w.nc.Read(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reading = false
	if err != nil && w.cancel != nil {
		w.cancel()
	}
	return n, err
}
