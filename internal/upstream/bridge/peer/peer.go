// Package peer is the server at the far end of a bridge, for both directions.
//
// A [Peer] has the connection to it, the work in the background ([Peer.Background], [Peer.End]), and the
// bridge's own ids and requests ([Peer.Ask], [Peer.Post]). [Eras] is what is known about the server's eras;
// [Peer.Discover] finds it out, once for all who want to know (era.go). What a refusal shows about a server
// is in refusal.go: whether it looks like the other era, and whether the request may be sent again. Which
// headers go there and back is in header.go.
package peer

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/work"
)

// Options describe the server to a bridge.
type Options struct {
	// Forward are the canonical names of the headers with the client's own credentials.
	Forward []string
	// Program says that the server is a program: its questions come on the answer of any call in progress,
	// whichever call they belong to.
	Program bool
	// Silent says that the server cannot ask anything, since all clients share it. It is told about no
	// capabilities.
	Silent bool
}

// Peer is a server. It is safe for concurrent use.
type Peer struct {
	upstream.Connection
	Options

	Eras Eras

	work   *work.Group
	lastID atomic.Int64

	mu          sync.Mutex
	discovering *discovery // server/discover, under way; nil: it is not
}

// New returns the server that a connection leads to.
func New(next upstream.Connection, options Options) *Peer {
	return &Peer{Connection: next, Options: options, work: work.New()}
}

// End ends the background work, and then the transport.
func (p *Peer) End() {
	p.work.End()
	p.Close()
}

// Background runs f as work that End waits for, with a context that End ends.
func (p *Peer) Background(f func(ctx context.Context)) { p.work.Anyway(f) }

// Life returns the context of the background work, which is not that of a call.
func (p *Peer) Life() context.Context { return p.work.Life() }

// Patience returns how long the server may take to answer; a program may have to be started first.
func (p *Peer) Patience(usual time.Duration) time.Duration {
	if p.Program {
		return time.Minute
	}
	return usual
}

// NewID returns an id for one of the bridge's own requests.
func (p *Peer) NewID() wire.ID { return wire.IntID(p.lastID.Add(1)) }

// Broken turns an error into the corresponding Error; see [upstream.Broken].
func (p *Peer) Broken(ctx context.Context, err error) *recourse.Error {
	return upstream.Broken(ctx, p.Name(), err)
}

// EndedBeforeSend is the failure for a request that was not sent before ctx ended.
func (p *Peer) EndedBeforeSend(ctx context.Context) *recourse.Error {
	return upstream.EndedBeforeSend(ctx, p.Name())
}

// BadResponse is the failure for an answer that breaks the protocol.
func (p *Peer) BadResponse(err error) *recourse.Error { return upstream.BadResponse(p.Name(), err) }

// Refused is the failure for an answer whose status is not 200.
func (p *Peer) Refused(resp *wire.Answer) *recourse.Error {
	if e := recourse.FromHTTP(p.Name(), &http.Response{StatusCode: resp.Status, Header: resp.Header, Body: io.NopCloser(resp)}); e != nil {
		return e.WithOrigin(recourse.OriginServer)
	}
	return p.BadResponse(fmt.Errorf("HTTP status %d", resp.Status))
}
