package access

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/policy/glob"
	"github.com/recoursehq/recourse/internal/recent"
)

// maxVerdicts limits how many answers of a check are kept.
const maxVerdicts = 10_000

// A Users decides which users a caller may be. A nil one lets callers be anybody. It is safe for concurrent use.
type Users struct {
	rule *config.Users
	by   *Checks
	log  *slog.Logger

	mu    sync.Mutex
	known *recent.Map[pair, *verdict] // what the check has answered, or is being asked
}

// A pair is a caller and a user.
type pair struct{ access, name, org, user string }

// A verdict is what a check says of a pair.
type verdict struct {
	ready chan struct{} // closed when it is there
	err   error         // there is none
	may   bool
	until time.Time
}

// NewUsers returns the users of an entry's rule; nil: it has none. old is the entry's previous one, which is kept, with what it knows, if
// nothing has changed.
func NewUsers(rule *config.Users, by *Checks, log *slog.Logger, old *Users) *Users {
	switch {
	case rule == nil:
		return nil
	case old != nil && reflect.DeepEqual(old.rule, rule):
		return old
	}
	return &Users{rule: rule, by: by, log: log, known: recent.New[pair, *verdict](recent.Bounds{Most: maxVerdicts})}
}

// May returns why a caller may not be a user; nil: the caller may. A user whom the caller may not be is refused like one who does not
// exist. If the check has not answered, the caller is to try again.
func (u *Users) May(ctx context.Context, who *authn.Identity, user string) *auth.Refusal {
	if u == nil {
		return nil
	}
	may := false
	switch {
	case u.rule.Claim != "":
		may = slices.Contains(who.Users, user)
	case u.rule.File != "":
		for _, pattern := range u.rule.Allowed[who.Access+"/"+who.Name] {
			may = may || glob.Match(pattern, user)
		}
	default:
		var err error
		if may, err = u.ask(ctx, who, user); err != nil {
			return unanswered()
		}
	}
	if may {
		return nil
	}
	e := recourse.New(recourse.KindNotFound, "").WithMessage("The user in the path is not valid, or not one that you may be.")
	return &auth.Refusal{Record: e, At: contract.AtUserInvalid}
}

// unanswered is the refusal of a caller of whom it is not known which user it may be.
func unanswered() *auth.Refusal {
	const wait = 5 * time.Second
	e := recourse.Unavailable("the check of users").WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).
		WithRetryAfter(wait).WithMessage("It cannot be checked now whether you may be the user in the path.")
	return &auth.Refusal{Record: e, At: contract.AtSession}
}

// ask returns what the check says of a caller and a user. Those who ask at once share one check, which goes on if some of them
// leave.
func (u *Users) ask(ctx context.Context, who *authn.Identity, user string) (may bool, err error) {
	of := pair{who.Access, who.Name, who.Org, user}
	u.mu.Lock()
	v, ok := u.known.Get(of)
	if !ok || v.isOver(time.Now()) {
		v = &verdict{ready: make(chan struct{})}
		u.known.Keep(of, v, 0)
		who := *who // the call may be over by then
		if !u.by.work.Go(func(ctx context.Context) { u.settle(ctx, v, &who, user) }) {
			u.known.Remove(of)
			v.err = context.Canceled
			close(v.ready)
		}
	}
	u.mu.Unlock()
	select {
	case <-v.ready:
		return v.may, v.err
	case <-ctx.Done():
		return false, fmt.Errorf("check of a user: %w", context.Cause(ctx))
	}
}

// isOver reports whether a verdict must be asked for again. Users.mu is held.
func (v *verdict) isOver(now time.Time) bool {
	select {
	case <-v.ready:
		return v.err != nil || !now.Before(v.until)
	default:
		return false
	}
}

// settle makes the check.
func (u *Users) settle(ctx context.Context, v *verdict, who *authn.Identity, user string) {
	defer close(v.ready)
	ctx, cancel := context.WithTimeout(ctx, u.rule.Timeout)
	defer cancel()
	v.may, v.err = u.by.ask(ctx, u.rule, who, user)
	keep := u.rule.Keep
	if !v.may {
		keep = u.rule.KeepRefusals
	}
	v.until = time.Now().Add(keep)
	if v.err != nil {
		u.log.LogAttrs(ctx, slog.LevelWarn, "whether a caller may be a user cannot be checked: the call is refused",
			slog.String("caller", who.Name), slog.Any("cause", v.err))
	}
}
