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
	// Name is what contracts call it, such as minute or month.
	Name string
	// Limit is the number of calls a window.
	Limit int64
	// Window is the length of a window; windows begin at whole multiples of it since
	// 1970. 0 means a calendar month, UTC.
	Window time.Duration
}

// Windows is a [Limiter] in memory that counts the calls of each partition in fixed
// windows. It remembers up to 100,000 partitions, of which those drop out whose
// windows have ended. It is safe for concurrent use; get one with NewWindows.
type Windows struct {
	policies []Policy
	now      func() time.Time

	mu         sync.Mutex
	partitions map[string][]window // one for each policy
}

var _ Limiter = (*Windows)(nil)

// A window counts the calls since start.
type window struct {
	start time.Time
	count int64
}

// maxPartitions bounds how many partitions are remembered.
const maxPartitions = 100_000

// NewWindows returns a limiter that allows what each of policies allows. now is asked
// for the time of day; nil means time.Now.
func NewWindows(now func() time.Time, policies ...Policy) *Windows {
	if now == nil {
		now = time.Now
	}
	return &Windows{policies: slices.Clone(policies), now: now, partitions: map[string][]window{}}
}

// Take charges a call of a partition to every policy, or refuses it and charges
// nothing. The refusal is a *recourse.Error of kind rate_limited, or quota_exhausted
// where a calendar month is used up, with the wait until the last of the policies
// that are used up has a new window.
func (l *Windows) Take(_ context.Context, partition string) (Charge, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now().UTC()
	windows := l.windows(partition, now)
	quotas := l.quotas(partition, windows)
	if used := slices.IndexFunc(quotas, func(q recourse.Quota) bool { return q.Remaining <= 0 }); used >= 0 {
		return nil, l.refusal(quotas, now)
	}
	for i := range windows {
		windows[i].count++
	}
	return &windowCharge{l: l, partition: partition, charged: slices.Clone(windows)}, nil
}

// windows returns the windows of a partition that now lies in.
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
		if start := p.start(now); !windows[i].start.Equal(start) {
			windows[i] = window{start: start}
		}
	}
	return windows
}

// forget drops the partitions whose windows have ended, and one more, so that there
// is room in any case.
func (l *Windows) forget(now time.Time) {
	for partition, windows := range l.partitions {
		ended := true
		for i, p := range l.policies {
			ended = ended && !p.end(windows[i].start).After(now)
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

func (p Policy) start(now time.Time) time.Time {
	if p.Window <= 0 {
		return time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	since := now.Sub(time.Unix(0, 0))
	return time.Unix(0, 0).UTC().Add(since - since%p.Window)
}

func (p Policy) end(start time.Time) time.Time {
	if p.Window <= 0 {
		return start.AddDate(0, 1, 0)
	}
	return start.Add(p.Window)
}

// quotas returns the state of a partition, in the order of the policies.
func (l *Windows) quotas(partition string, windows []window) []recourse.Quota {
	quotas := make([]recourse.Quota, len(l.policies))
	for i, p := range l.policies {
		end := p.end(windows[i].start)
		quotas[i] = recourse.Quota{
			Policy: p.Name, Limit: p.Limit, Window: end.Sub(windows[i].start),
			Remaining: max(p.Limit-windows[i].count, 0), ResetAt: end, Partition: partition,
		}
	}
	return quotas
}

// refusal says which of quotas is used up, the one that binds longest first.
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
		c.Quotas, c.After, c.Origin = sorted, q.ResetAt.Sub(now), recourse.OriginGateway
	})
}

// windowCharge is a call that was counted.
type windowCharge struct {
	l         *Windows
	partition string
	charged   []window
	once      sync.Once
}

// Quotas returns the state of the partition, in the order of the policies.
func (c *windowCharge) Quotas() []recourse.Quota {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	return c.l.quotas(c.partition, c.l.windows(c.partition, c.l.now().UTC()))
}

// Refund takes the call out of the windows that it was counted in, if they last.
func (c *windowCharge) Refund() {
	c.once.Do(func() {
		c.l.mu.Lock()
		defer c.l.mu.Unlock()
		windows := c.l.windows(c.partition, c.l.now().UTC())
		for i := range windows {
			if windows[i].start.Equal(c.charged[i].start) && windows[i].count > 0 {
				windows[i].count--
			}
		}
	})
}
