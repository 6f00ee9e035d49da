package recourse

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Failure is what a call can end with instead of a result: an [Error] or a
// [NeedsInput]. The interface is sealed.
type Failure interface {
	error
	failure()
}

var (
	_ Failure = (*Error)(nil)
	_ Failure = (*NeedsInput)(nil)
)

// Effect says whether the failed call changed anything. The zero value means that
// it has not been stated.
type Effect string

// The effects.
const (
	EffectNone    Effect = "none"    // nothing was changed
	EffectApplied Effect = "applied" // it was done, at least in part
	EffectUnknown Effect = "unknown" // it may have been done
)

// Basis says on what an [Effect] rests. The zero value means that it has not been stated.
type Basis string

// The bases.
const (
	// BasisKnown is that of an effect that whoever wrote the record knows of: the call was not sent, it was refused
	// by the protocol, its tool only reads, or the server is trusted.
	BasisKnown Basis = "known"
	// BasisStated is that of an effect that rests on the word of a server that is not trusted: its sentence, or the
	// kind of failure that it names. That is enough to tell a person, but not to repeat a write: see
	// [Error.KnownEffect].
	BasisStated Basis = "stated"
	// BasisProfile is that of an effect that rests on the profile of a server's package, by whose code the tool only
	// reads. That is enough to repeat the call.
	BasisProfile Basis = "profile"
)

// Origin says who failed. The zero value means that it has not been stated.
type Origin string

// The origins, from the caller outwards.
const (
	OriginCaller   Origin = "caller"   // who made the call
	OriginGateway  Origin = "gateway"  // what is between caller and server
	OriginServer   Origin = "server"   // the MCP server
	OriginProvider Origin = "provider" // what the MCP server itself calls
)

// Error is the record of a failure. Make one with a constructor such as
// [NotFound], with [New], [From] or [FromHTTP]; change a copy of it with the
// With methods.
type Error struct {
	Kind     Kind
	Code     string   // the contract's own word, as it was on the wire
	Contract string   // the contract that Code belongs to
	Message  string   // one sentence for the model or the person; empty means Kind.Sentence
	Hints    []string // what to do next, one sentence each, the most important first

	Retry       Retry         // empty: by Kind and Effect, see RetryAdvice
	RetryAfter  time.Duration // wait at least this long before a retry; 0: not stated
	Effect      Effect        // empty: not stated
	EffectBasis Basis         // on what Effect rests; empty: not stated
	Verify      *Verify       // the call that settles an unknown Effect; nil: none is known

	Violations    []Violation
	Resource      Resource
	Provider      string // display name of the side that was asked, such as "John Deere"
	MissingScopes []string
	Quotas        []Quota // the binding one first
	Succeeded     []SucceededItem
	Failed        []FailedItem
	Missing       []MissingData

	Origin    Origin
	Upstream  Upstream
	RequestID string                     // of the failed request, for the operator's log
	Details   map[string]json.RawMessage // anything else, by name

	truncated bool
	extra     map[string]json.RawMessage // members of the JSON form that this version does not know
	cause     error
}

// Verify names the read-only call that tells whether a write took effect.
type Verify struct {
	Tool string `json:"tool"`
	Args Args   `json:"args,omitempty"`
	// From are further arguments, whose values may not be shown: the caller takes them from the failed call's own
	// arguments. Each is a JSON Pointer into those, or a list of one, which makes a list of the value.
	From   Args   `json:"from,omitempty"`
	LookAt string `json:"lookAt,omitempty"` // what in its answer settles the question
}

// Violation is one way in which the arguments break a tool's inputSchema.
type Violation struct {
	Pointer string          `json:"pointer"`        // RFC 6901, into the arguments
	Param   string          `json:"param"`          // the same place, as a person would write it: order.items.0.sku
	Rule    string          `json:"rule,omitempty"` // the JSON Schema keyword, such as "required"
	Got     json.RawMessage `json:"got,omitempty"`  // the value there, at most 128 characters
	Want    string          `json:"want,omitempty"` // what was expected
	Message string          `json:"message,omitempty"`
}

