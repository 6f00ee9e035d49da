package bridge

import (
	"crypto/sha256"
	"net/http"
)

// A caller is whoever sends some credentials to the server. Callers whose
// credentials do not go on are one.
type caller [sha256.Size]byte

// callerOf returns the sender of a request.
func (b *Bridge) callerOf(header http.Header) caller {
	if len(b.options.Forward) == 0 {
		return caller{}
	}
	sum := sha256.New()
	for _, name := range b.options.Forward {
		for _, value := range header[name] {
			_, _ = sum.Write([]byte(name + "\x00" + value + "\x00")) // never fails
		}
	}
	return caller(sum.Sum(nil))
}
