package fieldmcp

import (
	"context"
	"net/http"
	"time"

	"github.com/recoursehq/recourse/mcptool"
)

// ReachBy replaces the network between s and its provider.
func (s *System) ReachBy(way http.RoundTripper) {
	s.deere.http.Transport = mcptool.Transport(way, providerName)
}

// WithSleep returns o with sleep instead of real waits between requests to the provider.
func WithSleep(o Options, sleep func(context.Context, time.Duration) error) Options {
	o.sleep = sleep
	return o
}

// Asked returns how many requests for a path the provider has received.
func (s *System) Asked(path string) int {
	s.provider.mu.Lock()
	defer s.provider.mu.Unlock()
	return s.provider.asked[path]
}

// CheckToken checks a token except for its signature.
func CheckToken(token string, now time.Time) error {
	signed, _, err := split(token)
	if err != nil {
		return err
	}
	v := &tokenVerifier{identity: Identity{Issuer: "nobody", Audience: "nobody"}, now: func() time.Time { return now }}
	return v.check(signed.claims)
}
