package systemtest

import (
	"context"
	"net/http"
)

// Hangs is a backend that never answers, without a network: time under testing/synctest advances meanwhile.
type Hangs struct{}

// RoundTrip waits until the request is cancelled.
func (Hangs) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}
