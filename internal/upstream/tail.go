package upstream

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/privacy/redact"
)

const (
	tailLines = 20
	lineRead  = 4 << 10 // bytes of a line that are read
	lineShown = 512     // and how many of them are logged
)

// A tail keeps the last lines of its input.
type tail struct {
	mu    sync.Mutex
	lines [][]byte
	count int           // of all lines so far
	more  chan struct{} // closed when there is another line; nil: nobody waits
}

func (t *tail) add(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count++; t.more != nil {
		close(t.more)
		t.more = nil
	}
	if t.lines = append(t.lines, bytes.Clone(line)); len(t.lines) > tailLines {
		t.lines = slices.Delete(t.lines, 0, 1)
	}
}

// now returns how many lines there have been.
func (t *tail) now() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// since returns the last lines after that many, and what is closed when there is another one.
func (t *tail) since(count int) (lines [][]byte, more <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.more == nil {
		t.more = make(chan struct{})
	}
	return slices.Clone(t.lines[max(0, len(t.lines)-(t.count-count)):]), t.more
}

// cause returns why, together with the lines, masked.
func (t *tail) cause(why error, mask *redact.Masker) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	text, said := why.Error(), ""
	if len(t.lines) > 0 {
		lines := make([]string, len(t.lines))
		for i, line := range t.lines {
			lines[i] = printable(line, mask)
		}
		said = mask.String(strings.Join(lines, "\n"))
		text += "; its last lines on stderr: " + said
	}
	return &maskedError{error: why, text: mask.String(text), said: said}
}

// lastWords returns the last lines of stderr in the cause why: at most 8, and 1 KiB.
func lastWords(why error) string {
	masked, ok := errors.AsType[*maskedError](why)
	if !ok {
		return ""
	}
	return ending(masked.said)
}

// ending returns the last lines of a text: at most 8, and 1 KiB.
func ending(text string) string {
	const most, lines = 1 << 10, 8
	said := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	said = slices.DeleteFunc(said, func(line string) bool { return strings.TrimSpace(line) == "" })
	text = strings.Join(said[max(0, len(said)-lines):], "\n")
	return strings.ToValidUTF8(text[max(0, len(text)-most):], "")
}

// A maskedError is an error with words that the operator may see.
type maskedError struct {
	error

	text string
	said string // the last lines on stderr, masked
}

// Error implements error.
func (e *maskedError) Error() string { return e.text }

// Unwrap implements the interface of package errors.
func (e *maskedError) Unwrap() error { return e.error }

// printable returns the beginning of a line for the log. It is masked before it is cut, since half a secret
// does not look like one.
func printable(line []byte, mask *redact.Masker) string {
	text := mask.String(strings.ToValidUTF8(string(line[:min(len(line), lineRead)]), "\ufffd"))
	return strings.ToValidUTF8(text[:min(len(text), lineShown)], "")
}

// A quoter logs lines from a child: a few each second, and how many it has left out.
type quoter struct {
	log       func(message string, attrs ...any)
	mask      *redact.Masker
	perSecond int

	since  time.Time
	logged int // since then
	left   int // out, since the last line that was logged
}

func (q *quoter) quote(message string, line []byte) {
	if now := time.Now(); now.Sub(q.since) >= time.Second {
		q.since, q.logged = now, 0
	}
	if q.logged >= q.perSecond {
		q.left++
		return
	}
	attrs := []any{slog.String("line", printable(line, q.mask))}
	if q.left > 0 {
		attrs = append(attrs, slog.Int("left_out", q.left))
	}
	q.log(message, attrs...)
	q.logged, q.left = q.logged+1, 0
}

// close logs how many lines were left out at the end.
func (q *quoter) close(message string) {
	if q.left > 0 {
		q.log(message, slog.Int("left_out", q.left))
	}
}
