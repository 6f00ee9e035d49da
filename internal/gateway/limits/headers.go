package limits

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
)

// Tells reports whether a header is about limits.
func Tells(name string) bool {
	return strings.HasPrefix(name, "Ratelimit") || strings.HasPrefix(name, "X-Ratelimit")
}

// TellRefusal repeats the record of a refusal in headers; now is when it was made.
func TellRefusal(h http.Header, e *recourse.Error, now time.Time) {
	h["Retry-After"] = []string{Seconds(e.RetryAfter)}
	tell(h, slices.Clone(e.Quotas), 0, now.Add(e.RetryAfter), now)
}

// tell writes quotas into headers: the IETF's structured fields (draft-ietf-httpapi-ratelimit-headers-10), and the
// widespread single values, for the quota at index one. reset stands in for quotas without a ResetAt.
func tell(h http.Header, quotas []recourse.Quota, one int, reset, now time.Time) {
	if len(quotas) == 0 {
		return
	}
	policies, states := make([]string, len(quotas)), make([]string, len(quotas))
	for i, q := range quotas {
		name := `"` + q.Policy + `"`
		policies[i] = name + ";q=" + strconv.FormatInt(q.Limit, 10)
		switch {
		case q.Window == 0:
			policies[i] += `;qu="concurrent-requests"`
		case q.Window%time.Second == 0: // only whole seconds can be written
			policies[i] += ";w=" + strconv.FormatInt(int64(q.Window/time.Second), 10)
		}
		if q.ResetAt.IsZero() {
			q.ResetAt = reset
		}
		states[i] = name + ";r=" + strconv.FormatInt(q.Remaining, 10) + ";t=" + Seconds(q.ResetAt.Sub(now))
		quotas[i] = q
	}
	h["Ratelimit-Policy"] = []string{strings.Join(policies, ", ")}
	h["Ratelimit"] = []string{strings.Join(states, ", ")}
	h["X-Ratelimit-Limit"] = []string{strconv.FormatInt(quotas[one].Limit, 10)}
	h["X-Ratelimit-Remaining"] = []string{strconv.FormatInt(quotas[one].Remaining, 10)}
	h["X-Ratelimit-Reset"] = []string{strconv.FormatInt(quotas[one].ResetAt.Add(time.Second-1).Unix(), 10)}
}

// Seconds writes a wait as headers do. It rounds up: a wait is a minimum.
func Seconds(d time.Duration) string { return strconv.FormatInt(int64(math.Ceil(d.Seconds())), 10) }
