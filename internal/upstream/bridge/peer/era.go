package peer

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// A Support says whether a server speaks an era.
type Support uint8

// The verdicts.
const (
	Unknown Support = iota
	Yes
	No
)

// Eras is what is known about a server: a [Support] for each era. Since every request reads it, it takes no
// lock.
type Eras struct{ v atomic.Uint32 }

func shift(era wire.Era) uint32 { return 4 * (uint32(era) - uint32(wire.Legacy)) }

// Of returns what is known about an era.
func (e *Eras) Of(era wire.Era) Support { return Support(e.v.Load() >> shift(era) & 0xf) }

// Set records whether the server speaks an era.
func (e *Eras) Set(era wire.Era, v Support) {
	for {
		was := e.v.Load()
		is := was&^(0xf<<shift(era)) | uint32(v)<<shift(era)
		if was == is || e.v.CompareAndSwap(was, is) {
			return
		}
	}
}

// Only records that the server speaks one era and not the other.
func (e *Eras) Only(era wire.Era) {
	other := wire.Legacy
	if era == wire.Legacy {
		other = wire.Modern
	}
	e.v.Store(uint32(Yes)<<shift(era) | uint32(No)<<shift(other))
}

// Forget clears everything, as after a restart of the server.
func (e *Eras) Forget() { e.v.Store(0) }

// A discovery is a server/discover in progress. Everyone who wants to know meanwhile waits for it.
type discovery struct {
	done   chan struct{}
	speaks Support
	denied bool // the credentials of the caller were refused
	err    error
}

const (
	// discoverTimeout is how long a server may take to answer server/discover. Some legacy servers do not
	// answer what they do not know.
	discoverTimeout = 5 * time.Second
	// MaxDiscover limits the answer.
	MaxDiscover = 1 << 20
)

// Discover finds out whether the server speaks the modern era, and records it. It asks with the headers of a
// request, which it does not change. The verdict is Unknown for a server that is in trouble, or refuses the
// credentials. The error states recourse.EffectNone: the actual request has not been sent.
func (p *Peer) Discover(ctx context.Context, of upstream.Caller, header http.Header) (Support, error) {
	for {
		p.mu.Lock()
		q, own := p.discovering, false
		if q == nil {
			q, own = &discovery{done: make(chan struct{})}, true
			p.discovering = q
		}
		p.mu.Unlock()
		if own {
			h := ModernHeader(header, wire.MethodDiscover)
			p.Background(func(ctx context.Context) { p.askServer(ctx, q, of, h) }) // it serves all callers, and outlives this one
		}
		select {
		case <-q.done:
		case <-ctx.Done():
			return Unknown, p.EndedBeforeSend(ctx)
		}
		if own || !q.denied {
			return q.speaks, q.err
		}
	}
}

func (p *Peer) askServer(ctx context.Context, q *discovery, of upstream.Caller, header http.Header) {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.discovering = nil
		close(q.done)
	}()
	ctx, cancel := context.WithTimeout(ctx, p.Patience(discoverTimeout))
	defer cancel()
	asks := &upstream.Request{Header: header, Body: discoverRequest, Caller: of}
	answer, err := upstream.Ask(ctx, p, asks, discoverID, MaxDiscover)
	switch {
	case err != nil && (ctx.Err() != nil || recourse.From(err).Kind == recourse.KindBadResponse):
		q.speaks = No
	case err != nil:
		q.err = recourse.From(err).WithEffect(recourse.EffectNone)
	case IsDenied(answer.Status):
		q.denied = true
	case IsAway(answer.Status):
	case wire.SpeaksModern(answer.Result):
		q.speaks = Yes
		p.Eras.Set(wire.Modern, Yes)
	default:
		q.speaks = No
		p.Eras.Set(wire.Modern, No)
	}
}

var (
	discoverID      = wire.ID(`"recourse-discover"`)
	discoverRequest = wire.AppendRequest(nil, discoverID, wire.MethodDiscover, upstream.DiscoverParams)
)

// ErrOtherEra says that the server does not accept requests in the era into which the bridge would convert
// the client's. The client's request has not been sent.
var ErrOtherEra = errors.New("the server does not speak this era")

// MaxSessionBytes limits what each direction keeps for its sessions.
const MaxSessionBytes = 32 << 20
