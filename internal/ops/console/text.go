package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/privacy/visible"
)

// maxShown limits a text on a page.
const maxShown = 16 << 10

// shown returns a text from a server or client for a page: cut, and with invisible characters made visible.
func shown(text string) string {
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + fmt.Sprintf(" ... (%d bytes in all)", len(text))
	}
	return visible.Escape(text)
}

// absolute formats an instant for people.
func absolute(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05.000 UTC") }

// clock returns the time of day of an instant, with its date unless it is recent.
func clock(at, now time.Time) string {
	if now.Sub(at) > 24*time.Hour {
		return at.UTC().Format("Jan 2 15:04")
	}
	return at.UTC().Format("15:04:05")
}

// ago returns how long ago an instant was.
func ago(at, now time.Time) string {
	switch d := now.Sub(at); {
	case d < 5*time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%d d ago", int(d.Hours())/24)
	}
}

// lasted formats a duration for people.
func lasted(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1e3)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.2f s", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}
