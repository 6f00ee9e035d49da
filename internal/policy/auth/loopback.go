package auth

import (
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/door"
)

// Loopback accepts every caller on this machine: see [door.Proxies.IsLocal].
type Loopback struct {
	Access  string
	Proxies door.Proxies
}

var _ authn.Authenticator = (*Loopback)(nil)

// Authenticate implements [authn.Authenticator].
func (l *Loopback) Authenticate(r *http.Request) (authn.Identity, error) {
	if !l.Proxies.IsLocal(r) {
		e := recourse.PermissionDenied().WithMessage("Only callers on the gateway's own machine are let in here.")
		return authn.Identity{}, &Refusal{Record: e, At: contract.AtSession, Elsewhere: true}
	}
	return authn.Identity{Access: l.Access, Method: MethodLoopback, Name: "loopback"}, nil
}
