package studies

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/systems/internal/loopback"
)

// faultyID is the beginning of ids whose last digits request a fault: 1 to 4, or a status.
const faultyID = "00000000-0000-4000-8000-"

// refusals are the faults that are answers with an error code of the service's own.
var refusals = map[string]*backendError{
	"forbidden":   refuse(http.StatusForbidden, "forbidden", "The identity has no access to this."),
	"credits":     refuse(http.StatusForbidden, "insufficient_credits", "The pool of simulation credits is empty."),
	"locked":      refuse(http.StatusConflict, "study_locked", "The study is locked while it is exported."),
	"maintenance": refuse(http.StatusServiceUnavailable, "maintenance", "The service is being maintained."),
	"overload":    refuse(http.StatusServiceUnavailable, "rate_limited", "Too many runs are under way."),
	"odd":         refuse(http.StatusConflict, "study locked", "The study is locked."),
}

// faultOf returns the refusal for a fault, or nil.
func faultOf(fault string) error {
	if found, ok := refusals[fault]; ok {
		return found
	}
	if status, _ := strconv.Atoi(fault); status >= http.StatusBadRequest && status <= 599 {
		return refuse(status, "", "")
	}
	return nil
}

// fails answers a request that requests a fault, and reports whether it has. If the fault is a missing
// answer, the work is still done.
func (b *backend) fails(w http.ResponseWriter, r *http.Request) bool {
	const most = 1 << 20
	body, err := io.ReadAll(io.LimitReader(r.Body, most))
	if err != nil {
		return true // and there is nobody left to answer
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	text := r.URL.Path + " " + r.URL.RawQuery + " " + string(body)
	fault := loopback.Fault(text)
	if _, digits, found := strings.Cut(text, faultyID); found && fault == "" {
		fault = faultOfID(digits)
	}
	switch fault {
	case "drop", "slow":
		b.mux.ServeHTTP(nowhere{}, r)
		return loopback.Fail(w, r, fault)
	case "html":
		return loopback.Fail(w, r, fault)
	case "garbled":
		loopback.Answer(w, http.StatusOK, []string{"an object was expected"})
		return true
	}
	if err := faultOf(fault); err != nil {
		answer(w, nil, err)
		return true
	}
	return false
}

// nowhere discards an answer.
type nowhere struct{}

var _ http.ResponseWriter = nowhere{}

// Header returns a header that is discarded.
func (nowhere) Header() http.Header { return http.Header{} }

// Write does nothing.
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader does nothing.
func (nowhere) WriteHeader(int) {}

// faultOfID returns the fault for the digits at the end of an id.
func faultOfID(digits string) string {
	const length = 12
	digits = strings.TrimLeft(digits[:min(len(digits), length)], "0")
	switch digits {
	case "1":
		return "drop"
	case "2":
		return "slow"
	case "3":
		return "garbled"
	case "4":
		return "maintenance"
	default:
		return digits
	}
}
