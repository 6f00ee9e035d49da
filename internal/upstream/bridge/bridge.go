package bridge

import (
	"context"
	"errors"
	"net/http"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/bridge/legacy"
	"github.com/recoursehq/recourse/internal/upstream/bridge/modern"
	"github.com/recoursehq/recourse/internal/upstream/bridge/peer"
)

// Options describe the server to a bridge; see [peer.Options].
type Options = peer.Options

// Bridge is a connection to one server for clients of both eras.
type Bridge struct {
	p      *peer.Peer
	tells  eraTeller // nil: the connection does not
	legacy *legacy.Bridge
	modern *modern.Bridge
}

// Holds reports whether a requestState is a bridge's own: of a call that waits in it, for the same call by the same caller.
func Holds(state string) bool { return legacy.Holds(state) }

// Discovered returns the result of server/discover for a server that has answered initialize so.
func Discovered(hello json.Value) json.Value { return legacy.Discovered(hello) }

// Greeting returns the result of initialize, for a client that asks for that version of the protocol, of a server that has
// answered server/discover so.
func Greeting(discovered json.Value, asked, name string) json.Value {
	return modern.Greeting(discovered, modern.VersionFor(asked), name)
}

// New returns the bridge over a connection, which it closes.
func New(next upstream.Connection, options Options) *Bridge {
	p := peer.New(next, options)
	b := &Bridge{p: p, legacy: legacy.New(p), modern: modern.New(p)}
	b.tells, _ = next.(eraTeller)
	return b
}

// Name returns the server's display name.
func (b *Bridge) Name() string { return b.p.Name() }

// Close ends the sessions that the bridge has opened, and the connection. It aborts calls in progress.
func (b *Bridge) Close() {
	b.legacy.Close()
	b.modern.Close()
	b.p.End()
}

// Do implements [upstream.Connection] for requests of either era, with answers of the same era. The error
// states recourse.EffectNone if the client's request has not been sent.
func (b *Bridge) Do(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	if r.IsPost() && r.Message == nil {
		m := wire.BorrowMessage()
		defer m.Return()
		switch err := wire.Parse(r.Body, m); {
		case err == nil:
			r.Message = m
		case b.p.Eras.Of(eraOf(r.Header)) == peer.Yes:
			return b.p.Do(ctx, r) // the server says what is wrong with it
		default:
			return wire.RespondMalformed(m.ID, err), nil
		}
	}
	if b.tells != nil {
		if era := b.tells.Era(); era != 0 {
			b.p.Eras.Only(era)
		}
	}
	if eraOf(r.Header) == wire.Modern {
		return b.doModern(ctx, r)
	}
	return b.doLegacy(ctx, r)
}

// An eraTeller is a connection that knows which era its server speaks; 0: not yet.
type eraTeller interface{ Era() wire.Era }

func eraOf(header http.Header) wire.Era {
	if version := header[wire.HeaderVersion]; len(version) == 1 && version[0] == wire.Version20260728 {
		return wire.Modern
	}
	return wire.Legacy
}

func (b *Bridge) doModern(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	if b.p.Eras.Of(wire.Modern) == peer.No {
		resp, err := b.legacy.Do(ctx, r, false)
		if !errors.Is(err, peer.ErrOtherEra) {
			return resp, err
		}
		b.p.Eras.Forget()
	}
	asked := b.p.Eras.Of(wire.Modern) == peer.Unknown && isRequest(r.Header)
	if asked {
		if resp, err := b.cross(ctx, r, false); resp != nil || err != nil {
			return resp, err
		}
	}
	resp, err := b.p.Do(ctx, r)
	if err != nil || asked || !peer.Refuses(resp) {
		return resp, err
	}
	text, err := peer.Keep(resp)
	if err != nil || !peer.SoundsLegacy(resp.Status, r.Header, text) {
		return resp, nil
	}
	b.p.Eras.Forget()
	if !peer.MaySendAgain(r.Header.Get(wire.HeaderMethod), text) {
		_, _ = b.p.Discover(ctx, r.Caller, r.Header) // so that the next request takes the right way
		return resp, nil
	}
	if bridged, err := b.cross(ctx, r, true); bridged != nil && err == nil {
		_ = resp.Close()
		return bridged, nil
	}
	return resp, nil
}

// cross finds out whether the server speaks the modern era, and sends the request over the bridge if it does
// not. If there is neither an answer nor an error, the request must be sent unchanged. again says that it has been, and
// was refused.
func (b *Bridge) cross(ctx context.Context, r *upstream.Request, again bool) (*wire.Answer, error) {
	speaks, err := b.p.Discover(ctx, r.Caller, r.Header)
	if err != nil || speaks != peer.No {
		return nil, err
	}
	resp, err := b.legacy.Do(ctx, r, again)
	if errors.Is(err, peer.ErrOtherEra) {
		b.p.Eras.Forget()
		return nil, nil
	}
	return resp, err
}

// isRequest reports whether the header of a message of the modern era says that it is a request.
func isRequest(header http.Header) bool {
	method := header.Get(wire.HeaderMethod)
	return method != "" && !wire.IsNotification(method)
}

func (b *Bridge) doLegacy(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	if b.p.Eras.Of(wire.Legacy) == peer.No || b.modern.Owns(r.Header) {
		resp, err := b.modern.Do(ctx, r)
		if !errors.Is(err, peer.ErrOtherEra) {
			return resp, err
		}
		b.p.Eras.Forget()
	}
	resp, err := b.p.Do(ctx, r)
	if err != nil || r.Message == nil {
		return resp, err
	}
	if !b.modern.Alone(ctx, r, resp) {
		return resp, nil // the server's own answer to the message says more
	}
	b.p.Eras.Only(wire.Modern)
	if text, err := peer.Keep(resp); err != nil || !peer.MaySendAgain(r.Message.Method, text) {
		return resp, nil
	}
	bridged, err := b.modern.Do(ctx, r)
	if errors.Is(err, peer.ErrOtherEra) {
		b.p.Eras.Forget()
		return resp, nil
	}
	_ = resp.Close()
	return bridged, err
}
