package recourse

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// resetHeaders say when an allowance is renewed, in order of precedence: the IETF
// draft and its early form, then common variants.
var resetHeaders = []string{"RateLimit-Reset", "X-RateLimit-Reset", "X-Rate-Limit-Reset"}

// remainingHeaders say what is left of an allowance.
var remainingHeaders = []string{"RateLimit-Remaining", "X-RateLimit-Remaining", "X-Rate-Limit-Remaining"}

// exhausted reports whether the headers say that nothing is left of an allowance.
func exhausted(header http.Header) bool {
	for _, name := range remainingHeaders {
		if strings.TrimSpace(header.Get(name)) == "0" {
			return true
		}
	}
	return false
}

// resetAfter reads when an allowance is renewed, in seconds from now, or in
// seconds or milliseconds since 1970, and reports whether a header says so. It is
// as careful as [RetryAfter].
func resetAfter(header http.Header, now time.Time) (time.Duration, bool) {
	now = present(header, now)
	for _, name := range resetHeaders {
		n, err := strconv.ParseFloat(strings.TrimSpace(header.Get(name)), 64)
		if err != nil || math.IsNaN(n) || n <= 0 {
			continue
		}
		const (
			seconds      = 1e8  // a point in time since 1973, no wait of three years
			milliseconds = 1e11 // no point in time in the year 5138
		)
		switch {
		case n >= milliseconds:
			n = n/1000 - unix(now)
		case n >= seconds:
			n -= unix(now)
		}
		if n > 0 {
			return time.Duration(min(n, MaxWait.Seconds()) * float64(time.Second)), true
		}
	}
	return 0, false
}

func unix(t time.Time) float64 { return float64(t.UnixNano()) / float64(time.Second) }
