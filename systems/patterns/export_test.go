package patterns

import (
	"net/http"

	"github.com/recoursehq/recourse/mcptool"
)

// ReachBy replaces the network between s and its library.
func (s *System) ReachBy(way http.RoundTripper) {
	s.api.http.Transport = mcptool.Transport(way, provider)
}
