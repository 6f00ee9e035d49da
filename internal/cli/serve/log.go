package serve

import (
	"io"
	"log/slog"
	"time"

	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config"
)

// newLogger returns the log in a format; auto means text on a terminal and JSON otherwise.
func newLogger(w io.Writer, format config.LogFormat, level slog.Leveler) *slog.Logger {
	if format == config.LogText || format == config.LogAuto && term.IsTerminal(w) {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: shortTime}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

// levelOf returns the level as package slog has it. The zero value is info.
func levelOf(level config.LogLevel) slog.Level {
	return map[config.LogLevel]slog.Level{
		config.LogDebug: slog.LevelDebug, config.LogWarn: slog.LevelWarn, config.LogError: slog.LevelError,
	}[level]
}

// shortTime drops the date, which a person at a terminal knows.
func shortTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.String(slog.TimeKey, a.Value.Time().Format(time.TimeOnly))
	}
	return a
}
