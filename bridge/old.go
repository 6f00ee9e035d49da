package bridge

import (
	"context"
	"net/http"
)

// oldServer sends requests of the new era to a server of the old one.
type oldServer struct{ b *Bridge }

func newOldServer(b *Bridge) *oldServer { return &oldServer{b: b} }

// send sends a request of the new era. It returns errOtherEra when the server opens
// no session.
func (o *oldServer) send(ctx context.Context, method string, header http.Header, body []byte) (*http.Response, error) {
	return nil, errOtherEra
}

func (o *oldServer) close() {}
