package check

import (
	"fmt"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
)

// asks says what a server asks for that is not called any more after this answer: to wait, or to sign in; "": nothing.
func (x *exchange) asks() string {
	if e := x.said.record; e != nil && e.RetryAfter > 0 {
		return fmt.Sprintf("the server asked to wait %s", e.RetryAfter)
	}
	wait, waits := recourse.RetryAfter(x.answer.Head, time.Now())
	limited := x.answer.Status == http.StatusTooManyRequests
	switch {
	case waits && (limited || x.answer.Status == http.StatusServiceUnavailable):
		return fmt.Sprintf("the server asked to wait %s", wait)
	case limited:
		return "the server asked for fewer requests (HTTP 429)"
	case x.answer.Status == http.StatusUnauthorized && x.step.probe != probeSession: // which may belong to a user
		return "the server asks to sign in (HTTP 401)"
	}
	return ""
}

// heed stops the check if the server asks for it, and reports whether it does.
func (r *runner) heed(x *exchange) bool {
	why := x.asks()
	if why != "" {
		r.t.stopped = why
	}
	return why != ""
}
