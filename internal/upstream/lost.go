package upstream

import (
	"errors"
	"fmt"

	"github.com/recoursehq/recourse"
)

// ErrSessionLost is in the cause of a failure if the server answered a call by saying that it does not know its
// session, and there is no other session in which the call could be made.
var ErrSessionLost = errors.New("the server has lost the session")

// SessionLost is that failure, of a call that the server of that name has refused with an HTTP status. The status is
// the server's word that it has not carried the call out, and that is all that is known: the server is not asked to
// carry it out again, and nobody is advised to ask.
func SessionLost(name string, status int, cause error) *recourse.Error {
	return recourse.ClientError(name, status).
		WithMessage("%s has lost the session of this call (HTTP %d), and did nothing with it. There is no new session.", name, status).
		WithOrigin(recourse.OriginServer).WithUpstream(recourse.Upstream{Status: status}).WithEffect(recourse.EffectNone).
		CausedBy(fmt.Errorf("%w: %v", ErrSessionLost, cause)) //nolint:errorlint // that one is about the session, not about the call
}
