package term

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Width returns how many columns the terminal w has; 0: it is no terminal.
func Width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// Wrap puts a text on lines of at most that many columns, those after the first indented, and breaks no word. With width 0 it is one
// line.
func Wrap(text string, width, indent int) string {
	var b strings.Builder
	at := indent
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case width > 0 && at+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// A StatusLine shows the last line that was written to it on a terminal, in place of the one before.
type StatusLine struct {
	w     io.Writer
	width int
}

// NewStatusLine returns one on w, or nil if that is no terminal.
func NewStatusLine(w io.Writer) *StatusLine {
	if width := Width(w); width > 0 {
		return &StatusLine{w, width}
	}
	return nil
}

// Write shows a line. It may contain output of a server.
func (s *StatusLine) Write(line []byte) (int, error) {
	text := []rune(strings.Join(strings.Fields(shown(string(line))), " "))
	_, err := io.WriteString(s.w, "\r\x1b[K"+string(text[:min(len(text), s.width-1)]))
	return len(line), err
}

// Clear takes it away.
func (s *StatusLine) Clear() { _, _ = io.WriteString(s.w, "\r\x1b[K") }
