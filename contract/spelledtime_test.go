package contract_test

import (
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/contracttest"
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

// A sentence that states a wait is heard, in whatever form its failure is, unless the form states one itself.
func TestWaitInASentence(t *testing.T) {
	t.Parallel()
	for object, want := range map[string]time.Duration{
		`{"error":true,"code":"PROVIDER_UNAVAILABLE","message":"John Deere is down. Retry in 90 s.","retryable":true}`:                90 * time.Second,
		`{"error":true,"code":"PROVIDER_UNAVAILABLE","message":"Down. Retry in 90 s.","retryable":true,"retryAfter":5}`:               5 * time.Second,
		`{"error":true,"code":"FIELD_NOT_FOUND","message":"No such field. Try again in 9 s.","retryable":false}`:                      0, // waiting does not help
		`{"code":3001,"message":"Too fast: retry after 9 seconds","retryable":true}`:                                                  9 * time.Second,
		`{"kind":"toolError:v1","code":"SERVER_ERROR","message":"Busy. Try again in 2 minutes.","retryable":true}`:                    2 * time.Minute,
		`{"v":1,"kind":"rate_limited","code":"rate_limited","contract":"recourse","message":"Slow. Wait 9 seconds.","retry":"never"}`: 9 * time.Second,
		`[rate_limited] Slow down. Try again in 20 seconds.`:                                                                          20 * time.Second,
		`[rate_limited] The text "try again in 20 seconds" is too long.`:                                                              0,
	} {
		reading, ok := reader().Result(textResult(t, object, true))
		if !ok || reading.Error().RetryAfter != want {
			t.Errorf("%s: %s after %s, want %s", object, reading.Sign, reading.Error().RetryAfter, want)
		}
	}
}

// What a sentence says of the wait is not said again behind it, nor is a wait that does not help.
func TestWaitIsToldOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ contract, text, want string }{
		{"patterns", "Too many requests. Try again in 9 seconds.", "Invalid request: Too many requests. Try again in 9 seconds."},
		{"patterns", "503 Service Unavailable (retry after 9 s)", "Internal server error: 503 Service Unavailable (retry after 9 s)"},
		{"patterns", `{"kind":"toolError:v1","code":"CLIENT_ERROR","message":"locked","retryable":false,"details":{"statusCode":409,"retryAfter":4}}`, "Invalid request: locked"},
		{"patterns", `{"kind":"toolError:v1","code":"SERVER_ERROR","message":"busy","retryable":true,"details":{"statusCode":503,"retryAfter":4}}`, "Internal server error: busy. Try again in 4 s."},
		{"terra", "Too many requests. Try again in 9 seconds.", "Too many requests. Try again in 9 seconds."},
	} {
		c := contract.MustBuiltin(tt.contract)
		reader := contract.Reader{Contracts: contract.Builtin().All(), Own: c}
		original := textResult(t, tt.text, true)
		reading, _ := reader.Result(original)
		call := contracttest.ToolCall()
		call.Relay = contract.Relay{Original: original, OriginalContract: reading.Contract}
		var written struct{ Content []struct{ Text string } }
		contracttest.Unmarshal(t, c.Write(reading.Error(), &call).Result, &written)
		if got := written.Content[0].Text; got != tt.want {
			t.Errorf("%s of %s: %q, want %q", tt.contract, tt.text, got, tt.want)
		}
	}
}
