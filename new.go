package recourse

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// New returns an Error of that kind. Prefer the constructor named for the kind,
// if there is one. An empty message means the kind's own.
func New(kind Kind, message string) *Error {
	return &Error{Kind: kind, Message: message}
}

// Missing says that required parameters were not given.
func Missing(params ...string) *Error {
	e := New(KindMissingParam, plural(params, "Parameter %s is required.", "Parameters %s are required."))
	for _, p := range params {
		e.Violations = append(e.Violations, Violation{
			Pointer: pointerOf(p), Param: p, Rule: "required", Message: p + " is required",
		})
	}
	return e
}

// InvalidType says that a parameter has the wrong type; want names the right
// one. Pass nil as got to keep the value out of the record.
func InvalidType(param, want string, got any) *Error {
	return invalid(KindInvalidType, "type", param, want, got)
}

// InvalidValue says that a parameter has a value outside of what want
// describes. Pass nil as got to keep the value out of the record.
func InvalidValue(param, want string, got any) *Error {
	return invalid(KindInvalidValue, "", param, want, got)
}

func invalid(kind Kind, rule, param, want string, got any) *Error {
	v := Violation{Pointer: pointerOf(param), Param: param, Rule: rule, Want: want, Message: param + " must be " + want}
	if got != nil {
		v.Got = rawJSON(got)
	}
	return New(kind, fmt.Sprintf("Parameter %s must be %s.", param, want)).WithViolations(v)
}

// Conflicting says that parameters exclude each other.
func Conflicting(params ...string) *Error {
	list := join(params)
	e := New(KindConflictingParams, fmt.Sprintf("Parameters %s cannot be used together.", list))
	for _, p := range params {
		e.Violations = append(e.Violations, Violation{
			Pointer: pointerOf(p), Param: p, Rule: "not", Message: list + " exclude each other",
		})
	}
	return e
}

// UnknownTool says that there is no tool of that name.
func UnknownTool(name string) *Error {
	return New(KindUnknownTool, fmt.Sprintf("There is no tool named %s.", quote(name))).WithResource("tool", name)
}

// TooLarge says that the request is over a limit in bytes.
func TooLarge(limit int64) *Error {
	return New(KindTooLarge, fmt.Sprintf("The request is larger than the %d bytes that are allowed.", limit))
}

// Unauthenticated says that valid credentials are required.
func Unauthenticated() *Error { return New(KindUnauthenticated, "") }

// TokenExpired says that the access to provider has expired and could not be
// renewed.
func TokenExpired(provider string) *Error {
	return New(KindTokenExpired, fmt.Sprintf("The access to %s has expired.", provider)).WithProvider(provider)
}

// TokenRevoked says that the access to provider was revoked.
func TokenRevoked(provider string) *Error {
	return New(KindTokenRevoked, fmt.Sprintf("The access to %s was revoked.", provider)).WithProvider(provider)
}

// MissingScope says that the access to provider lacks scopes.
func MissingScope(provider string, scopes ...string) *Error {
	e := New(KindMissingScope, fmt.Sprintf("The access to %s lacks %s.", provider, plural(scopes, "the scope %s", "the scopes %s")))
	e.Provider, e.MissingScopes = provider, scopes
	return e
}

// NotConnected says that no account of provider has been connected yet.
func NotConnected(provider string) *Error {
	return New(KindNotConnected, fmt.Sprintf("No %s account is connected.", provider)).WithProvider(provider)
}

// PermissionDenied says that the caller may not do this.
func PermissionDenied() *Error { return New(KindPermissionDenied, "") }

// NotFound says that no resource of that type has that id.
func NotFound(resourceType, id string) *Error {
	return New(KindNotFound, fmt.Sprintf("There is no %s %s.", resourceType, quote(id))).WithResource(resourceType, id)
}

// NoMatch says that a search or filter matched no resource of that type.
func NoMatch(resourceType string) *Error {
	return New(KindNoMatch, fmt.Sprintf("No %s matched.", resourceType)).WithResource(resourceType, "")
}

// Conflict says that the call conflicts with the current state; message says
// how.
func Conflict(message string) *Error { return New(KindConflict, message) }

// InvalidState says that the current state does not allow the call; message says
// why.
func InvalidState(message string) *Error { return New(KindInvalidState, message) }

// RateLimited says that there were too many calls. wait is the minimum wait; 0
// means unknown.
func RateLimited(wait time.Duration) *Error { return New(KindRateLimited, "").WithRetryAfter(wait) }

// QuotaExhausted says that the quota of that name is used up.
func QuotaExhausted(policy string) *Error {
	e := New(KindQuotaExhausted, fmt.Sprintf("The quota %s is used up.", quote(policy)))
	e.Quotas = []Quota{{Policy: policy}}
	return e
}

// LimitReached says that no more resources of that type may be created.
func LimitReached(resourceType string) *Error {
	return New(KindLimitReached, fmt.Sprintf("No more of type %s may be created.", quote(resourceType))).WithResource(resourceType, "")
}

