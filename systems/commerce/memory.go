package commerce

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/systems/internal/loopback"
)

// backend is the name of a Memory's backend in messages.
const backend = "The order system"

// maxOrders limits the orders in memory.
const maxOrders = 1000

// Memory is an Adapter that keeps a small shop in memory, and fails when an identifier requests it: see the
// package. Get one with NewMemory.
type Memory struct {
	failed atomic.Bool // fault-once has been requested

	mu           sync.Mutex
	orders       []Order
	asked        map[string]NewOrder // by externalId: the order as it was created
	fulfillments []Fulfillment
	returns      []Return
	stock        []Stock
}

var _ Adapter = (*Memory)(nil)

// NewMemory returns a shop with an open order, SO-1001, and a shipped one, SO-1002.
func NewMemory() *Memory {
	m := &Memory{stock: slices.Clone(stock), asked: map[string]NewOrder{}}
	for i, o := range orders {
		o.ID = fmt.Sprintf("SO-%d", 1001+i)
		m.orders, m.asked[o.ExternalID] = append(m.orders, o), o.NewOrder
	}
	shipped := m.orders[1]
	m.fulfillments = []Fulfillment{{
		ID: "F-2001", CreatedAt: shipped.UpdatedAt,
		NewFulfillment: NewFulfillment{OrderID: shipped.ID, LineItems: shipped.LineItems, TrackingNumber: "1Z999"},
	}}
	return m
}

// now returns the time in the precision of answers.
func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

// The shop's refusals.
var (
	errNoOrder = &AdapterError{Code: "ORDER_NOT_FOUND", Message: "There is no such order.", Kind: recourse.KindNotFound}
	errNoSKU   = &AdapterError{Code: "SKU_NOT_FOUND", Message: "There is no such sku.", Kind: recourse.KindNotFound}
	errNoStock = &AdapterError{
		Code: "INSUFFICIENT_INVENTORY", Kind: recourse.KindInvalidState,
		Message: "There is not enough in stock: get-inventory tells how much.",
	}
	errTooMuch = &AdapterError{
		Code: "QUANTITY_EXCEEDS_ORDER", Message: "That is more than is left of the order.", Kind: recourse.KindInvalidState,
	}
	errReused = &AdapterError{
		Code: "EXTERNAL_ID_REUSED", Kind: recourse.KindConflict,
		Message: "There is another order with that externalId: its content differs.",
	}
	errFull = &AdapterError{Code: "SHOP_FULL", Message: "The shop takes no more of them.", Kind: recourse.KindLimitReached}
)

// wrongState says that an order's state does not allow the call.
func wrongState(o *Order, message string) error {
	return &AdapterError{
		Code: "INVALID_ORDER_STATE", Message: "The order is " + o.Status + ": " + message, Kind: recourse.KindInvalidState,
	}
}

// fault returns the failure that word requests, or nil.
func (m *Memory) fault(word string) error {
	switch loopback.Fault(word) {
	case "busy":
		return recourse.RateLimited(12 * time.Second).WithMessage("Too many requests.").WithOrigin(recourse.OriginProvider)
	case "adapter":
		return &AdapterError{Code: "BACKEND_BUG", Message: "The order system failed."}
	case "locked":
		return &AdapterError{Code: "RECORD_LOCKED", Message: "Somebody else is writing at the moment.", Retryable: true}
	case "down":
		return recourse.Unavailable(backend).WithEffect(recourse.EffectNone)
	case "once":
		if m.failed.CompareAndSwap(false, true) {
			return recourse.Unavailable(backend).WithEffect(recourse.EffectNone)
		}
		m.failed.Store(false)
	}
	return nil
}

// change carries out a write, or fails as word requests. For a write whose answer does not come in time,
// nobody knows that it was done.
func change[T any](ctx context.Context, m *Memory, word string, write func() (T, error)) (T, error) {
	var nothing T
	if err := m.fault(word); err != nil {
		return nothing, err
	}
	m.mu.Lock()
	out, err := write()
	m.mu.Unlock()
	if err == nil && loopback.Fault(word) == timeout {
		<-ctx.Done()
		return nothing, ctx.Err()
	}
	return out, err
}

// timeout is the fault of a missing answer.
const timeout = "timeout"

// CreateSalesOrder creates an order and takes its goods out of stock. If the same order with this externalId
// already exists, it is returned unchanged, so that a repetition is harmless; a different order is refused.
func (m *Memory) CreateSalesOrder(ctx context.Context, n NewOrder) (Order, error) {
	return change(ctx, m, n.ExternalID, func() (Order, error) {
		if before, ok := m.asked[n.ExternalID]; ok {
			if !reflect.DeepEqual(before, n) {
				return Order{}, errReused
			}
			i := slices.IndexFunc(m.orders, func(o Order) bool { return o.ExternalID == n.ExternalID })
			return m.orders[i], nil
		}
		if len(m.orders) >= maxOrders {
			return Order{}, errFull
		}
		if err := m.inStock(n.LineItems); err != nil {
			return Order{}, err
		}
		m.move(n.LineItems, -1)
		at := now()
		o := Order{
			NewOrder: n, ID: fmt.Sprintf("SO-%d", 1001+len(m.orders)), Status: StatusOpen, CreatedAt: at, UpdatedAt: at,
		}
		m.orders, m.asked[n.ExternalID] = append(m.orders, o), n
		return o, nil
	})
}

