package recourse

// Kind says what happened. The set is closed: a reader maps a word that it does
// not know to [KindUnknown]. A Kind is an error, so that it can be the target of
// errors.Is.
type Kind string

// The kinds of class protocol: the message itself was wrong. Repeating it does
// not help.
const (
	KindMalformed          Kind = "malformed"           // not JSON
	KindInvalidRequest     Kind = "invalid_request"     // JSON, but not a JSON-RPC message
	KindUnknownMethod      Kind = "unknown_method"      // no such JSON-RPC method
	KindUnsupportedVersion Kind = "unsupported_version" // a protocol version that is not supported
	KindMissingCapability  Kind = "missing_capability"  // the client lacks a capability that the call needs
	KindHeaderMismatch     Kind = "header_mismatch"     // an HTTP header contradicts the body
	KindUnknownSession     Kind = "unknown_session"     // the session is not known, or no longer known
	KindRefusedOrigin      Kind = "refused_origin"      // Origin or Host is not among those allowed
)

// The kinds of class input: the arguments must change.
const (
	KindMissingParam      Kind = "missing_param"
	KindInvalidType       Kind = "invalid_type"
	KindInvalidValue      Kind = "invalid_value"
	KindConflictingParams Kind = "conflicting_params"
	KindUnknownParam      Kind = "unknown_param"
	KindUnknownTool       Kind = "unknown_tool"
	KindTooLarge          Kind = "too_large"
)

// The kinds of class auth: somebody has to sign in, or renew or extend access.
const (
	KindUnauthenticated Kind = "unauthenticated"
	KindTokenExpired    Kind = "token_expired"
	KindTokenRevoked    Kind = "token_revoked"
	KindMissingScope    Kind = "missing_scope"
	KindNotConnected    Kind = "not_connected"
)

// KindPermissionDenied is the kind of class permission: the caller is known, but
// not allowed to do this.
const KindPermissionDenied Kind = "permission_denied"

// The kinds of class resource: the call asks for something that does not exist.
const (
	KindNotFound Kind = "not_found" // an identifier matches nothing
	KindNoMatch  Kind = "no_match"  // a search or filter matched nothing
)

// The kinds of class state: the thing exists, but not as the call assumed.
const (
	KindConflict     Kind = "conflict"
	KindInvalidState Kind = "invalid_state"
)

// The kinds of class allowance: the call was right, but too much or too soon.
const (
	KindRateLimited    Kind = "rate_limited"    // too many calls in a window
	KindQuotaExhausted Kind = "quota_exhausted" // what was paid for or granted is used up
	KindLimitReached   Kind = "limit_reached"   // a cap on how many things may exist
)

// The kinds of class upstream: the other side did not answer properly.
const (
	KindUnreachable Kind = "unreachable"  // no connection, or it broke
	KindUnavailable Kind = "unavailable"  // it says that it is down or overloaded
	KindTimeout     Kind = "timeout"      // no answer in time
	KindServerError Kind = "server_error" // it failed, HTTP 5xx
	KindClientError Kind = "client_error" // it refused the request for another reason, HTTP 4xx
	KindBadResponse Kind = "bad_response" // it answered, but not what the protocol allows
)

// The kinds of class data: the thing exists, but not the data to answer the
// question.
const (
	KindInsufficientData Kind = "insufficient_data"
	KindNoData           Kind = "no_data"
)

// KindPartial is the kind of class partial: some items succeeded, others failed.
// Each failed item carries its own Error, which decides about that item.
const KindPartial Kind = "partial"

// The kinds of class work: the work itself ended without success.
const (
	KindJobFailed      Kind = "job_failed"
	KindNotImplemented Kind = "not_implemented"
	KindCancelled      Kind = "cancelled"
)

// The kinds of class system.
const (
	KindInternal Kind = "internal" // a bug or an unexpected failure
	KindUnknown  Kind = "unknown"  // a failure that says nothing about itself
)

// Class is a group of kinds that call for the same recovery. A Class is an
// error, so that it can be the target of errors.Is.
type Class string

