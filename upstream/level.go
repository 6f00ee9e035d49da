package upstream

import "slices"

// A logLevel is how grave a message is that a server logs, or the least grave that a
// client wants to be told (RFC 5424, section 6.2.1). The zero value is none.
type logLevel uint8

// levels are the names of the levels from 1 on.
var levels = [...]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// levelOf returns the level of that name, or none.
func levelOf(name string) logLevel {
	return logLevel(slices.Index(levels[:], name) + 1) //nolint:gosec // there are eight
}
