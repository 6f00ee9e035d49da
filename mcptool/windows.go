package mcptool

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
)

// Policy is an allowance of calls in a window of time.
type Policy struct {
	// Name is the name that contracts use, such as minute or month.
	Name string
	// Limit is the number of calls a window.
	Limit int64
	// Window is the length of the sliding window: no period of that length has more calls
	// than Limit. 0 means a calendar month, UTC.
	Window time.Duration
}

// Limiter bounds the number of calls: see [WithLimiter]. [Windows] is one in memory. It
// must be safe for concurrent use.
type Limiter interface {
	// Take charges a call to the allowance of a partition, such as an organisation; "" if
	// there is only one. If nothing is left, it returns the error for the caller: a
	// *recourse.Error of kind rate_limited or quota_exhausted with the wait and the
	// quotas, the binding one first.
	Take(ctx context.Context, partition string) (Charge, error)
}

// Charge is what a Limiter has charged for a call.
type Charge interface {
	// Quotas returns the current state of the allowance.
	Quotas() []recourse.Quota
	// Refund takes the charge back, since the call was refused before it ran. Only the
	// first Refund has an effect.
	Refund()
}

// Windows is a [Limiter] in memory that counts the calls of each partition. It remembers
// up to 100,000 partitions, and some 60 numbers for each window; a partition is forgotten
// once all of its calls have left their windows. It is safe for concurrent use; get one
// with [NewWindows].
type Windows struct {
	policies []Policy
	now      func() time.Time

	mu         sync.Mutex
	partitions map[string][]window // one for each policy
}

var _ Limiter = (*Windows)(nil)

// A window holds the calls that currently count, in slots of time, oldest first.
type window []slot

// A slot counts the calls of a short time. They all leave the window with the last of
// them, so that none leaves it early.
type slot struct {
	start, last time.Time
	count       int64
}

const (
	// maxPartitions bounds how many partitions are remembered.
	maxPartitions = 100_000
	// slots is the number of slots in a window.
	slots = 60
)

// NewWindows returns a limiter that allows a call if each of policies does. now is the
// clock; nil means time.Now.
func NewWindows(now func() time.Time, policies ...Policy) *Windows {
	if now == nil {
		now = time.Now
	}
	return &Windows{policies: slices.Clone(policies), now: now, partitions: map[string][]window{}}
}

// Take charges a call of a partition to every policy, or refuses it and charges nothing.
// The error is a *recourse.Error of kind rate_limited, or quota_exhausted if a calendar
// month is used up, with the wait until every policy allows a call again.
func (l *Windows) Take(_ context.Context, partition string) (Charge, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now().UTC()
	windows := l.windows(partition, now)
	quotas := l.quotas(partition, windows, now)
	if slices.ContainsFunc(quotas, func(q recourse.Quota) bool { return q.Remaining <= 0 }) {
		return nil, l.refusal(quotas, now)
	}
	charge := &windowCharge{l: l, partition: partition, charged: make([]time.Time, len(windows))}
	for i, p := range l.policies {
		charge.charged[i] = p.start(now)
		windows[i] = windows[i].add(charge.charged[i], now)
	}
	return charge, nil
}

// windows returns the windows of a partition, without what has left them.
func (l *Windows) windows(partition string, now time.Time) []window {
	windows, known := l.partitions[partition]
	if !known {
		if len(l.partitions) >= maxPartitions {
			l.forget(now)
		}
		windows = make([]window, len(l.policies))
		l.partitions[partition] = windows
	}
	for i, p := range l.policies {
		windows[i] = p.current(windows[i], now)
	}
	return windows
}

// forget drops the partitions whose calls no longer count, and one more, so that there is
// always room.
func (l *Windows) forget(now time.Time) {
	for partition, windows := range l.partitions {
		ended := true
		for i, p := range l.policies {
			ended = ended && len(p.current(windows[i], now)) == 0
		}
		if ended {
			delete(l.partitions, partition)
		}
	}
	for partition := range l.partitions {
		if len(l.partitions) < maxPartitions {
			return
		}
		delete(l.partitions, partition)
	}
}