// The classes.
const (
	ClassProtocol   Class = "protocol"
	ClassInput      Class = "input"
	ClassAuth       Class = "auth"
	ClassPermission Class = "permission"
	ClassResource   Class = "resource"
	ClassState      Class = "state"
	ClassAllowance  Class = "allowance"
	ClassUpstream   Class = "upstream"
	ClassData       Class = "data"
	ClassPartial    Class = "partial"
	ClassWork       Class = "work"
	ClassSystem     Class = "system"
)

// Retry says what must happen before the call is made again.
type Retry string

// The kinds of retry advice, from the most to the least permissive. A reader takes a word that it does not know for
// none, so that the kind decides.
const (
	RetrySameCall  Retry = "same_call"  // nothing but the wait: the same call may succeed
	RetryReRead    Retry = "re_read"    // look at the current state, then decide
	RetryAfterFix  Retry = "after_fix"  // change the arguments
	RetryAfterAuth Retry = "after_auth" // somebody signs in or grants access
	// RetryAfterSetup waits for a person as well: somebody changes a setting of the server, or of the machine on which
	// it runs. A key is missing, a program is not installed, a disk is full. No kind calls for it by itself.
	RetryAfterSetup Retry = "after_setup"
	RetryNever      Retry = "never" // do not repeat
)

// kindFacts holds what is fixed for a kind.
type kindFacts struct {
	class    Class
	retry    Retry
	sentence string // the message of an Error that has none of its own
}

// kinds is the closed set. Its order is that of the constants above.
var (
	kindOrder = []Kind{
		KindMalformed, KindInvalidRequest, KindUnknownMethod, KindUnsupportedVersion,
		KindMissingCapability, KindHeaderMismatch, KindUnknownSession, KindRefusedOrigin,
		KindMissingParam, KindInvalidType, KindInvalidValue, KindConflictingParams,
		KindUnknownParam, KindUnknownTool, KindTooLarge,
		KindUnauthenticated, KindTokenExpired, KindTokenRevoked, KindMissingScope, KindNotConnected,
		KindPermissionDenied,
		KindNotFound, KindNoMatch,
		KindConflict, KindInvalidState,
		KindRateLimited, KindQuotaExhausted, KindLimitReached,
		KindUnreachable, KindUnavailable, KindTimeout, KindServerError, KindClientError, KindBadResponse,
		KindInsufficientData, KindNoData,
		KindPartial,
		KindJobFailed, KindNotImplemented, KindCancelled,
		KindInternal, KindUnknown,
	}
	kinds = map[Kind]kindFacts{
		KindMalformed:          {ClassProtocol, RetryNever, "The message is not valid JSON."},
		KindInvalidRequest:     {ClassProtocol, RetryNever, "The message is not a valid JSON-RPC request."},
		KindUnknownMethod:      {ClassProtocol, RetryNever, "There is no such method."},
		KindUnsupportedVersion: {ClassProtocol, RetryNever, "This protocol version is not supported."},
		KindMissingCapability:  {ClassProtocol, RetryNever, "The client lacks a capability that this call needs."},
		KindHeaderMismatch:     {ClassProtocol, RetryNever, "An HTTP header contradicts the message."},
		KindUnknownSession:     {ClassProtocol, RetryNever, "The session is not known. Initialize a new one."},
		KindRefusedOrigin:      {ClassProtocol, RetryNever, "Requests from this origin are refused."},

		KindMissingParam:      {ClassInput, RetryAfterFix, "A required parameter is missing."},
		KindInvalidType:       {ClassInput, RetryAfterFix, "A parameter has the wrong type."},
		KindInvalidValue:      {ClassInput, RetryAfterFix, "A parameter has a value that is not allowed."},
		KindConflictingParams: {ClassInput, RetryAfterFix, "Parameters exclude each other."},
		KindUnknownParam:      {ClassInput, RetryAfterFix, "A parameter is not known."},
		KindUnknownTool:       {ClassInput, RetryAfterFix, "There is no such tool."},
		KindTooLarge:          {ClassInput, RetryAfterFix, "The request is too large."},

		KindUnauthenticated: {ClassAuth, RetryAfterAuth, "Valid credentials are required."},
		KindTokenExpired:    {ClassAuth, RetryAfterAuth, "The access has expired."},
		KindTokenRevoked:    {ClassAuth, RetryAfterAuth, "The access was revoked."},
		KindMissingScope:    {ClassAuth, RetryAfterAuth, "The access lacks a required scope."},
		KindNotConnected:    {ClassAuth, RetryAfterAuth, "The account is not connected."},

		KindPermissionDenied: {ClassPermission, RetryNever, "This is not permitted."},

		KindNotFound: {ClassResource, RetryAfterFix, "It was not found."},
		KindNoMatch:  {ClassResource, RetryAfterFix, "Nothing matched."},

		KindConflict:     {ClassState, RetryReRead, "It conflicts with the present state."},
		KindInvalidState: {ClassState, RetryReRead, "The present state does not allow this."},

		KindRateLimited:    {ClassAllowance, RetrySameCall, "Too many requests."},
		KindQuotaExhausted: {ClassAllowance, RetryNever, "The quota is used up."},
		KindLimitReached:   {ClassAllowance, RetryAfterFix, "A limit has been reached."},

		KindUnreachable: {ClassUpstream, RetrySameCall, "The server could not be reached."},
		KindUnavailable: {ClassUpstream, RetrySameCall, "The server is not available at the moment."},
		KindTimeout:     {ClassUpstream, RetrySameCall, "No answer came in time."},
		KindServerError: {ClassUpstream, RetrySameCall, "The server failed."},
		KindClientError: {ClassUpstream, RetryNever, "The server refused the request."},
		KindBadResponse: {ClassUpstream, RetryNever, "The server's answer could not be understood."},

		KindInsufficientData: {ClassData, RetryAfterFix, "There is not enough data for this."},
		KindNoData:           {ClassData, RetryAfterFix, "There is no data for this."},

		KindPartial: {ClassPartial, RetryNever, "Some items failed."},

		KindJobFailed:      {ClassWork, RetryNever, "The work ended without success."},
		KindNotImplemented: {ClassWork, RetryNever, "This is not implemented."},
		KindCancelled:      {ClassWork, RetryNever, "The call was cancelled."},

		KindInternal: {ClassSystem, RetryNever, "An internal error occurred."},
		KindUnknown:  {ClassSystem, RetryNever, "An unknown error occurred."},
	}
)

