package contract_test

import (
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// A time in a text is a wait from now, with a limit. It is ignored if it has passed, or if its time zone is unknown.
func TestPointsInTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.March, 31, 23, 50, 0, 0, time.UTC)
	r := contract.Reader{Now: func() time.Time { return now }}
	for text, want := range map[string]time.Duration{
		"resets at 2026-03-31T23:50:30Z":                           30 * time.Second,
		"resets at 2026-03-31T23:50:30.250Z.":                      30*time.Second + 250*time.Millisecond,
		"resets at 2026-04-01 01:52:00 +02:00":                     2 * time.Minute,
		"resets at 2026-04-01 01:52 +0200, so be patient":          2 * time.Minute,
		"resets at: 2026-03-31 23:55:00 UTC":                       5 * time.Minute,
		"Retry-After: Tue, 31 Mar 2026 23:51:00 GMT":               time.Minute,
		`{"resetAt":"2026-03-31T23:51:00Z"}`:                       time.Minute,
		"Try again at 23:55 UTC.":                                  5 * time.Minute,
		"try again at 00:05:30 GMT":                                15*time.Minute + 30*time.Second,
		"try again at 23:20 UTC":                                   0, // half an hour ago
		"try again at 20:50 UTC":                                   21 * time.Hour,
		"X-RateLimit-Reset: 1775001060":                            time.Minute,
		"X-RateLimit-Reset: 1775001060500":                         time.Minute,
		"Retry-After: 1775001060":                                  time.Minute,
		"resets at 2026-03-31T23:49:59Z":                           0,
		"resets at 2126-03-31T23:49:59Z":                           recourse.MaxWait,
		"X-RateLimit-Reset: 99999999999999999999999999999999":      recourse.MaxWait,
		"resets at 2026-03-31T23:51:00":                            0, // time zone unknown
		"try again at 23:55":                                       0,
		"try again at 5 pm":                                        0,
		"resets at 2026-13-31T23:50:30Z":                           0,
		"resets at 2026-02-30T23:50:30Z":                           0,
		"try again at 25:61 UTC":                                   0,
		"resets at 1775001060-17":                                  0,
		"resets at 17750010601775001060177500106017750010601775ab": 0,
	} {
		reading, _ := r.Result(textResult(t, "429 Too Many Requests: "+text, true))
		if e := reading.Error(); e.Kind != recourse.KindRateLimited || e.RetryAfter != want {
			t.Errorf("%s: %s after %s, want %s", text, e.Kind, e.RetryAfter, want)
		}
	}
}

// Around midnight, a time of day keeps its meaning.
func TestTimeOfDayAcrossMidnight(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.April, 1, 0, 5, 0, 0, time.UTC)
	r := contract.Reader{Now: func() time.Time { return now }}
	for text, want := range map[string]time.Duration{
		"try again at 23:50 UTC": 0,
		"try again at 00:00 UTC": 0,
		"try again at 00:10 UTC": 5 * time.Minute,
		"try again at 23:00 UTC": 22*time.Hour + 55*time.Minute,
	} {
		reading, _ := r.Result(textResult(t, "503 Service Unavailable, "+text, true))
		if e := reading.Error(); e.RetryAfter != want {
			t.Errorf("%s: after %s, want %s", text, e.RetryAfter, want)
		}
	}
}
