package upstream

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/redact"
)

const (
	tailLines = 20
	tailLine  = 512 // bytes of a line
)

// A tail keeps the last lines of what it is given.
type tail struct {
	mu    sync.Mutex
	lines [tailLines][]byte
	next  int
	count int
}

func (t *tail) add(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot := &t.lines[t.next]
	*slot = append((*slot)[:0], line[:min(len(line), tailLine)]...)
	t.next = (t.next + 1) % tailLines
	t.count = min(t.count+1, tailLines)
}

// cause returns why, with the lines, masked.
func (t *tail) cause(why error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count == 0 {
		return why
	}
	lines := make([]string, 0, t.count)
	for i := range t.count {
		lines = append(lines, strings.ToValidUTF8(string(t.lines[(t.next-t.count+i+tailLines)%tailLines]), "\ufffd"))
	}
	return fmt.Errorf("%w; its last lines on stderr: %w", why, errors.New(redact.Log(strings.Join(lines, "\n"))))
}

// printable returns the beginning of a line as it may stand in the log.
func printable(line []byte) string {
	return redact.Log(strings.ToValidUTF8(string(line[:min(len(line), tailLine)]), "\ufffd"))
}

// A quota lets some things pass in each second and counts the others.
type quota struct {
	perSecond int
	since     time.Time
	passed    int
	left      int
}

// take reports whether one more may pass, and how many did not since the last that
// could.
func (q *quota) take(now time.Time) (ok bool, left int) {
	if now.Sub(q.since) >= time.Second {
		q.since, q.passed = now, 0
	}
	if q.passed >= q.perSecond {
		q.left++
		return false, 0
	}
	q.passed++
	left, q.left = q.left, 0
	return true, left
}
