package access

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/policy/auth"
)

// recheckEvery is how often the credentials behind a long call or an open stream are verified again.
const recheckEvery = 10 * time.Second

// A Verifier returns why the caller of a request would not be let in now; nil: it would be.
type Verifier interface {
	Again(r *http.Request) *auth.Refusal
}

// A Recheck verifies the caller of a call again during the call, and ends the call when its credentials have
// expired or been revoked. It can be reused after it was stopped. Like a deadline's, its timer is only set
// again when it fires.
type Recheck struct {
	mu     sync.Mutex
	timer  *time.Timer
	set    bool // the timer is set
	by     Verifier
	r      *http.Request // nil: not watching
	since  time.Time
	cancel context.CancelCauseFunc // ends the call
}

// Start watches the caller of a request that came at since.
func (k *Recheck) Start(r *http.Request, since time.Time, by Verifier) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.by, k.r, k.since = by, r, since
	switch {
	case k.set:
	case k.timer == nil:
		k.timer = time.AfterFunc(recheckEvery, k.look)
	default:
		k.timer.Reset(recheckEvery)
	}
	k.set = true
}

// Ends sets how the call is ended. It has no effect on a call that is not watched.
func (k *Recheck) Ends(cancel context.CancelCauseFunc) {
	if k.r == nil { // only the call itself changes r, so it may read r without the lock
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cancel = cancel
}

// Stop ends the watch.
func (k *Recheck) Stop() {
	if k.r == nil { // as above
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.by, k.r, k.cancel = nil, nil, nil
}

// look verifies the caller again.
func (k *Recheck) look() {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.r
	if k.set = r != nil; !k.set {
		return
	}
	if early := time.Until(k.since.Add(recheckEvery)); early > 0 {
		k.timer.Reset(early)
		return
	}
	by, copied := k.by, r.Clone(context.Background()) // r is not ours once the call has ended
	k.mu.Unlock()
	refusal := by.Again(copied)
	k.mu.Lock()
	if refusal != nil && k.r == r && k.cancel != nil {
		k.cancel(&lapse{refusal})
	}
	k.timer.Reset(recheckEvery)
}

// A lapse ends a call whose caller is no longer let in.
type lapse struct{ refusal *auth.Refusal }

func (l *lapse) Error() string { return l.refusal.Error() }

// Unwrap returns an error that does not blame the server.
func (*lapse) Unwrap() error { return recourse.Cancelled() }

// Lapsed returns why the caller is no longer let in, if a recheck has ended the call of that context, which may be nil.
func Lapsed(ctx context.Context) *auth.Refusal {
	if ctx == nil || ctx.Err() == nil {
		return nil
	}
	if l, ok := context.Cause(ctx).(*lapse); ok { //nolint:errorlint // the cause is stored unwrapped
		return l.refusal
	}
	return nil
}
