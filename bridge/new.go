package bridge

import (
	"context"
	"net/http"
)

// newServer sends messages of the old era to a server of the new one.
type newServer struct{ b *Bridge }

func newNewServer(b *Bridge) *newServer { return &newServer{b: b} }

// send sends a message of the old era. It returns errOtherEra when the server does
// not speak the new one.
func (n *newServer) send(ctx context.Context, method string, header http.Header, body []byte) (*http.Response, error) {
	return nil, errOtherEra
}

// refused reports whether the answer to a message of the old era is the refusal of a
// server that may speak the new one. It keeps the answer as it is, and notes that the
// server speaks the old era when the answer says so.
func (n *newServer) refused(header http.Header, body []byte, resp *http.Response) bool {
	return false
}

func (n *newServer) close() {}
