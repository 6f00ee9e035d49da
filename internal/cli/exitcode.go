package cli

import (
	"errors"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Exit codes. They are stable.
const (
	ExitOK      = 0 // done; for serve: stopped by a signal, with all calls answered
	ExitFailure = 1 // a failure that is reported on standard error
	ExitUsage   = 2 // wrong usage, or a mistake in a configuration or contract file; for call: wrong arguments

	// The codes of a tool call that failed.

	ExitAuth      = 3 // credentials or permission
	ExitNotFound  = 4 // what the call is about does not exist
	ExitTransient = 5 // may succeed later
)

// exitCode returns the exit code for the error of a command.
func exitCode(err error) int {
	if _, ok := errors.AsType[strictyaml.Errors](err); ok {
		return ExitUsage
	}
	if failed, ok := errors.AsType[*term.CallError](err); ok {
		return exitCodeOf(failed.Failure)
	}
	if term.IsUsage(err) {
		return ExitUsage
	}
	return ExitFailure
}

// exitCodeOf returns the exit code for a failed call. What the server says about retrying overrides the
// kind: the same kind is transient in one contract, and not in another.
func exitCodeOf(failure recourse.Failure) int {
	e, ok := failure.(*recourse.Error)
	if !ok { // a question
		return ExitUsage
	}
	switch e.Kind.Class() {
	case recourse.ClassProtocol, recourse.ClassInput:
		return ExitUsage
	case recourse.ClassAuth, recourse.ClassPermission:
		return ExitAuth
	case recourse.ClassResource:
		return ExitNotFound
	default:
		refuses := e.Retry == recourse.RetryNever && e.Kind.Class() != recourse.ClassAllowance // a limit passes in any case
		if mayPass(e) || e.Kind.Retry() == recourse.RetrySameCall && !refuses {
			return ExitTransient
		}
		return ExitFailure
	}
}

// mayPass reports whether the contract of e says that the same call may succeed later.
func mayPass(e *recourse.Error) bool {
	c, ok := contract.Builtin().Get(e.Contract)
	if !ok {
		return e.Retry == recourse.RetrySameCall
	}
	return c.Retryable(e.WithEffect(recourse.EffectNone), &contract.Call{})
}