// Unreachable says that the connection to provider could not be made, or broke.
func Unreachable(provider string) *Error {
	return New(KindUnreachable, fmt.Sprintf("%s could not be reached.", name(provider))).WithProvider(provider)
}

// Unavailable says that provider is down or overloaded.
func Unavailable(provider string) *Error {
	return New(KindUnavailable, fmt.Sprintf("%s is not available at the moment.", name(provider))).WithProvider(provider)
}

// Timeout says that provider did not answer within that time; 0 means unknown.
func Timeout(provider string, within time.Duration) *Error {
	message := fmt.Sprintf("%s did not answer in time.", name(provider))
	if within > 0 {
		message = fmt.Sprintf("%s did not answer within %s.", name(provider), FormatWait(within))
	}
	return New(KindTimeout, message).WithProvider(provider)
}

// ServerError says that provider failed with an HTTP status of 500 or more; 0
// means none.
func ServerError(provider string, status int) *Error {
	return answered(KindServerError, "failed", provider, status)
}

// ClientError says that provider refused the request with a 4xx status; 0 means
// none.
func ClientError(provider string, status int) *Error {
	return answered(KindClientError, "refused the request", provider, status)
}

func answered(kind Kind, verb, provider string, status int) *Error {
	message := name(provider) + " " + verb + "."
	if status != 0 {
		message = fmt.Sprintf("%s %s (HTTP %d).", name(provider), verb, status)
	}
	return New(kind, message).WithProvider(provider).WithUpstream(Upstream{Status: status})
}

// BadResponse says that provider's answer cannot be understood.
func BadResponse(provider string) *Error {
	return New(KindBadResponse, fmt.Sprintf("%s sent an invalid response.", name(provider))).WithProvider(provider)
}

// InsufficientData says what data an analysis lacked.
func InsufficientData(missing ...MissingData) *Error {
	e := New(KindInsufficientData, "")
	e.Missing = missing
	return e
}

// NoData says that there is no data; message says for what.
func NoData(message string) *Error { return New(KindNoData, message) }

// Partial says that some items of a batch were done and others were not.
func Partial(succeeded []SucceededItem, failed []FailedItem) *Error {
	e := New(KindPartial, fmt.Sprintf("%d of %d items failed.", len(failed), len(succeeded)+len(failed)))
	e.Succeeded, e.Failed, e.Effect = succeeded, failed, EffectApplied
	return e
}

// JobFailed says that the work ended without success; message says why.
func JobFailed(message string) *Error { return New(KindJobFailed, message) }

// NotImplemented says that what was asked for does not exist here.
func NotImplemented(what string) *Error {
	return New(KindNotImplemented, fmt.Sprintf("%s is not implemented.", name(what)))
}

// Cancelled says that the caller abandoned the call.
func Cancelled() *Error { return New(KindCancelled, "") }

// Internal says that something failed through no fault of the caller. Add the
// reason with CausedBy: it only goes to the log.
func Internal() *Error { return New(KindInternal, "") }

// FormatWait spells a duration for a person: "12 s", "1.5 s", "250 ms", "3 min",
// "1 min 30 s", "2 h", "2 d".
func FormatWait(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(float64(d.Milliseconds())/1000, 'f', -1, 64) + " s"
	case whole(d, time.Second) < 60*60:
		return units(whole(d, time.Second), 60, "min", "s")
	case whole(d, time.Minute) < 24*60:
		return units(whole(d, time.Minute), 60, "h", "min")
	default:
		return units(whole(d, time.Hour), 24, "d", "h")
	}
}

// whole returns d in whole units, rounded up: a wait is a minimum.
func whole(d, unit time.Duration) int64 { return int64((d-1)/unit) + 1 }

func units(n, per int64, large, small string) string {
	s := strconv.FormatInt(n/per, 10) + " " + large
	if rest := n % per; rest != 0 {
		s += " " + strconv.FormatInt(rest, 10) + " " + small
	}
	return s
}

// pointerOf turns order.items.0.sku into /order/items/0/sku.
func pointerOf(param string) string {
	escaped := strings.NewReplacer("~", "~0", "/", "~1").Replace(param)
	return "/" + strings.ReplaceAll(escaped, ".", "/")
}

func plural(names []string, one, many string) string {
	if len(names) == 1 {
		return fmt.Sprintf(one, names[0])
	}
	return fmt.Sprintf(many, join(names))
}

func join(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func name(provider string) string {
	if provider == "" {
		return "The server"
	}
	return provider
}

// quote shows a caller's own value, bounded and escaped.
func quote(value string) string {
	const most = 128
	if r := []rune(value); len(r) > most {
		value = string(r[:most]) + "…"
	}
	return strconv.Quote(value)
}

// rawJSON returns the JSON form of v, or the name of its type if it has none.
func rawJSON(v any) json.RawMessage {
	b, err := marshal(v)
	if err != nil {
		b, _ = json.Marshal(fmt.Sprintf("%T", v))
	}
	return b
}
