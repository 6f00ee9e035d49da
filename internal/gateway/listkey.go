package gateway

import (
	"crypto/sha256"
	"slices"
	"time"

	"github.com/recoursehq/recourse/internal/config"
)

// listKey tells apart the callers whose tool lists are kept apart: by their credentials,
// and where each has a program of its own by the session, or what stands for it.
func (x *exchange) listKey() credentials {
	switch {
	case len(x.s.Command) == 0 || x.s.Share != config.ShareClient:
		return x.credentials()
	case x.session != nil:
		return sha256.Sum256([]byte("session\x00" + x.session.id))
	}
	sum := sha256.New()
	for _, value := range x.upstreamHeader()["Authorization"] {
		_, _ = sum.Write([]byte(value + "\x00")) // never fails
	}
	return credentials(sum.Sum(nil))
}

// asker tells apart the callers who share a list but could be given another: a server
// may list other tools in another session, or for a client that can do more.
func (x *exchange) asker() credentials {
	if x.session != nil {
		return sha256.Sum256([]byte("session\x00" + x.session.id))
	}
	sum := sha256.New()
	for _, part := range [][]byte{x.msg.ClientInfo, x.msg.ClientCapabilities} {
		_, _ = sum.Write(append(slices.Clip(part), 0)) // never fails
	}
	return credentials(sum.Sum(nil))
}

// refreshList gets the list anew before anything is refused on its word, unless it
// was fetched for this caller just now.
func (x *exchange) refreshList() {
	newerThan := time.Now()
	if x.list.by == x.asker() {
		newerThan = newerThan.Add(-listFresh)
	}
	if newer := x.s.tools.get(x.ctx, x, newerThan); newer != nil {
		x.list = newer
	}
}

// isOwnList reports whether a call may be refused on the word of the list: it was given
// to this caller.
func (x *exchange) isOwnList() bool { return x.list.by == x.asker() }
