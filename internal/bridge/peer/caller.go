package peer

import (
	"crypto/sha256"
	"net/http"
)

// A Caller is whoever sends some credentials to the server. Callers who send none are
// one, the zero Caller: nobody can tell whom of them a server means that does not say
// which request it speaks of.
type Caller [sha256.Size]byte

// IsAnonymous reports whether it may be anybody.
func (c Caller) IsAnonymous() bool { return c == Caller{} }

// CallerOf returns the sender of a request.
func (p *Peer) CallerOf(header http.Header) Caller {
	sum, known := sha256.New(), false
	for _, name := range p.Forward {
		for _, value := range header[name] {
			_, _ = sum.Write([]byte(name + "\x00" + value + "\x00")) // never fails
			known = true
		}
	}
	if !known {
		return Caller{}
	}
	return Caller(sum.Sum(nil))
}
