package commerce

import (
	"cmp"
	"context"

	"github.com/recoursehq/recourse"
)

// Adapter carries out the tools on a backend. Embed Unsupported in an adapter that supports only some of
// them.
//
// A method that fails returns an *AdapterError for a refusal in the backend's own words; a *recourse.Error,
// such as recourse.RateLimited, recourse.Timeout and recourse.Unavailable, for a failure with a code in the
// contract; or any other error, whose text is not revealed. It states the effect of a write if it is known:
// otherwise, a write that failed half way counts as one that may have happened. Adapters are safe for
// concurrent use.
type Adapter interface { //nolint:interfacebloat // a method for each tool
	// CreateSalesOrder places an order.
	CreateSalesOrder(ctx context.Context, o NewOrder) (Order, error)
	// CancelOrder cancels an order, and returns it as it is then.
	CancelOrder(ctx context.Context, orderID, reason string) (Order, error)
	// UpdateOrder changes what u names of an order.
	UpdateOrder(ctx context.Context, id string, u OrderUpdate) (Order, error)
	// FulfillOrder records that items of an order were sent.
	FulfillOrder(ctx context.Context, f NewFulfillment) (Fulfillment, error)
	// CreateReturn records that items of an order come back.
	CreateReturn(ctx context.Context, r NewReturn) (Return, error)

	// Orders finds orders.
	Orders(ctx context.Context, q OrderQuery) (Found[Order], error)
	// Customers finds customers.
	Customers(ctx context.Context, q CustomerQuery) (Found[Customer], error)
	// Products finds products.
	Products(ctx context.Context, q ProductQuery) (Found[Product], error)
	// ProductVariants finds variants of products.
	ProductVariants(ctx context.Context, q VariantQuery) (Found[Variant], error)
	// Inventory finds how much of a variant is where.
	Inventory(ctx context.Context, q InventoryQuery) (Found[Stock], error)
	// Fulfillments finds what was sent.
	Fulfillments(ctx context.Context, q FulfillmentQuery) (Found[Fulfillment], error)
	// Returns finds what came back.
	Returns(ctx context.Context, q ReturnQuery) (Found[Return], error)
}

// Found is the requested part of a query's results.
type Found[T any] struct {
	Items []T
	Total int // the number of all results
}

// An AdapterError is a refusal of the backend, in its own words. Nothing was changed.
type AdapterError struct {
	Code      string // such as ORDER_NOT_FOUND
	Message   string // one sentence, without the values of arguments
	Retryable bool   // the same call may succeed later
	// Kind is the kind of the refusal; "" means an internal failure of the backend. An input error is
	// reported as a validation error, without the backend's word.
	Kind recourse.Kind
}

// Error returns the message.
func (e *AdapterError) Error() string { return e.Message }

// record returns the error in the form for callers.
func (e *AdapterError) record() *recourse.Error {
	kind := cmp.Or(e.Kind, recourse.KindServerError)
	advice := recourse.RetryNever
	if e.Retryable {
		advice = recourse.RetrySameCall
	}
	return recourse.New(kind, e.Message).WithUpstream(recourse.Upstream{Code: e.Code}).WithOrigin(recourse.OriginProvider).
		WithEffect(recourse.EffectNone).WithRetry(advice)
}

// Unsupported is an Adapter that supports no tool.
type Unsupported struct{}

var _ Adapter = Unsupported{}

func unsupported(tool string) error {
	return recourse.NotImplemented(tool).WithMessage("The adapter does not support %s.", tool)
}

// CreateSalesOrder is not supported.
func (Unsupported) CreateSalesOrder(context.Context, NewOrder) (Order, error) {
	return Order{}, unsupported(createSalesOrder)
}

// CancelOrder is not supported.
func (Unsupported) CancelOrder(context.Context, string, string) (Order, error) {
	return Order{}, unsupported(cancelOrder)
}

// UpdateOrder is not supported.
func (Unsupported) UpdateOrder(context.Context, string, OrderUpdate) (Order, error) {
	return Order{}, unsupported(updateOrder)
}

// FulfillOrder is not supported.
func (Unsupported) FulfillOrder(context.Context, NewFulfillment) (Fulfillment, error) {
	return Fulfillment{}, unsupported(fulfillOrder)
}

// CreateReturn is not supported.
func (Unsupported) CreateReturn(context.Context, NewReturn) (Return, error) {
	return Return{}, unsupported(createReturn)
}

// Orders is not supported.
func (Unsupported) Orders(context.Context, OrderQuery) (Found[Order], error) {
	return Found[Order]{}, unsupported(getOrders)
}

// Customers is not supported.
func (Unsupported) Customers(context.Context, CustomerQuery) (Found[Customer], error) {
	return Found[Customer]{}, unsupported(getCustomers)
}

// Products is not supported.
func (Unsupported) Products(context.Context, ProductQuery) (Found[Product], error) {
	return Found[Product]{}, unsupported(getProducts)
}

// ProductVariants is not supported.
func (Unsupported) ProductVariants(context.Context, VariantQuery) (Found[Variant], error) {
	return Found[Variant]{}, unsupported(getProductVariants)
}

// Inventory is not supported.
func (Unsupported) Inventory(context.Context, InventoryQuery) (Found[Stock], error) {
	return Found[Stock]{}, unsupported(getInventory)
}

// Fulfillments is not supported.
func (Unsupported) Fulfillments(context.Context, FulfillmentQuery) (Found[Fulfillment], error) {
	return Found[Fulfillment]{}, unsupported(getFulfillments)
}

// Returns is not supported.
func (Unsupported) Returns(context.Context, ReturnQuery) (Found[Return], error) {
	return Found[Return]{}, unsupported(getReturns)
}
