package handler

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
)

// HeaderCharge is the header with which a guard tells the server behind it that a request was charged. Its value is a
// secret of the process; a client's header of that name is not passed on.
const HeaderCharge = "Recourse-Charge"

// refunds undo the charges of current requests, by the value of their header.
var refunds sync.Map

// Charged marks a request as charged, in its header. Until end is called, refund is called if the call is refused.
func Charged(header http.Header, refund func()) (end func()) {
	token := rand.Text()
	refunds.Store(token, refund)
	header.Set(HeaderCharge, token)
	return func() { refunds.Delete(token) }
}

// refundOf returns what undoes the charge of a request; nil if there was none.
func refundOf(header http.Header) func() {
	value, _ := refunds.Load(header.Get(HeaderCharge))
	refund, _ := value.(func())
	return refund
}

// take charges the call, unless its HTTP request was charged.
func (x *handling) take(ctx context.Context) error {
	if x.s.charge == nil || refundOf(x.req.Header) != nil {
		return nil
	}
	return x.s.charge(ctx)
}

// refund undoes the charge of a call that was refused.
func (x *handling) refund() {
	if x.ran || !x.isCall() {
		return
	}
	if refund := refundOf(x.req.Header); refund != nil {
		refund()
	}
}

// Wrote notes that the call that ctx belongs to has changed something.
func Wrote(ctx context.Context) {
	if x, ok := ctx.Value(exchangeKey{}).(*handling); ok {
		x.wrote.Store(true)
	}
}
