package toolcall

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/privacy/secret"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// OnceNoKey is the failure of a call without the key that its tool demands.
func OnceNoKey() *recourse.Error {
	return recourse.Missing(once.KeyMembers[0]).WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone).
		WithMessage("This tool takes an idempotency key: a text of its own for each call that is meant, in _meta[%q] "+
			"or in the header %s.", once.KeyMembers[0], once.KeyHeader)
}

// Credentials returns the credentials in headers, which tell apart callers that nobody has verified; those headers aside. A session is
// none: whoever repeats a call after a restart has a new one.
func Credentials(header http.Header, aside ...string) (words []string) {
	aside = append(aside, once.KeyHeader, wire.HeaderSession)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if (secret.Name(name) || name == "Cookie") && !slices.Contains(aside, name) {
			words = append(append(words, name), header[name]...)
		}
	}
	return words
}

// OnceWrongKey is the failure of a call whose own key is not valid.
func OnceWrongKey(why string) *recourse.Error {
	return recourse.New(recourse.KindInvalidValue, "").WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone).
		WithMessage("The idempotency key of the call is not valid: %s.", why)
}

// OnceWrongAgain is the failure of a call that says in a wrong way that it is meant again.
func OnceWrongAgain() *recourse.Error {
	return recourse.InvalidValue(once.AgainArgument, fmt.Sprintf("a text of up to %d bytes, without control characters", once.MaxKey), nil).
		WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
}

// The failures of repetitions have a detail each, by which contracts choose a code.

// OnceUnderWay is the failure of a call that cannot wait any longer for the same one.
func OnceUnderWay(wait time.Duration) *recourse.Error {
	return recourse.Unavailable("").WithEffect(recourse.EffectNone).WithRetryAfter(wait).
		WithMessage("The same call is still under way. Its answer is not there yet.").WithDetail("inFlight", true)
}

// OnceUnknown is the failure of a call that may have happened, and is not made.
func OnceUnknown(row *once.Row, wait time.Duration) *recourse.Error {
	e := recourse.New(recourse.KindTimeout, "").WithEffect(recourse.EffectUnknown).
		WithMessage("This call was made before, and it is not known what became of it. It is not made again.")
	if wait > 0 {
		e = e.WithRetryAfter(wait)
	}
	return e.WithDetail("outcomeUnknown", row.Created.UTC().Format(time.RFC3339))
}

// OnceKnown is the failure of a call that has happened, and whose answer is not there any more.
func OnceKnown(row *once.Row) *recourse.Error {
	return recourse.New(recourse.KindConflict, "").WithEffect(recourse.EffectApplied).WithRetry(recourse.RetryNever).
		WithMessage("This call has already been made, and has succeeded. Its answer was not kept.").
		WithHint("Do not make the call again: it has been made.").
		WithDetail("outcomeKnown", row.Changed.UTC().Format(time.RFC3339))
}

// OnceConflict is the failure of a call whose key belongs to another one.
func OnceConflict(row *once.Row, arguments json.Value) *recourse.Error {
	e := recourse.New(recourse.KindConflict, "").WithEffect(recourse.EffectNone).WithRetry(recourse.RetryAfterFix).
		WithMessage("The key of this call belongs to one with other arguments.").
		WithHint("Nothing was done. If this is the same call, repeat its arguments; if it is another one, give it another key.")
	names := once.Differing(row.Fields, arguments)
	if len(names) > 0 {
		e = e.WithMessage("The key of this call belongs to one with other arguments. They differ in %s.", strings.Join(shown(names), ", "))
	}
	return e.WithOrigin(recourse.OriginCaller).WithDetail("differs", names)
}

// shown returns the first of many names.
func shown(names []string) []string {
	const most = 8
	if len(names) <= most {
		return names
	}
	return append(names[:most:most], fmt.Sprintf("and %d others", len(names)-most))
}
