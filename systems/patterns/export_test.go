package patterns

import (
	"net/http"

	"github.com/recoursehq/recourse/mcptool"
)

// ReachBy has s ask its library by another way than the network.
func (s *System) ReachBy(way http.RoundTripper) {
	s.api.http.Transport = mcptool.Transport(way, provider)
}
