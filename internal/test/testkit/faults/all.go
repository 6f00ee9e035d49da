// Package faults has the ways in which a [testkit.Server] fails on request.
package faults

import (
	"net/http"
	"slices"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// All returns every fault that can happen to one message; the large answers among them have a text of that
// many bytes, which should be more than a gateway examines. Faults of a server as a whole are not included:
// see [testkit.RefusedURL], [testkit.UnresolvableURL], [testkit.Server.Stop], [testkit.Server.Restart] and
// [testkit.Server.ForgetSessions].
func All(large int64) []testkit.Fault {
	const drip = 50 * time.Millisecond
	return slices.Concat(
		[]testkit.Fault{
			ResetBeforeAnswer(), ResetInBody(), ResetAfterAnswer(), CloseAfterHeaders(),
			Hang(), Drip(testkit.JSON, drip), Drip(testkit.SSE, drip),
			CutEvent(), EndWithoutAnswer(),
			RestartDuring(), SessionLost(),
		},
		[]testkit.Fault{
			TruncatedJSON(), HTMLWith200(), Empty200(),
			WrongID(testkit.JSON), WrongID(testkit.SSE), DuplicateAnswer(testkit.JSON), DuplicateAnswer(testkit.SSE),
			Large(testkit.JSON, large, Whole), Large(testkit.JSON, large, Wrong), Large(testkit.JSON, large, Broken),
			Large(testkit.JSON, large, Failed), Large(testkit.SSE, large, Whole),
			IDLast(), IsErrorLast(),
		},
		[]testkit.Fault{LeakyToolError(), RichToolError(), RetryableError()},
		statuses(),
	)
}

func statuses() []testkit.Fault {
	faults := []testkit.Fault{Unauthorized(), InsufficientScope(), Redirect("")}
	for _, code := range []int{
		http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusRequestTimeout,
		http.StatusRequestEntityTooLarge, http.StatusTeapot, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusNotImplemented, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout,
	} {
		faults = append(faults, Status(code, Plain))
	}
	for _, body := range []Body{HTML, Problem, RPC, None} {
		faults = append(faults, Status(http.StatusBadGateway, body), Status(http.StatusServiceUnavailable, body))
	}
	const inSeconds, year = "7", "31536000"
	for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		fault := Status(code, Plain)
		faults = append(faults,
			fault.With("Retry-After", inSeconds).Named(fault.Name+", Retry-After in seconds"),
			fault.RetryIn(7*time.Second).Named(fault.Name+", Retry-After as a date"),
			fault.With("Retry-After", "-5").Named(fault.Name+", Retry-After negative"),
			fault.With("Retry-After", year).Named(fault.Name+", Retry-After of a year"),
			fault.With("Retry-After", "soon").Named(fault.Name+", Retry-After garbage"),
		)
	}
	return faults
}