// Kinds returns every kind, by class, in the order of their declaration.
func Kinds() []Kind { return append([]Kind(nil), kindOrder...) }

// ParseKind returns the kind of that name, and whether there is one.
func ParseKind(name string) (Kind, bool) {
	if _, ok := kinds[Kind(name)]; !ok {
		return KindUnknown, false
	}
	return Kind(name), true
}

func (k Kind) facts() kindFacts {
	if f, ok := kinds[k]; ok {
		return f
	}
	return kinds[KindUnknown]
}

// Class returns the group that k belongs to. The zero Kind, and any word
// outside the set, belong where [KindUnknown] does.
func (k Kind) Class() Class { return k.facts().class }

// Retry returns what k calls for when nothing else is known.
func (k Kind) Retry() Retry { return k.facts().retry }

// Sentence returns the fixed message of k, which reveals nothing.
func (k Kind) Sentence() string { return k.facts().sentence }

// Error makes a Kind an error that errors.Is can look for.
func (k Kind) Error() string { return string(k) }

// Error makes a Class an error that errors.Is can look for.
func (c Class) Error() string { return string(c) }

// Is reports whether target is the class of k.
func (k Kind) Is(target error) bool {
	c, ok := target.(Class) // the target itself is the class asked for
	return ok && k.Class() == c
}

// Classes returns every class, in the order of their declaration.
func Classes() []Class {
	return []Class{
		ClassProtocol, ClassInput, ClassAuth, ClassPermission, ClassResource, ClassState,
		ClassAllowance, ClassUpstream, ClassData, ClassPartial, ClassWork, ClassSystem,
	}
}
