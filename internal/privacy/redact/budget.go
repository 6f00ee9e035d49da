package redact

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// Limits for masking one answer.
const (
	// MaxText is how many bytes of one text are examined.
	MaxText = 4 << 20
	// MaxAnswer is how many bytes of the texts of one answer are examined. A masked text counts once; in a text made of
	// signs, each byte counts as four.
	MaxAnswer = 16 << 20
	// maxLookups is how many bytes of kept texts are searched for the addresses and paths of one answer; beyond it, all
	// addresses and paths are masked.
	maxLookups = 32 << 20
	// notShown replaces a text that exceeds the budget.
	notShown = "[not shown: too much to check]"
)

// A budget is what is left for an answer. It is safe for concurrent use.
type budget struct {
	bytes, lookups atomic.Int64
	within         time.Duration // how long masking may take; 0: no limit
	took           atomic.Int64  // nanoseconds so far

	mu     sync.Mutex
	masked map[string]struct{} // results of masking
}

// minRemembered is the length of the shortest text that is remembered.
const minRemembered = 64

// knows reports whether s is a result of masking.
func (b *budget) knows(s string) bool {
	if len(s) < minRemembered {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.masked[s]
	return ok
}

// remember notes a result of masking.
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

// begin returns the time at which the examination of a text begins, if that counts.
func (b *budget) begin() (now time.Time) {
	if b.within != 0 {
		now = time.Now()
	}
	return now
}

// isOver reports whether the time is over, if a text has been examined since then. What is not examined by then is not shown.
func (b *budget) isOver(since time.Time) bool {
	return b.within != 0 && time.Duration(b.took.Load())+time.Since(since) > b.within
}

// spend notes that a text has been examined since then.
func (b *budget) spend(since time.Time) {
	if b.within != 0 {
		b.took.Add(int64(time.Since(since)))
	}
}

func newBudget() *budget {
	b := &budget{}
	b.bytes.Store(MaxAnswer)
	b.lookups.Store(maxLookups)
	return b
}

// ForAnswer returns a Masker for one answer, whose texts share one budget. Without it, each text has its own. Examining them takes no
// longer than within altogether: what has not been examined by then is not shown.
func (m *Masker) ForAnswer(within time.Duration) *Masker {
	bounded := *m
	bounded.budget = newBudget()
	bounded.budget.within = within
	return &bounded
}

// cut returns the part of s that may be examined. It cuts between words if it can, since half a credential may not look
// like one.
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

// unknown returns the parts of s that do not occur in the kept texts.
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

// isDense reports whether more than a third of a long text are signs. Each of them may belong to something, which takes
// time, and people do not read such texts.
func isDense(s string) bool {
	const long, part = 4 << 10, 3
	if len(s) < long {
		return false
	}
	signs := 0
	for i := range len(s) {
		signs += isSign[s[i]]
	}
	return signs > len(s)/part
}

// isSign is 1 for each sign: adding is faster than a decision.
var isSign = func() (set [256]int) {
	for c := range byte(utf8.RuneSelf) {
		if c != ' ' && c != '\n' && !isDigit(c) && !isLetter(c) {
			set[c] = 1
		}
	}
	return set
}()
