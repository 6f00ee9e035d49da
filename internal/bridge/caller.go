package bridge

import (
	"crypto/sha256"
	"net/http"
)

// A caller is whoever sends some credentials to the server. Callers who send none are
// one, the zero caller: nobody can tell whom of them a server means that does not say
// which request it speaks of.
type caller [sha256.Size]byte

// isAnonymous reports whether it may be anybody.
func (c caller) isAnonymous() bool { return c == caller{} }

// callerOf returns the sender of a request.
func (b *Bridge) callerOf(header http.Header) caller {
	sum, known := sha256.New(), false
	for _, name := range b.options.Forward {
		for _, value := range header[name] {
			_, _ = sum.Write([]byte(name + "\x00" + value + "\x00")) // never fails
			known = true
		}
	}
	if !known {
		return caller{}
	}
	return caller(sum.Sum(nil))
}
