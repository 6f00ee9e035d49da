package redact

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Bounds of what masking one answer may take.
const (
	// MaxText is how many bytes of one text are examined.
	MaxText = 4 << 20
	// MaxAnswer is how many bytes of the texts of one answer are examined. A masked text
	// counts once; in a text that consists of signs, each byte counts as four.
	MaxAnswer = 16 << 20
	// maxLookups is how many bytes of kept texts are searched for the addresses and paths
	// of one answer; after that, all of these are masked.
	maxLookups = 32 << 20
	// notShown replaces a text that exceeds the budget.
	notShown = "[not shown: too much to check]"
)

// A budget is what is left for an answer. It is safe for concurrent use.
type budget struct {
	bytes, lookups atomic.Int64

	mu     sync.Mutex
	masked map[string]struct{} // what masking has returned
}

// minRemembered is the length of the shortest text that is worth remembering.
const minRemembered = 64

// knows reports whether masking has returned s before.
func (b *budget) knows(s string) bool {
	if len(s) < minRemembered {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.masked[s]
	return ok
}

// remember notes what masking returns.
func (b *budget) remember(s string) string {
	if len(s) >= minRemembered {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.masked == nil {
			b.masked = map[string]struct{}{}
		}
		b.masked[s] = struct{}{}
	}
	return s
}

func newBudget() *budget {
	b := &budget{}
	b.bytes.Store(MaxAnswer)
	b.lookups.Store(maxLookups)
	return b
}

// ForAnswer returns a Masker for one answer: all of its texts share one budget of time
// and memory. Without it, each text has a budget of its own.
func (m *Masker) ForAnswer() *Masker {
	bounded := *m
	bounded.budget = newBudget()
	return &bounded
}

// cut returns as much of s as may be examined. It cuts between words if it can, so that
// no half of a credential is left that does not look like one.
func (b *budget) cut(s string) string {
	weight := int64(1)
	if isDense(s) {
		weight = 4
	}
	cost := weight * int64(len(s))
	left := b.bytes.Add(-cost) + cost
	if left >= cost {
		return s
	}
	if left <= 0 {
		return notShown
	}
	s = s[:left/weight]
	i := strings.LastIndexAny(s, " \t\r\n")
	if i <= 0 {
		return notShown
	}
	return strings.ToValidUTF8(s[:i], "") + " …"
}

// unknown returns the parts of s that do not occur in what is kept.
func (m *Masker) unknown(s string, parts []span, b *budget) []span {
	if len(m.kept) == 0 || len(parts) == 0 {
		return parts
	}
	return slices.DeleteFunc(parts, func(p span) bool {
		return slices.ContainsFunc(m.kept, func(k string) bool {
			return b.lookups.Add(-int64(len(k))) >= 0 && strings.Contains(k, s[p.start:p.end])
		})
	})
}

// isDense reports whether more than a third of a long text consists of signs, each of
// which may be part of something. People do not read such texts.
func isDense(s string) bool {
	const long, part = 4 << 10, 3
	if len(s) < long {
		return false
	}
	signs := 0
	for i := range len(s) {
		if c := s[i]; c != ' ' && c != '\n' && !isDigit(c) && !isLetter(c) && c < 0x80 {
			signs++
		}
	}
	return signs > len(s)/part
}