// Resource is the thing that a failure is about.
type Resource struct {
	Type string `json:"type,omitempty"` // singular, such as "field"
	ID   string `json:"id,omitempty"`
}

// Quota is the state of one limit at the time of the failure.
type Quota struct {
	Policy    string        // its name, such as "minute"
	Limit     int64         // calls per window; 0: not stated
	Window    time.Duration // 0: not stated
	Remaining int64
	ResetAt   time.Time // zero: not stated
	Partition string    // whose allowance it is
}

// SucceededItem is an item of a batch that was done.
type SucceededItem struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value,omitempty"`
}

// FailedItem is an item of a batch that was not done, and why.
type FailedItem struct {
	ID    string `json:"id"`
	Error *Error `json:"error"`
}

// MissingData names data that an analysis lacked.
type MissingData struct {
	What    string `json:"what"`
	Impact  string `json:"impact,omitempty"` // required, degraded or optional
	Message string `json:"message,omitempty"`
}

// Upstream is what the other side said about the failure.
type Upstream struct {
	Status    int    `json:"status,omitempty"` // HTTP status
	Code      string `json:"code,omitempty"`   // its own error code
	RequestID string `json:"requestId,omitempty"`
}

// Error returns the kind and the message. The cause is not in it.
func (e *Error) Error() string { return string(e.Kind) + ": " + e.Sentence() }

// GoString returns the same as Error, so that %#v does not print the cause.
func (e *Error) GoString() string { return "recourse.Error{" + strconv.Quote(e.Error()) + "}" }

// Sentence returns the message, or the kind's if there is none.
func (e *Error) Sentence() string {
	if e.Message != "" {
		return e.Message
	}
	return e.Kind.Sentence()
}

// Is reports whether target is the kind of e or the class of that kind.
func (e *Error) Is(target error) bool {
	switch t := target.(type) { // the target itself is the kind or class asked for
	case Kind:
		return e.Kind == t
	case Class:
		return e.Kind.Class() == t
	default:
		return false
	}
}

// Unwrap returns the private cause, for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.cause }

// Cause returns the private cause, for the operator's log. Never render it to a
// caller.
func (e *Error) Cause() error { return e.cause }

func (e *Error) failure() {}

// RetryAdvice returns what must happen before a retry: what was stated, or else what
// the kind calls for, as for a word that this version does not know. A call whose effect
// is unknown, or that took effect, must never be repeated unchanged, no matter what was
// stated: same_call becomes re_read.
func (e *Error) RetryAdvice() Retry {
	advice := e.Kind.Retry()
	switch e.Retry {
	case RetrySameCall, RetryReRead, RetryAfterFix, RetryAfterAuth, RetryAfterSetup, RetryNever:
		advice = e.Retry
	}
	if advice == RetrySameCall && (e.Effect == EffectUnknown || e.Effect == EffectApplied) {
		return RetryReRead
	}
	return advice
}

// KnownEffect returns the effect as far as it is known: that nothing was changed counts as unknown if it
// rests on the word of a server that is not trusted. It decides whether a write is repeated without asking
// anybody; what a person or a model is told is Effect itself.
func (e *Error) KnownEffect() Effect {
	if e.Effect == EffectNone && e.EffectBasis == BasisStated {
		return EffectUnknown
	}
	return e.Effect
}

// Truncated reports whether part of e is missing: the JSON form that it was read
// from was cut to fit [MaxJSON], or its source was incomplete.
func (e *Error) Truncated() bool { return e.truncated }

// WithTruncated returns a copy that says that part of it is missing.
func (e *Error) WithTruncated() *Error {
	return e.With(func(c *Error) { c.truncated = true })
}

// Extra returns the members that this version does not know of the JSON form that e was
// read from. They are written back; do not modify the map.
func (e *Error) Extra() map[string]json.RawMessage { return e.extra }

