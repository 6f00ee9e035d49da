package http1

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// watchAfter is how long a handler runs before its client is watched. Shorter runs are not worth the
// goroutine.
const watchAfter = 10 * time.Millisecond

// A watch reads what a client sends while its request is being answered: the rest of the body, and
// then, after a while, the end of the connection, which cancels the request's context.
type watch struct {
	nc    net.Conn
	timer *time.Timer // is set again if it fires too early: setting it for each request costs more

	mu       sync.Mutex
	cond     sync.Cond
	armed    time.Time // nc's read deadline
	until    time.Time // the deadline for the rest of the body
	cancel   context.CancelFunc
	complete bool      // the whole request has arrived
	ticking  bool      // the timer is running
	waiting  bool      // it waits for the timer
	from     time.Time // when it started to wait
	reading  bool      // the body is being read
	watching bool      // the connection is being watched
	aborted  bool      // end has set the deadline
	byte     [1]byte
	got      bool // byte is the first byte of the next request
}

func (w *watch) init(nc net.Conn) {
	w.nc = nc
	w.cond.L = &w.mu
}

// begin prepares for a request, whose body must arrive by the deadline until.
func (w *watch) begin(cancel context.CancelFunc, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel, w.until, w.complete = cancel, until, false
}

// start records that the whole request has arrived.
func (w *watch) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complete, w.until = true, never
	if w.cancel == nil || w.got { // it is over, or the next request has begun
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

// wake is called when the timer fires.
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
	_ = w.setReadDeadline(never) // reading reports the error
	w.mu.Unlock()
	w.look()
}

// look waits for the client to send anything.
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

// end stops watching: from now on nothing is read unless asked for.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel, w.waiting = nil, false
	if !w.watching {
		return
	}
	w.aborted = true
	_ = w.setReadDeadline(past) // reading reports the error
	for w.watching {
		w.cond.Wait()
	}
	_ = w.setReadDeadline(never) // reading reports the error
}

// take returns the byte that was read ahead.
func (w *watch) take() (byte, bool) {
	got := w.got
	w.got = false
	return w.byte[0], got
}

func (w *watch) setReadDeadline(t time.Time) error {
	w.armed = t
	return w.nc.SetReadDeadline(t)
}

// limit sets the read deadline for the request.
func (w *watch) limit(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = t
	switch {
	case w.reading, w.watching:
		return w.setReadDeadline(t)
	case w.waiting && !t.IsZero(): // net/http would be watching already, and cancel the context then
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
		_ = w.setReadDeadline(w.until) // reading reports the error
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
