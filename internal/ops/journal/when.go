package journal

import (
	"strconv"
	"strings"
	"time"
)

// When parses the beginning of a period as people write it: how long ago, such as 30m, 12h or 7d, or a time
// in RFC 3339.
func When(text string, now time.Time) (at time.Time, ok bool) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC(), true
	}
	ago, err := time.ParseDuration(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		ago = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || ago <= 0 {
		return time.Time{}, false
	}
	return now.Add(-ago), true
}