// start returns when the slot that contains now begins.
func (p Policy) start(now time.Time) time.Time {
	if p.Window <= 0 {
		return time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	return now.Add(-time.Duration(now.UnixNano()) % max(p.Window/slots, 1))
}

// end returns when the calls of a slot leave the window.
func (p Policy) end(s slot) time.Time {
	if p.Window <= 0 {
		return s.start.AddDate(0, 1, 0)
	}
	return s.last.Add(p.Window)
}

// current returns w without the slots that have left it.
func (p Policy) current(w window, now time.Time) window {
	return slices.DeleteFunc(w, func(s slot) bool { return !p.end(s).After(now) })
}

// add counts a call in the slot that begins at start.
func (w window) add(start, now time.Time) window {
	i := len(w) - 1
	if i < 0 || !w[i].start.Equal(start) {
		w, i = append(w, slot{start: start}), i+1
	}
	w[i].last = now
	w[i].count++
	return w
}

func (w window) count() (n int64) {
	for _, s := range w {
		n += s.count
	}
	return n
}

// reset returns when w has room for a call again or, if it has room now, for more calls.
func (p Policy) reset(w window, now time.Time) time.Time {
	if len(w) == 0 {
		return p.end(slot{start: p.start(now), last: now})
	}
	left := w.count()
	for _, s := range w {
		if left -= s.count; left < p.Limit {
			return p.end(s)
		}
	}
	return p.end(w[len(w)-1]) // nothing is allowed at all
}

// quotas returns the state of a partition, in the order of the policies.
func (l *Windows) quotas(partition string, windows []window, now time.Time) []recourse.Quota {
	quotas := make([]recourse.Quota, len(l.policies))
	for i, p := range l.policies {
		length := p.Window
		if length <= 0 {
			start := p.start(now)
			length = start.AddDate(0, 1, 0).Sub(start)
		}
		quotas[i] = recourse.Quota{
			Policy: p.Name, Limit: p.Limit, Window: length,
			Remaining: max(p.Limit-windows[i].count(), 0), ResetAt: p.reset(windows[i], now), Partition: partition,
		}
	}
	return quotas
}

// refusal says which of quotas are used up, the one that binds longest first.
func (l *Windows) refusal(quotas []recourse.Quota, now time.Time) *recourse.Error {
	binding := -1
	for i, q := range quotas {
		if q.Remaining <= 0 && (binding < 0 || q.ResetAt.After(quotas[binding].ResetAt)) {
			binding = i
		}
	}
	q := quotas[binding]
	e := recourse.RateLimited(0)
	if l.policies[binding].Window <= 0 {
		e = recourse.QuotaExhausted(q.Policy)
	}
	sorted := append([]recourse.Quota{q}, slices.Delete(quotas, binding, binding+1)...)
	return e.With(func(c *recourse.Error) {
		c.Quotas, c.RetryAfter, c.Origin = sorted, q.ResetAt.Sub(now), recourse.OriginGateway
	})
}

// windowCharge is a call that was counted.
type windowCharge struct {
	l         *Windows
	partition string
	charged   []time.Time // the start of the slot in each window
	once      sync.Once
}

// Quotas implements [Charge], in the order of the policies.
func (c *windowCharge) Quotas() []recourse.Quota {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	now := c.l.now().UTC()
	return c.l.quotas(c.partition, c.l.windows(c.partition, now), now)
}

// Refund implements [Charge]: it removes the call from its windows, if it still counts.
func (c *windowCharge) Refund() {
	c.once.Do(func() {
		c.l.mu.Lock()
		defer c.l.mu.Unlock()
		windows := c.l.windows(c.partition, c.l.now().UTC())
		for i, w := range windows {
			if at := slices.IndexFunc(w, func(s slot) bool { return s.start.Equal(c.charged[i]) && s.count > 0 }); at >= 0 {
				if w[at].count--; w[at].count == 0 {
					windows[i] = slices.Delete(w, at, at+1)
				}
			}
		}
	})
}
