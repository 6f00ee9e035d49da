package mcptool

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/recent"
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
// the 100,000 partitions that were used last, and some 60 numbers for each window. It is
// safe for concurrent use; get one with [NewWindows].
type Windows struct {
	policies []Policy
	now      func() time.Time

	mu         sync.Mutex
	partitions *recent.Map[string, []window] // one for each policy
}

var _ Limiter = (*Windows)(nil)

// A window holds the calls that currently count.
type window struct {
	recent.Series

	month time.Time // in which they were made, if that is the window
}

// NewWindows returns a limiter that allows a call if each of policies does. now is the
// clock; nil means time.Now.
func NewWindows(now func() time.Time, policies ...Policy) *Windows {
	if now == nil {
		now = time.Now
	}
	partitions := recent.New[string, []window](recent.Bounds{Most: 100_000})
	return &Windows{policies: slices.Clone(policies), now: now, partitions: partitions}
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
	for i, p := range l.policies {
		windows[i].Add(now.UnixNano(), p.slots(), 1)
	}
	return &windowCharge{l: l, partition: partition, at: now}, nil
}

// windows returns the windows of a partition, without what has left them.
func (l *Windows) windows(partition string, now time.Time) []window {
	windows, known := l.partitions.GetAt(partition, now)
	if !known {
		windows = make([]window, len(l.policies))
		l.partitions.Keep(partition, windows, 0)
	}
	for i, p := range l.policies {
		w := &windows[i]
		if p.Window > 0 {
			w.Expire(now.UnixNano(), int64(p.Window))
		} else if start := monthOf(now); !w.month.Equal(start) {
			*w = window{month: start}
		}
	}
	return windows
}

// monthOf returns when the month of now began.
func monthOf(now time.Time) time.Time {
	return time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// slots returns the length by which a window is divided into slots.
func (p Policy) slots() int64 {
	if p.Window > 0 {
		return int64(p.Window)
	}
	return int64(31 * 24 * time.Hour)
}

// length returns the length of the window that now is in.
func (p Policy) length(now time.Time) time.Duration {
	if p.Window > 0 {
		return p.Window
	}
	start := monthOf(now)
	return start.AddDate(0, 1, 0).Sub(start)
}

// reset returns when w has room for a call again or, if it has room now, for more calls.
func (p Policy) reset(w *window, now time.Time) time.Time {
	switch {
	case p.Window <= 0:
		return monthOf(now).AddDate(0, 1, 0)
	case w.Total == 0:
		return now.Add(p.Window)
	default:
		return now.Add(time.Duration(w.Reset(now.UnixNano(), int64(p.Window), p.Limit)))
	}
}

// quotas returns the state of a partition, in the order of the policies.
func (l *Windows) quotas(partition string, windows []window, now time.Time) []recourse.Quota {
	quotas := make([]recourse.Quota, len(l.policies))
	for i, p := range l.policies {
		quotas[i] = recourse.Quota{
			Policy: p.Name, Limit: p.Limit, Window: p.length(now),
			Remaining: max(p.Limit-windows[i].Total, 0), ResetAt: p.reset(&windows[i], now), Partition: partition,
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
	at        time.Time
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
		for i, p := range c.l.policies {
			if p.Window > 0 || windows[i].month.Equal(monthOf(c.at)) {
				windows[i].Remove(c.at.UnixNano(), p.slots())
			}
		}
	})
}
