package gateway

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/recoursehq/recourse/internal/bridge"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/retry"
)

// A backend is what the gateway holds of a server beside its entry. It outlives a
// change of the entry that says nothing of how the server is reached.
type backend struct {
	g        *Gateway
	bridged  *bridge.Bridge
	direct   bridge.Transport // the same without the bridge
	sessions *sessions
	place    *place // where those were opened that need not be opened again
	tools    *toolLists
	budget   retry.Budget

	// streams ends those that have no end of their own, on which a server may ask
	// something for a call: they do not hold the backend, and end with its last call.
	streams    context.Context //nolint:containedctx // the life of the streams, not of a call
	endStreams context.CancelFunc

	holds atomic.Int64 // of calls under way and of the table; none left: it is closed
}

// A place is where sessions are known: another server, or the same in another process,
// is another place.
type place struct{ _ byte } // not empty: each has an address of its own

// newBackend returns the backend for an entry: that of old, the server as it was
// before, where it is reached in the same way. The server is told the user in the header
// of that name, if there is one. The table that it is for holds it.
func (g *Gateway) newBackend(entry *config.Server, userHeader string, old *server) (*backend, error) {
	if old != nil && sameWay(old.Server, entry) && old.contract.Session.UserHeader == userHeader {
		return old.backend, nil
	}
	bridged, direct, err := g.newTransport(entry, userHeader)
	if err != nil {
		return nil, err
	}
	b := &backend{g: g, bridged: bridged, direct: direct, sessions: newSessions(), place: &place{}, tools: newToolLists(g.log)}
	if old != nil && entry.URL != "" && entry.URL == old.URL && slices.Equal(entry.Forward, old.Forward) {
		b.sessions, b.place = old.sessions, old.place // the server still knows them
	} else if old != nil && slices.Equal(entry.Forward, old.Forward) {
		b.sessions = old.sessions // they are opened again, at another place
	}
	b.streams, b.endStreams = context.WithCancel(g.streams)
	b.holds.Store(1)
	return b, nil
}

// sameWay reports whether both entries reach a server in the same way, and tell
// its clients apart in the same way.
func sameWay(a, b *config.Server) bool {
	return a.Name == b.Name && a.Title == b.Title && slices.Equal(a.Forward, b.Forward) &&
		a.URL == b.URL && maps.Equal(a.Headers, b.Headers) &&
		slices.Equal(a.Command, b.Command) && maps.Equal(a.Env, b.Env) && a.Cwd == b.Cwd && a.Share == b.Share && a.Idle == b.Idle
}

// hold keeps the backend open until leave is called. It reports false when the
// backend is closed already.
func (b *backend) hold() bool {
	for n := b.holds.Load(); n > 0; n = b.holds.Load() {
		if b.holds.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// leave ends a hold. The last one closes the backend.
func (b *backend) leave() {
	if b.holds.Add(-1) == 0 {
		b.g.retire(b)
	}
}

// close ends what is left of the backend and waits for the end.
func (b *backend) close() {
	b.endStreams()
	b.bridged.Close()
}
