package wire

import "slices"

// LogLevel is how grave a message is that a server logs, or the least grave that a
// client wants to be told (RFC 5424, section 6.2.1). The zero LogLevel is none.
type LogLevel uint8

// logLevels are the names of the levels from 1 on.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// LogLevelOf returns the level of that name, or none.
func LogLevelOf(name string) LogLevel {
	return LogLevel(slices.Index(logLevels, name) + 1) //nolint:gosec // there are eight
}

// String returns the name of the level, or "" for none.
func (l LogLevel) String() string {
	if l == 0 || int(l) > len(logLevels) {
		return ""
	}
	return logLevels[l-1]
}
