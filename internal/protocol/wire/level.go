package wire

import "slices"

// LogLevel is the severity of a server's log message, or the lowest one that a client wants to receive
// (RFC 5424, section 6.2.1). The zero LogLevel means none.
type LogLevel uint8

// logLevels are the names of the levels, starting at 1.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// LogLevelOf returns the level with that name, or none.
func LogLevelOf(name string) LogLevel {
	return LogLevel(slices.Index(logLevels, name) + 1)
}

// String returns the name of the level, or "" for none.
func (l LogLevel) String() string {
	if l == 0 || int(l) > len(logLevels) {
		return ""
	}
	return logLevels[l-1]
}
