// Package recourse is the record of a failed MCP tool call: what happened,
// whose fault it is, whether anything was changed, and what to do next.
//
// A failure is an [Error]. A tool's author makes one with a constructor that
// reads as a sentence,
//
//	return recourse.NotFound("field", id)
//	return recourse.RateLimited(30 * time.Second).WithProvider("John Deere")
//	return recourse.Unavailable("John Deere").CausedBy(err)
//
// or turns an error it was given into one with [From] and [FromHTTP]. A caller
// asks by kind or by class, through any number of wraps:
//
//	if errors.Is(err, recourse.KindNotFound) { ... }
//	if errors.Is(err, recourse.ClassAuth) { ... }
//
// A call that needs more from a person or a model before it can run has not
// failed: that is a [NeedsInput]. Both satisfy the sealed interface [Failure].
//
// # Invariants
//
//   - Control flow switches on [Kind], which is a closed set, or on its [Class];
//     never on a message or on a contract's own word, the Code.
//   - An Error may be shared: no method but UnmarshalJSON changes its receiver, and
//     every With method and CausedBy return a copy.
//   - The private cause is for the operator. It is reached through errors.Is,
//     errors.As and [Error.Cause] only: no text and no JSON form contains it.
//   - RetryAfter is the only place for the wait, and it is a minimum. Points in
//     time are computed from it.
//   - A call whose [Effect] is unknown is never said to be safe to repeat,
//     whatever its kind: see [Error.RetryAdvice].
//   - The JSON form (version 1) omits empty members, keeps members that it does
//     not know, and is never longer than [MaxJSON]. Durations in it are whole
//     milliseconds (afterMs), times are RFC 3339 in UTC.
//
// The package imports only the standard library and is safe for concurrent use.
package recourse
