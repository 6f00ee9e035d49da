package commerce

import (
	"context"
	"slices"

	"github.com/recoursehq/recourse/systems/internal/loopback"
)

// What is for sale, and who has bought.
var (
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
		{Status: StatusOpen, NewOrder: NewOrder{
			ExternalID: "web-1", Customer: customers[0].Person, LineItems: []LineItem{{SKU: "MUG-RED", Quantity: 2}},
			ShippingAddress: &Address{Line1: "1 Mill Lane", City: "Salem", PostalCode: "97301", Country: "US"},
		}},
		{Status: StatusFulfilled, NewOrder: NewOrder{
			ExternalID: "web-2", Customer: customers[1].Person, LineItems: []LineItem{{SKU: "TOWEL-1", Quantity: 3}},
			ShippingAddress: &Address{Line1: "9 High Street", City: "Bend", PostalCode: "97701", Country: "US"},
		}},
	}
)

// in reports whether a list lets value pass: an empty one does.
func in(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }

// find returns the items that pass, and fails as ids ask for.
func find[T any](ctx context.Context, m *Memory, items *[]T, passes func(T) bool, ids ...string) ([]T, error) {
	if len(ids) > 0 {
		if err := m.fault(ids[0]); err != nil {
			return nil, err
		}
		if loopback.Fault(ids[0]) == timeout {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found := []T{}
	for _, item := range *items {
		if passes(item) {
			found = append(found, item)
		}
	}
	return found, nil
}

// Orders finds orders.
func (m *Memory) Orders(ctx context.Context, q OrderQuery) ([]Order, error) {
	return find(ctx, m, &m.orders, func(o Order) bool {
		return in(q.IDs, o.ID) && in(q.ExternalIDs, o.ExternalID) && in(q.Statuses, o.Status)
	}, q.IDs...)
}

// Customers finds customers.
func (m *Memory) Customers(ctx context.Context, q CustomerQuery) ([]Customer, error) {
	return find(ctx, m, &customers, func(c Customer) bool { return in(q.IDs, c.ID) && in(q.Emails, c.Email) }, q.IDs...)
}

// Products finds products.
func (m *Memory) Products(ctx context.Context, q ProductQuery) ([]Product, error) {
	return find(ctx, m, &products, func(p Product) bool { return in(q.IDs, p.ID) }, q.IDs...)
}

// ProductVariants finds variants.
func (m *Memory) ProductVariants(ctx context.Context, q VariantQuery) ([]Variant, error) {
	return find(ctx, m, &variants, func(v Variant) bool { return in(q.SKUs, v.SKU) && in(q.ProductIDs, v.ProductID) }, q.SKUs...)
}

// Inventory finds stock.
func (m *Memory) Inventory(ctx context.Context, q InventoryQuery) ([]Stock, error) {
	return find(ctx, m, &m.stock, func(s Stock) bool { return in(q.SKUs, s.SKU) && in(q.LocationIDs, s.Location) }, q.SKUs...)
}

// Fulfillments finds fulfillments.
func (m *Memory) Fulfillments(ctx context.Context, q FulfillmentQuery) ([]Fulfillment, error) {
	return find(ctx, m, &m.fulfillments, func(f Fulfillment) bool { return in(q.IDs, f.ID) && in(q.OrderIDs, f.OrderID) }, q.IDs...)
}

// Returns finds returns.
func (m *Memory) Returns(ctx context.Context, q ReturnQuery) ([]Return, error) {
	return find(ctx, m, &m.returns, func(r Return) bool { return in(q.IDs, r.ID) && in(q.OrderIDs, r.OrderID) }, q.IDs...)
}
