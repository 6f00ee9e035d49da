package commerce

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/systems/internal/loopback"
)

// backend is what the backend of a Memory is called towards people.
const backend = "The order system"

// maxOrders bounds what is kept in memory.
const maxOrders = 1000

// Memory is an Adapter that keeps a small shop in memory, and fails when an
// identifier asks for it: see the package. Get one with NewMemory.
type Memory struct {
	failed atomic.Bool // fault-once has been asked for

	mu           sync.Mutex
	orders       []Order
	fulfillments []Fulfillment
	returns      []Return
	stock        []Stock
}

var _ Adapter = (*Memory)(nil)

// NewMemory returns a shop with an open order, SO-1001, and one that is shipped,
// SO-1002.
func NewMemory() *Memory {
	m := &Memory{stock: slices.Clone(stock)}
	for i, o := range orders {
		o.ID = fmt.Sprintf("SO-%d", 1001+i)
		m.orders = append(m.orders, o)
	}
	m.fulfillments = []Fulfillment{{
		ID: "F-2001", NewFulfillment: NewFulfillment{OrderID: "SO-1002", LineItems: m.orders[1].LineItems, TrackingNumber: "1Z999"},
	}}
	return m
}

// fault returns the failure that word asks for, or nil.
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

// change carries out a write, or fails as word asks for. Of a write that is not
// answered in time nobody can tell that it was done.
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

// timeout is the fault of an answer that does not come.
const timeout = "timeout"

// CreateSalesOrder creates an order. One of an externalId that is there already is
// returned as it is, so that a repetition does no harm.
func (m *Memory) CreateSalesOrder(ctx context.Context, n NewOrder) (Order, error) {
	return change(ctx, m, n.ExternalID, func() (Order, error) {
		if i := slices.IndexFunc(m.orders, func(o Order) bool { return o.ExternalID == n.ExternalID }); i >= 0 {
			return m.orders[i], nil
		}
		if len(m.orders) >= maxOrders {
			return Order{}, &AdapterError{Code: "SHOP_FULL", Message: "The shop takes no more orders."}
		}
		for _, item := range n.LineItems {
			i := slices.IndexFunc(m.stock, func(s Stock) bool { return s.SKU == item.SKU })
			switch {
			case i < 0:
				return Order{}, &AdapterError{Code: "SKU_NOT_FOUND", Message: "There is no such sku."}
			case m.stock[i].Available < item.Quantity:
				return Order{}, &AdapterError{Code: "INSUFFICIENT_INVENTORY", Message: "There is not enough in stock."}
			}
		}
		o := Order{NewOrder: n, ID: fmt.Sprintf("SO-%d", 1001+len(m.orders)), Status: StatusOpen}
		m.orders = append(m.orders, o)
		return o, nil
	})
}

// open returns an order that can still be changed.
func (m *Memory) open(id string) (*Order, error) {
	o, err := m.order(id)
	if err != nil {
		return nil, err
	}
	if o.Status != StatusOpen {
		return nil, &AdapterError{Code: InvalidOrderState, Message: "The order is " + o.Status + ", and no longer open."}
	}
	return o, nil
}

func (m *Memory) order(id string) (*Order, error) {
	i := slices.IndexFunc(m.orders, func(o Order) bool { return o.ID == id })
	if i < 0 {
		return nil, &AdapterError{Code: OrderNotFound, Message: "There is no such order."}
	}
	return &m.orders[i], nil
}

// CancelOrder cancels an open order.
func (m *Memory) CancelOrder(ctx context.Context, orderID, reason string) (Order, error) {
	return change(ctx, m, reason, func() (Order, error) {
		o, err := m.open(orderID)
		if err != nil {
			return Order{}, err
		}
		o.Status, o.Reason = StatusCancelled, reason
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
		return *o, nil
	})
}

// FulfillOrder ships an open order.
func (m *Memory) FulfillOrder(ctx context.Context, n NewFulfillment) (Fulfillment, error) {
	return change(ctx, m, n.TrackingNumber, func() (Fulfillment, error) {
		o, err := m.open(n.OrderID)
		if err != nil {
			return Fulfillment{}, err
		}
		if n.LineItems == nil {
			n.LineItems = o.LineItems
		}
		if err := within(n.LineItems, o); err != nil {
			return Fulfillment{}, err
		}
		o.Status = StatusFulfilled
		f := Fulfillment{NewFulfillment: n, ID: fmt.Sprintf("F-%d", 2001+len(m.fulfillments))}
		m.fulfillments = append(m.fulfillments, f)
		return f, nil
	})
}

// CreateReturn announces goods of an order that was shipped.
func (m *Memory) CreateReturn(ctx context.Context, n NewReturn) (Return, error) {
	return change(ctx, m, n.Reason, func() (Return, error) {
		o, err := m.order(n.OrderID)
		if err != nil {
			return Return{}, err
		}
		if o.Status != StatusFulfilled {
			return Return{}, &AdapterError{Code: InvalidOrderState, Message: "The order is " + o.Status + ", and was not shipped."}
		}
		if len(m.returns) >= maxOrders {
			return Return{}, &AdapterError{Code: "SHOP_FULL", Message: "The shop takes no more returns."}
		}
		if err := within(n.LineItems, o); err != nil {
			return Return{}, err
		}
		r := Return{NewReturn: n, ID: fmt.Sprintf("R-%d", 3001+len(m.returns))}
		m.returns = append(m.returns, r)
		return r, nil
	})
}

// within returns an error unless items are among those of o.
func within(items []LineItem, o *Order) error {
	for _, item := range items {
		if !slices.ContainsFunc(o.LineItems, func(ordered LineItem) bool {
			return ordered.SKU == item.SKU && ordered.Quantity >= item.Quantity
		}) {
			return &AdapterError{Code: "QUANTITY_EXCEEDS_ORDER", Message: "That is more than was ordered."}
		}
	}
	return nil
}
