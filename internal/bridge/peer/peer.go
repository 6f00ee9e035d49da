// Package peer is the server at the far end of a bridge, as both of its directions reach
// it: the transport, what is known of its era, whose requests go to it, and the work that
// goes on behind them.
package peer

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
)

// A Transport carries messages to a server that presents itself as one over
// Streamable HTTP, as [upstream.HTTP] and [upstream.Stdio] do.
type Transport interface {
	upstream.Sender

	// Ask sends a request and reads its answer; see [upstream.Ask].
	Ask(ctx context.Context, header http.Header, body []byte, id wire.ID, limit int64) (*upstream.Answer, error)
	// Close ends what the transport holds.
	Close()
}

// Options say what a bridge has to know of the server.
type Options struct {
	// Forward are the canonical names of the headers by which callers are told apart:
	// those with the client's own credentials. Without any, all callers are one.
	Forward []string
	// Program says that the server is a program: it says on the answer of any call under
	// way what it asks, whichever call that is about.
	Program bool
	// Silent says that the server cannot ask its client anything, since all clients
	// share it. No capabilities are declared to it.
	Silent bool
}

// Peer is a server. It is safe for concurrent use. Make one with [New] and end it with
// [Peer.End].
type Peer struct {
	Transport
	Options

	Eras Eras
	Life context.Context //nolint:containedctx // the life of the background work, not of a call
	Work sync.WaitGroup  // background work

	end context.CancelFunc

	mu          sync.Mutex
	closed      bool
	discovering *discovery // server/discover, under way; nil: it is not
}

// New returns the server that a transport leads to.
func New(next Transport, options Options) *Peer {
	p := &Peer{Transport: next, Options: options}
	p.Life, p.end = context.WithCancel(context.Background())
	return p
}

// Broken turns an error of Send, or of reading the answer, into the Error that it
// means. One of the bridge's own stays as it is.
func (p *Peer) Broken(ctx context.Context, err error) *recourse.Error {
	if e, ok := errors.AsType[*recourse.Error](err); ok && ctx.Err() == nil {
		return e
	}
	return p.Transport.Broken(ctx, err)
}

// End ends the background work, and then the transport.
func (p *Peer) End() {
	p.end()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Work.Wait()
	p.Close()
}

// Background runs f as work that End waits for, with a context that ends then. The
// context of work that comes later has ended.
func (p *Peer) Background(f func(ctx context.Context)) {
	run := func() { f(p.Life) }
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		go run()
		return
	}
	p.Work.Go(run)
}

// Patience returns the time that the server has for an answer; a program may have to be
// started first.
func (p *Peer) Patience(usual time.Duration) time.Duration {
	if p.Program {
		return time.Minute
	}
	return usual
}

// Unsent is the failure of a request that was not sent before ctx ended.
func (p *Peer) Unsent(ctx context.Context) *recourse.Error {
	return p.Transport.Broken(ctx, context.Cause(ctx)).WithEffect(recourse.EffectNone)
}

// BadResponse is the failure of an answer that breaks the protocol.
func (p *Peer) BadResponse(err error) *recourse.Error {
	return recourse.BadResponse(p.Name()).WithOrigin(recourse.OriginServer).CausedBy(err)
}
