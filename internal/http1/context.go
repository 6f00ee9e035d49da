package http1

import (
	"context"
	"sync"
)

// A requestContext is the context of a request. Its handler may end it too, and a [Transport] learns of its end without a goroutine or
// a channel: a handler that sends one request for each that it gets needs no other context.
type requestContext struct {
	context.Context //nolint:containedctx // it is one

	cancel context.CancelCauseFunc

	mu    sync.Mutex
	ended bool
	onEnd func() // set by the round trip under way; nil: none is
}

// newContext returns the context of a request, and what ends it.
func (c *serverConn) newContext() (context.Context, context.CancelFunc) {
	if c.base.Done() != nil { // it may end without End
		return context.WithCancel(c.base)
	}
	own := new(requestContext)
	own.Context, own.cancel = context.WithCancelCause(c.base)
	return own, func() { own.End(context.Canceled) }
}

// End ends the context, with a cause. If the client leaves, the cause is [context.Canceled]. Only the first call counts.
func (c *requestContext) End(cause error) {
	c.mu.Lock()
	f := c.onEnd
	c.onEnd, c.ended = nil, true
	c.mu.Unlock()
	c.cancel(cause)
	if f != nil {
		f()
	}
}

// begin makes End call f, until leave is called. It reports false if the context has ended, or another round trip is under way.
func (c *requestContext) begin(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.onEnd != nil {
		return false
	}
	c.onEnd = f
	return true
}

// leave reports whether f has not been called, and will not be.
func (c *requestContext) leave() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onEnd = nil
	return !c.ended
}