// inStock returns an error unless there is enough of everything.
func (m *Memory) inStock(items []LineItem) error {
	for sku, quantity := range bySKU(items) {
		i := slices.IndexFunc(m.stock, func(s Stock) bool { return s.SKU == sku })
		if i < 0 {
			return errNoSKU
		}
		if m.stock[i].Available < quantity {
			return errNoStock
		}
	}
	return nil
}

// move puts items into stock, or removes them.
func (m *Memory) move(items []LineItem, sign int) {
	for i := range m.stock {
		m.stock[i].Available += sign * bySKU(items)[m.stock[i].SKU]
	}
}

// bySKU adds up the quantities of items.
func bySKU(items []LineItem) map[string]int {
	sums := map[string]int{}
	for _, item := range items {
		sums[item.SKU] += item.Quantity
	}
	return sums
}

// open returns an order that is not shipped, not even in part.
func (m *Memory) open(id string) (*Order, error) {
	o, err := m.order(id)
	if err == nil && o.Status != StatusOpen {
		err = wrongState(o, "it can no longer be changed.")
	}
	return o, err
}

func (m *Memory) order(id string) (*Order, error) {
	i := slices.IndexFunc(m.orders, func(o Order) bool { return o.ID == id })
	if i < 0 {
		return nil, errNoOrder
	}
	return &m.orders[i], nil
}

// CancelOrder cancels an open order and puts its goods back into stock.
func (m *Memory) CancelOrder(ctx context.Context, orderID, reason string) (Order, error) {
	return change(ctx, m, reason, func() (Order, error) {
		o, err := m.open(orderID)
		if err != nil {
			return Order{}, err
		}
		m.move(o.LineItems, 1)
		o.Status, o.Reason, o.UpdatedAt = StatusCancelled, reason, now()
		return *o, nil
	})
}

// UpdateOrder changes an open order.
func (m *Memory) UpdateOrder(ctx context.Context, id string, u OrderUpdate) (Order, error) {
	return change(ctx, m, u.Note, func() (Order, error) {
		o, err := m.open(id)
		if err != nil {
			return Order{}, err
		}
		if u.ShippingAddress != nil {
			o.ShippingAddress = u.ShippingAddress
		}
		if u.Note != "" {
			o.Note = u.Note
		}
		o.UpdatedAt = now()
		return *o, nil
	})
}

// FulfillOrder ships an order, or a part of the rest of it.
func (m *Memory) FulfillOrder(ctx context.Context, n NewFulfillment) (Fulfillment, error) {
	return change(ctx, m, n.TrackingNumber, func() (Fulfillment, error) {
		o, err := m.order(n.OrderID)
		if err != nil {
			return Fulfillment{}, err
		}
		if o.Status != StatusOpen && o.Status != StatusPartial {
			return Fulfillment{}, wrongState(o, "there is nothing left to ship.")
		}
		left := less(bySKU(o.LineItems), m.shipped(o.ID))
		if n.LineItems == nil {
			n.LineItems = itemsOf(left)
		}
		if left = less(left, bySKU(n.LineItems)); left == nil {
			return Fulfillment{}, errTooMuch
		}
		o.Status, o.UpdatedAt = StatusPartial, now()
		if len(itemsOf(left)) == 0 {
			o.Status = StatusFulfilled
		}
		f := Fulfillment{NewFulfillment: n, ID: fmt.Sprintf("F-%d", 2001+len(m.fulfillments)), CreatedAt: o.UpdatedAt}
		m.fulfillments = append(m.fulfillments, f)
		return f, nil
	})
}

// CreateReturn announces the return of goods that were shipped and are not announced yet.
func (m *Memory) CreateReturn(ctx context.Context, n NewReturn) (Return, error) {
	return change(ctx, m, n.Reason, func() (Return, error) {
		o, err := m.order(n.OrderID)
		if err != nil {
			return Return{}, err
		}
		if o.Status != StatusFulfilled && o.Status != StatusPartial {
			return Return{}, wrongState(o, "nothing of it was shipped.")
		}
		if len(m.returns) >= maxOrders {
			return Return{}, errFull
		}
		if less(less(m.shipped(o.ID), m.returned(o.ID)), bySKU(n.LineItems)) == nil {
			return Return{}, errTooMuch
		}
		r := Return{NewReturn: n, ID: fmt.Sprintf("R-%d", 3001+len(m.returns)), CreatedAt: now()}
		m.returns = append(m.returns, r)
		return r, nil
	})
}

// shipped adds up the shipped quantities of an order.
func (m *Memory) shipped(id string) map[string]int {
	var items []LineItem
	for _, f := range m.fulfillments {
		if f.OrderID == id {
			items = append(items, f.LineItems...)
		}
	}
	return bySKU(items)
}

// returned adds up the announced returns of an order.
func (m *Memory) returned(id string) map[string]int {
	var items []LineItem
	for _, r := range m.returns {
		if r.OrderID == id {
			items = append(items, r.LineItems...)
		}
	}
	return bySKU(items)
}

// less returns what remains of quantities after others are subtracted; nil if those are larger.
func less(from, take map[string]int) map[string]int {
	left := maps.Clone(from)
	for sku, quantity := range take {
		if left[sku] -= quantity; left[sku] < 0 {
			return nil
		}
	}
	return left
}

// itemsOf lists the quantities that are not zero.
func itemsOf(quantities map[string]int) []LineItem {
	var items []LineItem
	for _, sku := range slices.Sorted(maps.Keys(quantities)) {
		if quantities[sku] > 0 {
			items = append(items, LineItem{SKU: sku, Quantity: quantities[sku]})
		}
	}
	return items
}
