package commerce

import (
	"context"
	"slices"
	"time"

	"github.com/recoursehq/recourse/systems/internal/loopback"
)

// The goods for sale, and the customers.
var (
	january  = time.Date(2026, 1, 15, 9, 30, 0, 0, time.UTC)
	february = time.Date(2026, 2, 3, 16, 0, 0, 0, time.UTC)
	products = []Product{{ID: "P-1", Title: "Mug"}, {ID: "P-2", Title: "Tea towel"}}
	variants = []Variant{
		{SKU: "MUG-BLUE", ProductID: "P-1", Title: "Blue", Cents: 1200},
		{SKU: "MUG-RED", ProductID: "P-1", Title: "Red", Cents: 1200},
		{SKU: "TOWEL-1", ProductID: "P-2", Title: "Linen", Cents: 900},
	}
	stock = []Stock{
		{SKU: "MUG-BLUE", Location: "salem", Available: 10_000},
		{SKU: "MUG-RED", Location: "salem", Available: 40},
		{SKU: "TOWEL-1", Location: "bend", Available: 7},
	}
	customers = []Customer{
		{ID: "C-1", Person: Person{Email: "ada@example.com", Name: "Ada"}},
		{ID: "C-2", Person: Person{Email: "ben@example.com", Name: "Ben"}},
	}
	orders = []Order{
		{Status: StatusOpen, CreatedAt: january, UpdatedAt: january, NewOrder: NewOrder{
			ExternalID: "web-1", Customer: customers[0].Person, LineItems: []LineItem{{SKU: "MUG-RED", Quantity: 2}},
			ShippingAddress: &Address{Line1: "1 Mill Lane", City: "Salem", PostalCode: "97301", Country: "US"},
		}},
		{Status: StatusFulfilled, CreatedAt: january, UpdatedAt: february, NewOrder: NewOrder{
			ExternalID: "web-2", Customer: customers[1].Person, LineItems: []LineItem{{SKU: "TOWEL-1", Quantity: 3}},
			ShippingAddress: &Address{Line1: "9 High Street", City: "Bend", PostalCode: "97701", Country: "US"},
		}},
	}
)

// in reports whether a list allows value: an empty list does.
func in(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }

// find returns the page of the items that match, and fails as ids request.
func find[T any](ctx context.Context, m *Memory, p Page, items *[]T, passes func(T) bool, ids ...string) (Found[T], error) {
	if len(ids) > 0 {
		if err := m.fault(ids[0]); err != nil {
			return Found[T]{}, err
		}
		if loopback.Fault(ids[0]) == timeout {
			<-ctx.Done()
			return Found[T]{}, ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := []T{}
	for _, item := range *items {
		if passes(item) {
			all = append(all, item)
		}
	}
	from := min(p.Skip, len(all))
	return Found[T]{Items: all[from:min(from+p.size(), len(all))], Total: len(all)}, nil
}

// Orders finds orders.
func (m *Memory) Orders(ctx context.Context, q OrderQuery) (Found[Order], error) {
	return find(ctx, m, q.Page, &m.orders, func(o Order) bool {
		return in(q.IDs, o.ID) && in(q.ExternalIDs, o.ExternalID) && in(q.Statuses, o.Status) && q.holds(o.CreatedAt, o.UpdatedAt)
	}, q.IDs...)
}

// Customers finds customers.
func (m *Memory) Customers(ctx context.Context, q CustomerQuery) (Found[Customer], error) {
	return find(ctx, m, q.Page, &customers, func(c Customer) bool { return in(q.IDs, c.ID) && in(q.Emails, c.Email) }, q.IDs...)
}

// Products finds products.
func (m *Memory) Products(ctx context.Context, q ProductQuery) (Found[Product], error) {
	return find(ctx, m, q.Page, &products, func(p Product) bool { return in(q.IDs, p.ID) }, q.IDs...)
}

// ProductVariants finds variants.
func (m *Memory) ProductVariants(ctx context.Context, q VariantQuery) (Found[Variant], error) {
	return find(ctx, m, q.Page, &variants, func(v Variant) bool { return in(q.SKUs, v.SKU) && in(q.ProductIDs, v.ProductID) }, q.SKUs...)
}

// Inventory finds stock.
func (m *Memory) Inventory(ctx context.Context, q InventoryQuery) (Found[Stock], error) {
	return find(ctx, m, q.Page, &m.stock, func(s Stock) bool { return in(q.SKUs, s.SKU) && in(q.LocationIDs, s.Location) }, q.SKUs...)
}

// Fulfillments finds fulfillments.
func (m *Memory) Fulfillments(ctx context.Context, q FulfillmentQuery) (Found[Fulfillment], error) {
	return find(ctx, m, q.Page, &m.fulfillments, func(f Fulfillment) bool {
		return in(q.IDs, f.ID) && in(q.OrderIDs, f.OrderID) && q.holds(f.CreatedAt, f.CreatedAt)
	}, q.IDs...)
}

// Returns finds returns.
func (m *Memory) Returns(ctx context.Context, q ReturnQuery) (Found[Return], error) {
	return find(ctx, m, q.Page, &m.returns, func(r Return) bool {
		return in(q.IDs, r.ID) && in(q.OrderIDs, r.OrderID) && q.holds(r.CreatedAt, r.CreatedAt)
	}, q.IDs...)
}
