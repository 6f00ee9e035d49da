package testkit

import (
	"net/http"
	"slices"
	"time"
)

// Faults returns every fault that can happen to one message; the large answers among them have a text of that
// many bytes, which should be more than a gateway examines. Faults of a server as a whole are not included:
// see [RefusedURL], [UnresolvableURL], [Server.Stop], [Server.Restart] and [Server.ForgetSessions].
func Faults(large int64) []Fault {
	const drip = 50 * time.Millisecond
	return slices.Concat(
		[]Fault{
			ResetBeforeAnswer(), ResetInBody(), ResetAfterAnswer(), CloseAfterHeaders(),
			Hang(), Drip(JSON, drip), Drip(SSE, drip),
			CutEvent(), EndWithoutAnswer(),
			RestartDuring(), SessionLost(),
		},
		[]Fault{
			TruncatedJSON(), HTMLWith200(), Empty200(),
			WrongID(JSON), WrongID(SSE), DuplicateAnswer(JSON), DuplicateAnswer(SSE),
			Large(JSON, large, Whole), Large(JSON, large, Wrong), Large(JSON, large, Broken),
			Large(JSON, large, Failed), Large(SSE, large, Whole),
			IDLast(), IsErrorLast(),
		},
		[]Fault{LeakyToolError(), RichToolError(), RetryableError()},
		statusFaults(),
	)
}

func statusFaults() []Fault {
	faults := []Fault{Unauthorized(), InsufficientScope(), Redirect("")}
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
