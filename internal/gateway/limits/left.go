package limits

import (
	"context"
	"slices"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/policy/limit"
)

// Left returns what a caller has left in each window, without using any of it. Limits of single tools are not among them.
func Left(ctx context.Context, counter limit.Counter, l *Limits, who Payer, now time.Time) ([]recourse.Quota, error) {
	a, c := Allowance{at: now}, &Counted{Payer: who}
	for i := range l.rates {
		if r := &l.rates[i]; len(r.Tools) == 0 && !slices.Contains(r.By, config.LimitByTool) {
			a.charges = append(a.charges, limit.Charge{Window: &r.window, Key: c.key(r.Limit)})
			a.rates = append(a.rates, r)
		}
	}
	if len(a.charges) == 0 {
		return nil, nil
	}
	if err := counter.Look(ctx, now, a.charges); err != nil {
		return nil, err
	}
	left := make([]recourse.Quota, len(a.charges))
	for i := range left {
		left[i] = a.quota(i)
	}
	return left, nil
}
