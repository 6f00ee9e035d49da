package upstream

import (
	"errors"
	"fmt"
	"strings"

	"github.com/recoursehq/recourse"
)

// ErrSessionLost is in the cause of a failure if the server answered a call by saying that it does not know its
// session, and there is no other session in which the call could be made.
var ErrSessionLost = errors.New("the server has lost the session")

// SessionLost is that failure, of a call that the server of that name has refused with an HTTP status; why says why there
// is no other session. The status is the server's word that it has not carried the call out. That is all that is known
// of the call, and no reason to make it again before somebody has looked.
func SessionLost(name string, status int, why error) *recourse.Error {
	e, known := errors.AsType[*recourse.Error](why)
	if known {
		why = e.Cause()
	} else {
		e = recourse.Unavailable(name).WithMessage("").WithOrigin(recourse.OriginServer)
	}
	message := fmt.Sprintf("%s has lost the session of this call (HTTP %d), and did nothing with it. There is no new one", name, status)
	if e.Message != "" {
		message += ": " + strings.TrimSuffix(e.Message, ".")
	}
	cause := fmt.Errorf("%w: %v", ErrSessionLost, why) //nolint:errorlint // what it means for the session is not what it means for the call
	if known && why != nil {
		cause = fmt.Errorf("%w: %w", ErrSessionLost, why)
	}
	return e.With(func(r *recourse.Error) {
		r.Message, r.Retry, r.RetryAfter, r.Effect = message+".", recourse.RetryReRead, 0, recourse.EffectNone
		r.Upstream = recourse.Upstream{Status: status}
	}).CausedBy(cause)
}
