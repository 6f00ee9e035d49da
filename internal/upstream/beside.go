package upstream

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse/internal/pause"
)

// Beside is what a program writes to its stderr while it carries out a call: its answer often leaves out the reason that stands
// there. It is safe for concurrent use.
type Beside struct {
	read atomic.Pointer[func(time.Duration) string]
}

// Said returns the last of these lines, masked, and says so if they may be about other calls. If there are none yet, it waits for
// one for so long; nil, or a server that is no program, says nothing.
func (b *Beside) Said(wait time.Duration) string {
	if b == nil {
		return ""
	}
	if read := b.read.Load(); read != nil {
		return (*read)(wait)
	}
	return ""
}

// attend makes b say what the child has written since it had written that many lines.
func (b *Beside) attend(c *child, call *pending, from int) {
	if b == nil {
		return
	}
	read := func(wait time.Duration) string {
		lines, more := c.last.since(from)
		if len(lines) == 0 && pause.Until(more, wait) {
			lines, _ = c.last.since(from)
		}
		said := make([]string, len(lines))
		for i, line := range lines {
			said[i] = printable(line, c.s.mask)
		}
		text := ending(c.s.mask.String(strings.Join(said, "\n")))
		joined, gone := c.isJoined(call)
		switch {
		case text == "", gone: // what it wrote last stands in its failure
			return ""
		case joined:
			return "stderr while this call and others were under way (a guess: it may be about another one): " + text
		default:
			return "stderr during the call: " + text
		}
	}
	b.read.Store(&read)
}

// isJoined reports whether the child had other calls to carry out while it had that one, and whether it has ended.
func (c *child) isJoined(call *pending) (joined, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return call.joined || c.lastID != call.id, c.gone != nil
}
