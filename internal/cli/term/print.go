package term

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/visible"
)

// Printf prints text that may contain output of a server.
func Printf(w io.Writer, format string, args ...any) {
	_, _ = io.WriteString(w, shown(fmt.Sprintf(format, args...))) // errors do not matter if the terminal is gone
}

// PrintJSON prints a value on a line of its own.
func PrintJSON(w io.Writer, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("print it as JSON: %w", err)
	}
	Printf(w, "%s\n", raw)
	return nil
}

// shown escapes what a terminal would obey, and characters that nobody sees or that change how others look, the way JSON does: a
// server must not overwrite what is said about it, nor hide a part of it. The value of JSON is unchanged.
func shown(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", `\u000d`)
	return string(visible.EscapeJSON([]byte(text)))
}

// FirstSentence returns the beginning of a text, on one line.
func FirstSentence(text string) string {
	const most = 120
	text = strings.Join(strings.Fields(text), " ")
	if end := strings.Index(text, ". "); end >= 0 {
		text = text[:end+1]
	}
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-3]) + "..."
	}
	return text
}
