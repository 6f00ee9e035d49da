package toolcall

import (
	"context"
	"sync/atomic"

	"github.com/recoursehq/recourse"
)

// Limiter bounds how many calls there may be.
type Limiter interface {
	// Take charges a call to the allowance of a partition, such as an organisation;
	// "" where there is only one. When nothing is left, the error is what the caller
	// is to be told: a *recourse.Error of kind rate_limited or quota_exhausted with
	// the wait and the quotas, the binding one first.
	Take(ctx context.Context, partition string) (Charge, error)
}

// Charge is what a call was charged.
type Charge interface {
	// Quotas returns the state of the allowance at the moment.
	Quotas() []recourse.Quota
	// Refund takes the charge back: the call was refused before it ran. Of several
	// refunds the first counts.
	Refund()
}

// take charges the call, where its HTTP request was not charged already.
func (x *exchange) take(ctx context.Context) error {
	if x.s.limiter == nil {
		return nil
	}
	_, err := x.s.limiter.Take(ctx, "")
	return err
}

// wrote says that something was changed on behalf of a call.
type wrote struct{ atomic.Bool }

// Wrote notes that something was changed on behalf of the call that ctx belongs to.
func Wrote(ctx context.Context) {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		x.wrote.Store(true)
	}
}