// WithExtra returns a copy with those members instead of the ones that were read.
// Members known to this version are ignored.
func (e *Error) WithExtra(members map[string]json.RawMessage) *Error {
	return e.With(func(c *Error) { c.extra = unknownOf(members) })
}

// With returns a copy of e with change applied. The copy shares its slices and
// maps with e: replace them, do not modify them.
func (e *Error) With(change func(*Error)) *Error {
	c := *e
	change(&c)
	return &c
}

// CausedBy returns a copy with cause as the private cause.
func (e *Error) CausedBy(cause error) *Error {
	return e.With(func(c *Error) { c.cause = cause })
}

// WithMessage returns a copy with that message, formatted as by fmt.Sprintf.
func (e *Error) WithMessage(format string, args ...any) *Error {
	return e.With(func(c *Error) { c.Message = fmt.Sprintf(format, args...) })
}

// WithHint returns a copy with hint appended to the hints.
func (e *Error) WithHint(hint string) *Error {
	return e.With(func(c *Error) { c.Hints = append(slices.Clip(c.Hints), hint) })
}

// WithCode returns a copy that says code in the words of contract. A contract
// that lists the code writes it as it is: the author's word wins.
func (e *Error) WithCode(contract, code string) *Error {
	return e.With(func(c *Error) { c.Contract, c.Code = contract, code })
}

// WithRetry returns a copy with that advice instead of the kind's.
func (e *Error) WithRetry(retry Retry) *Error {
	return e.With(func(c *Error) { c.Retry = retry })
}

// WithRetryAfter returns a copy with wait as the minimum time before a retry. A
// negative wait counts as none.
func (e *Error) WithRetryAfter(wait time.Duration) *Error {
	return e.With(func(c *Error) { c.RetryAfter = max(wait, 0) })
}

// WithEffect returns a copy that states whether anything was changed. On what that rests is kept only if the
// effect is the same as before.
func (e *Error) WithEffect(effect Effect) *Error {
	return e.With(func(c *Error) {
		if c.Effect != effect {
			c.Effect, c.EffectBasis = effect, ""
		}
	})
}

// WithEffectBasis returns a copy that says on what its effect rests.
func (e *Error) WithEffectBasis(basis Basis) *Error {
	return e.With(func(c *Error) { c.EffectBasis = basis })
}

// WithVerify returns a copy with the call that settles an unknown effect.
func (e *Error) WithVerify(verify Verify) *Error {
	return e.With(func(c *Error) { c.Verify = &verify })
}

// WithOrigin returns a copy that says who failed.
func (e *Error) WithOrigin(origin Origin) *Error {
	return e.With(func(c *Error) { c.Origin = origin })
}

// WithProvider returns a copy with the display name of the other side.
func (e *Error) WithProvider(name string) *Error {
	return e.With(func(c *Error) { c.Provider = name })
}

// WithUpstream returns a copy with what the other side said.
func (e *Error) WithUpstream(upstream Upstream) *Error {
	return e.With(func(c *Error) { c.Upstream = upstream })
}

// WithResource returns a copy that is about the thing of that type and id.
func (e *Error) WithResource(typ, id string) *Error {
	return e.With(func(c *Error) { c.Resource = Resource{Type: typ, ID: id} })
}

// WithViolations returns a copy with those violations instead of any earlier ones.
func (e *Error) WithViolations(violations ...Violation) *Error {
	return e.With(func(c *Error) { c.Violations = slices.Clone(violations) })
}

// WithRequestID returns a copy with that request id.
func (e *Error) WithRequestID(id string) *Error {
	return e.With(func(c *Error) { c.RequestID = id })
}

// WithDetail returns a copy with value under key in the details. A value that
// has no JSON form is replaced by the name of its type.
func (e *Error) WithDetail(key string, value any) *Error {
	return e.With(func(c *Error) {
		c.Details = maps.Clone(c.Details)
		if c.Details == nil {
			c.Details = map[string]json.RawMessage{}
		}
		c.Details[key] = rawJSON(value)
	})
}
