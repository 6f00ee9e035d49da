package testkit

import (
	"net/http"
	"slices"
	"strings"
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

// Secrets that the faults leak, and a gateway must not.
const (
	secretAddr     = "10.11.12.13:5432"
	secretPassword = "hunter2-s3cr3t"
	secretDSN      = "postgres://farm:" + secretPassword + "@" + secretAddr + "/orders"
	secretFrame    = "/srv/app/internal/orders/store.go:42"
)

// LeakText is the message of a careless server when its database is down. It contains all [Secrets].
const LeakText = "could not create the order: dial " + secretDSN + ": connect: connection refused\n\n" +
	"goroutine 17 [running]:\nmain.(*Store).Create(0xc000010000)\n\t" + secretFrame + " +0x1b\n" +
	"Traceback (most recent call last):\n  File \"/srv/app/orders.py\", line 7, in create\n    raise err"

// Secrets returns the parts of the faults' answers that must never reach a client: a password, addresses and
// stack frames.
func Secrets() []string {
	return []string{secretPassword, secretDSN, secretAddr, strings.TrimPrefix(secretFrame, "/"), "/srv/app/orders.py"}
}
