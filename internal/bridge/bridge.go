package bridge

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/bridge/legacy"
	"github.com/recoursehq/recourse/internal/bridge/modern"
	"github.com/recoursehq/recourse/internal/bridge/peer"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
)

// A Transport carries messages to a server; see [peer.Transport].
type Transport = peer.Transport

// Options say what a bridge has to know of the server; see [peer.Options].
type Options = peer.Options

// Bridge is a transport to one server for clients of both eras. It is safe for
// concurrent use. Make one with [New] and end it with [Bridge.Close].
type Bridge struct {
	p      *peer.Peer
	tells  eraTeller // nil: the transport does not
	legacy *legacy.Server
	modern *modern.Server
}

// New returns the bridge over a transport, which it closes.
func New(next Transport, options Options) *Bridge {
	p := peer.New(next, options)
	b := &Bridge{p: p, legacy: legacy.New(p), modern: modern.New(p)}
	b.tells, _ = next.(eraTeller)
	return b
}

// Name returns what people call the server.
func (b *Bridge) Name() string { return b.p.Name() }

// Broken turns an error of Send, or of reading the answer, into the Error that it
// means.
func (b *Bridge) Broken(ctx context.Context, err error) *recourse.Error { return b.p.Broken(ctx, err) }

// Close ends the sessions that the bridge has opened, and the transport. Calls under
// way are broken off.
func (b *Bridge) Close() {
	b.legacy.Close()
	b.modern.Close()
	b.p.End()
}

// Ask sends a request whose answer the caller needs for itself, such as tools/list,
// and reads it to its end, up to limit bytes. The error is that of [Bridge.Send], or
// bad_response of origin server.
func (b *Bridge) Ask(ctx context.Context, header http.Header, body []byte, id wire.ID, limit int64) (*upstream.Answer, error) {
	return upstream.Ask(ctx, b, header, body, id, limit)
}

// Send sends a request of either era and returns the answer in the same era,
// whatever its status; closing its body is left to the caller. The headers belong to
// Send from then on. The error is that of the transport, an [*recourse.Error] that
// states recourse.EffectNone when the request has not been sent.
func (b *Bridge) Send(ctx context.Context, method string, header http.Header, body []byte) (*http.Response, error) {
	if method != http.MethodPost {
		return b.send(ctx, method, header, nil)
	}
	m := wire.BorrowMessage()
	defer m.Return()
	switch err := wire.Parse(body, m); {
	case err == nil:
		return b.send(ctx, method, header, m)
	case b.p.Eras.Of(eraOf(header)) == peer.Yes:
		return b.p.Send(ctx, method, header, body) // the server says what is wrong with it
	default:
		return wire.RespondMalformed(m.ID, err), nil
	}
}

// Post is [Bridge.Send] for a message that has been parsed; see [upstream.Sender].
func (b *Bridge) Post(ctx context.Context, header http.Header, m *wire.Message) (*http.Response, error) {
	return b.send(ctx, http.MethodPost, header, m)
}

// send sends a message, or m being nil, a request for a stream or for the end of a session.
func (b *Bridge) send(ctx context.Context, method string, header http.Header, m *wire.Message) (*http.Response, error) {
	b.ownEra()
	if eraOf(header) == wire.Modern {
		return b.sendModern(ctx, method, header, m)
	}
	return b.sendLegacy(ctx, method, header, m)
}

// sendAsIs sends a message to a server of its own era.
func (b *Bridge) sendAsIs(ctx context.Context, method string, header http.Header, m *wire.Message) (*http.Response, error) {
	if m == nil {
		return b.p.Send(ctx, method, header, nil)
	}
	return b.p.Post(ctx, header, m)
}

// An eraTeller is a transport that knows by itself which one era its server speaks; 0:
// it has not found out yet.
type eraTeller interface{ Era() wire.Era }

// ownEra takes note of what the transport says of the server's era.
func (b *Bridge) ownEra() {
	if b.tells == nil {
		return
	}
	if era := b.tells.Era(); era != 0 {
		b.p.Eras.Only(era)
	}
}

