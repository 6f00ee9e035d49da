package toolcall

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
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

// HeaderCharge is the header by which what stands before a server tells it that a
// request was charged already. Its value is a secret of the process, and what a
// client sends under that name is not passed on.
const HeaderCharge = "Recourse-Charge"

// charges are those of the requests that are under way, by the value of their header.
var charges sync.Map

// Lend marks a request, by its header, as charged, so that the charge is taken back
// where the call is refused; back ends that.
func Lend(header http.Header, charge Charge) (back func()) {
	token := rand.Text()
	charges.Store(token, charge)
	header.Set(HeaderCharge, token)
	return func() { charges.Delete(token) }
}

func lent(header http.Header) (Charge, bool) {
	value, _ := charges.Load(header.Get(HeaderCharge))
	charge, ok := value.(Charge)
	return charge, ok
}

// take charges the call, where its HTTP request was not charged already.
func (x *exchange) take(ctx context.Context) error {
	if x.s.limiter == nil {
		return nil
	}
	if _, charged := lent(x.call.Header); charged {
		return nil
	}
	_, err := x.s.limiter.Take(ctx, "")
	return err
}

// refund takes back what the HTTP request of a call was charged that was refused.
func (x *exchange) refund() {
	if x.ran || !x.isCall() {
		return
	}
	if charge, charged := lent(x.call.Header); charged {
		charge.Refund()
	}
}

// wrote says that something was changed on behalf of a call.
type wrote struct{ atomic.Bool }

// Wrote notes that something was changed on behalf of the call that ctx belongs to.
func Wrote(ctx context.Context) {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		x.wrote.Store(true)
	}
}
