package wild

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
)

// Points in time as people and programs write them. A time without a zone is not read: it could be in any.
var (
	reDateTime = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(:\d{2}(?:\.\d{1,9})?)? ?(Z|UTC|GMT|[+-]\d{2}:?\d{2})`)
	reHTTPDate = regexp.MustCompile(`^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} (?:GMT|UTC)`)
	reClock    = regexp.MustCompile(`^(\d{1,2}:\d{2})(:\d{2})? ?(?:Z|UTC|GMT)\b`)
)

const (
	// Numbers are read as seconds for times after 1973, and as milliseconds for times before 5138.
	minEpochSeconds      = 1e8
	minEpochMilliseconds = 1e11
	// clockSlack is how long a time of day counts as just past, not as tomorrow's.
	clockSlack = time.Hour
)

// spelledTime reads the point in time at the start of text, such as 2026-01-02T15:04:05Z, "Fri, 02 Jan 2026
// 15:04:05 GMT", "15:04 UTC" or a number of seconds since 1970. It returns how far that is from now, 0 if it
// is past, and the length of the text that it read; length 0 means that text does not begin with a point in
// time.
func spelledTime(text string, now time.Time) (wait time.Duration, n int) {
	var at time.Time
	var err error
	if m := reDateTime.FindStringSubmatch(text); m != nil {
		zone := strings.ReplaceAll(m[4], ":", "")
		if zone[0] != '+' && zone[0] != '-' {
			zone = "+0000"
		}
		if m[3] == "" {
			m[3] = ":00"
		}
		n = len(m[0])
		at, err = time.Parse("2006-01-02T15:04:05-0700", m[1]+"T"+m[2]+m[3]+zone)
	} else if date := reHTTPDate.FindString(text); date != "" {
		n = len(date)
		at, err = time.Parse("Mon, 02 Jan 2006 15:04:05", date[:n-len(" GMT")])
	} else if m := reClock.FindStringSubmatch(text); m != nil {
		n = len(m[0])
		at, err = clock(m[1], m[2], now)
	} else {
		at, n = epoch(text)
	}
	if err != nil || n == 0 {
		return 0, 0
	}
	return min(max(at.Sub(now), 0), recourse.MaxWait), n
}

// clock returns the next time when clocks show this in UTC, unless it was within the last hour.
func clock(minutes, seconds string, now time.Time) (time.Time, error) {
	if seconds == "" {
		seconds = ":00"
	}
	shown, err := time.Parse("15:04:05", minutes+seconds)
	now = now.UTC()
	at := time.Date(now.Year(), now.Month(), now.Day(), shown.Hour(), shown.Minute(), shown.Second(), 0, time.UTC)
	switch {
	case now.Sub(at) > clockSlack:
		at = at.AddDate(0, 0, 1)
	case at.Sub(now) > 24*time.Hour-clockSlack: // it was before midnight
		at = at.AddDate(0, 0, -1)
	}
	return at, err
}

// epoch reads a point in time in seconds or milliseconds since 1970.
func epoch(text string) (at time.Time, n int) {
	n = len(strings.TrimRight(text[:span(text, isNumberByte)], "."))
	value, err := strconv.ParseFloat(text[:n], 64)
	if err != nil || value < minEpochSeconds || n < len(text) && (isLetterByte(text[n]) || strings.IndexByte("-:/_", text[n]) >= 0) {
		return time.Time{}, 0
	}
	if value >= minEpochMilliseconds {
		value /= 1000
	}
	const farAway = 1e12 // anything longer overflows a duration
	return time.Unix(int64(min(value, farAway)), 0), n
}
