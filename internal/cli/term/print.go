package term

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Printf prints text that may contain output of a server.
func Printf(w io.Writer, format string, args ...any) {
	_, _ = io.WriteString(w, shown(fmt.Sprintf(format, args...))) // errors do not matter if the terminal is gone
}

// shown escapes the control characters in text the way JSON does: a terminal would obey them, and a
// server must not overwrite what is said about it. JSON is unchanged.
func shown(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	isObeyed := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	if !strings.ContainsFunc(text, isObeyed) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isObeyed(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
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
