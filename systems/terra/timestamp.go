package terra

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// isoDate and isoTime are the forms of dates and times in ISO 8601: extended with separators, or basic
// without; a date of the calendar, of the week or of the year; a time in hours, minutes or seconds, the last
// of which may have a fraction.
var (
	isoDate = regexp.MustCompile(`^(?:(\d{4})-(\d{2})(?:-(\d{2}))?|(\d{4})(\d{2})(\d{2})|` +
		`(\d{4})-?W(\d{2})(?:-?([1-7]))?|(\d{4})-?(\d{3})|(\d{4}))$`)
	isoTime = regexp.MustCompile(`^(\d{2})(?:(?::(\d{2})(?::(\d{2}))?|(\d{2})(\d{2})?))?(?:[.,](\d{1,32}))?(Z|[+-]\d{2}(?::?\d{2})?)?$`)
)

// parseTimestamp reads a point in time in a form of ISO 8601. Without a time it is the beginning of the day,
// and without a zone it is UTC.
func parseTimestamp(text string) (time.Time, bool) {
	date, clock, hasTime := strings.Cut(strings.ToUpper(text), "T")
	if !hasTime { // RFC 3339 allows a space instead of the T
		date, clock, hasTime = strings.Cut(date, " ")
	}
	day, ok := parseDate(date)
	if !ok || !hasTime {
		return day, ok
	}
	since, offset, ok := parseTime(clock, strings.Contains(date, "-"))
	return day.Add(since - offset), ok
}

func parseDate(text string) (time.Time, bool) {
	m := isoDate.FindStringSubmatch(text)
	if m == nil {
		return time.Time{}, false
	}
	number := func(i int, otherwise int) int {
		if m[i] == "" {
			return otherwise
		}
		n, _ := strconv.Atoi(m[i]) // the expression only matches digits
		return n
	}
	switch {
	case m[1] != "":
		return dateOf(number(1, 0), number(2, 0), number(3, 1))
	case m[4] != "":
		return dateOf(number(4, 0), number(5, 0), number(6, 0))
	case m[7] != "":
		return weekDate(number(7, 0), number(8, 0), number(9, 1))
	case m[10] != "":
		day := time.Date(number(10, 0), 1, number(11, 0), 0, 0, 0, 0, time.UTC)
		return day, number(11, 0) > 0 && day.Year() == number(10, 0)
	default:
		return dateOf(number(12, 0), 1, 1)
	}
}

// dateOf returns a day of the calendar, if it exists.
func dateOf(year, month, day int) (time.Time, bool) {
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return t, int(t.Month()) == month && t.Day() == day
}

// weekDate returns a day of a week, which begins on Monday. The first week of a year is the one with the
// year's first Thursday.
func weekDate(year, week, day int) (time.Time, bool) {
	const length = 7
	inFirst := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC)
	monday := inFirst.AddDate(0, 0, -(int(inFirst.Weekday())+length-1)%length)
	t := monday.AddDate(0, 0, (week-1)*length+day-1)
	inYear, inWeek := t.ISOWeek()
	return t, inYear == year && inWeek == week
}

func span(hours, minutes, seconds int) time.Duration {
	const perMinute, perHour = 60, 3600
	return time.Duration(hours*perHour+minutes*perMinute+seconds) * time.Second
}

// parseTime returns a time's distance from midnight, and how far its zone is ahead of UTC. If it has minutes,
// its form must be that of its date, extended or basic.
func parseTime(text string, extended bool) (since, offset time.Duration, ok bool) {
	m := isoTime.FindStringSubmatch(text)
	if m == nil {
		return 0, 0, false
	}
	if mixed := extended && m[4] != "" || !extended && m[2] != ""; mixed {
		return 0, 0, false
	}
	number := func(text string) int {
		n, _ := strconv.Atoi(text) // digits, or nothing
		return n
	}
	hours, minutes, seconds := number(m[1]), number(m[2]+m[4]), number(m[3]+m[5])
	since = span(hours, minutes, seconds)
	unit := time.Second // of the fraction, which belongs to the last number
	switch {
	case m[2]+m[4] == "":
		unit = time.Hour
	case m[3]+m[5] == "":
		unit = time.Minute
	}
	if m[6] != "" {
		fraction, _ := strconv.ParseFloat("0."+m[6], 64)
		since += time.Duration(fraction * float64(unit))
	}
	const day, mostMinutes, mostSeconds = 24 * time.Hour, 59, 60 // a leap second is the beginning of the next minute
	if minutes > mostMinutes || seconds > mostSeconds || since > day {
		return 0, 0, false
	}
	if zone := m[7]; zone != "" && zone != "Z" {
		digits := strings.ReplaceAll(zone[1:], ":", "")
		offset = span(number(digits[:2]), number(digits[2:]), 0)
		if offset >= day || number(digits[2:]) > mostMinutes {
			return 0, 0, false
		}
		if zone[0] == '-' {
			offset = -offset
		}
	}
	return since, offset, true
}