// eraOf returns the era of a client's request.
func eraOf(header http.Header) wire.Era {
	if version := header[wire.HeaderVersion]; len(version) == 1 && version[0] == wire.Version20260728 {
		return wire.Modern
	}
	return wire.Legacy
}

// sendModern sends a request of the modern era.
func (b *Bridge) sendModern(ctx context.Context, method string, header http.Header, m *wire.Message) (*http.Response, error) {
	if b.p.Eras.Of(wire.Modern) == peer.No {
		resp, err := b.legacy.Send(ctx, method, header.Clone(), m)
		if !errors.Is(err, peer.ErrOtherEra) {
			return resp, err
		}
		b.p.Eras.Forget()
	}
	asked := b.p.Eras.Of(wire.Modern) == peer.Unknown && isRequest(header)
	if asked {
		if resp, err := b.cross(ctx, method, header, m); resp != nil || err != nil {
			return resp, err
		}
	}
	resp, err := b.sendAsIs(ctx, method, header, m)
	if err != nil || asked || !peer.Refuses(resp) {
		return resp, err
	}
	text, err := peer.Keep(resp)
	if err != nil || !peer.SoundsLegacy(resp.StatusCode, header, text) {
		return resp, nil //nolint:nilerr // the caller finds the same when it reads the body
	}
	b.p.Eras.Forget()
	if !peer.MaySendAgain(header.Get(wire.HeaderMethod), text) {
		_, _ = b.p.Discover(ctx, header) // so that the next request goes the right way
		return resp, nil
	}
	if bridged, err := b.cross(ctx, method, header, m); bridged != nil && err == nil {
		_ = resp.Body.Close()
		return bridged, nil
	}
	return resp, nil
}

// cross finds out whether the server speaks the modern era, and sends the request over
// the bridge where it does not. It returns neither an answer nor an error when the
// request is to be sent as it is.
func (b *Bridge) cross(ctx context.Context, method string, header http.Header, m *wire.Message) (*http.Response, error) {
	speaks, err := b.p.Discover(ctx, header)
	if err != nil || speaks != peer.No {
		return nil, err
	}
	resp, err := b.legacy.Send(ctx, method, header.Clone(), m)
	if errors.Is(err, peer.ErrOtherEra) {
		b.p.Eras.Forget()
		return nil, nil //nolint:nilnil // it speaks neither: what it says of the request is the truth about it
	}
	return resp, err
}

// isRequest reports whether the message of the modern era with that header is a request.
func isRequest(header http.Header) bool {
	method := header.Get(wire.HeaderMethod)
	return method != "" && !strings.HasPrefix(method, "notifications/")
}

// sendLegacy sends a message of the legacy era.
func (b *Bridge) sendLegacy(ctx context.Context, method string, header http.Header, m *wire.Message) (*http.Response, error) {
	if b.p.Eras.Of(wire.Legacy) == peer.No || b.modern.Owns(header) {
		resp, err := b.modern.Send(ctx, method, header.Clone(), m)
		if !errors.Is(err, peer.ErrOtherEra) {
			return resp, err
		}
		b.p.Eras.Forget()
	}
	resp, err := b.sendAsIs(ctx, method, header, m)
	if err != nil || m == nil {
		return resp, err
	}
	if !b.modern.Alone(ctx, header, m, resp) {
		return resp, nil // what the server itself says of the message says more
	}
	b.p.Eras.Only(wire.Modern)
	if text, err := peer.Keep(resp); err != nil || !peer.MaySendAgain(m.Method, text) {
		return resp, nil //nolint:nilerr // the caller finds the same when it reads the body
	}
	bridged, err := b.modern.Send(ctx, method, header.Clone(), m)
	if errors.Is(err, peer.ErrOtherEra) {
		b.p.Eras.Forget()
		return resp, nil
	}
	_ = resp.Body.Close()
	return bridged, err
}
