package commerce

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The tools that write.
const (
	createSalesOrder = "create-sales-order"
	cancelOrder      = "cancel-order"
	updateOrder      = "update-order"
	fulfillOrder     = "fulfill-order"
	createReturn     = "create-return"
)

// The tools that read.
const (
	getOrders          = "get-orders"
	getCustomers       = "get-customers"
	getProducts        = "get-products"
	getProductVariants = "get-product-variants"
	getInventory       = "get-inventory"
	getFulfillments    = "get-fulfillments"
	getReturns         = "get-returns"
)

type createOrderArgs struct {
	Order NewOrder `json:"order"`
}

type cancelArgs struct {
	OrderID string `json:"orderId"`
	Reason  string `json:"reason,omitempty"`
}

type updateArgs struct {
	ID      string      `json:"id"`
	Updates OrderUpdate `json:"updates"`
}

type createReturnArgs struct {
	Return NewReturn `json:"return"`
}

// The results of the tools.
type (
	orderResult struct {
		Success bool  `json:"success"`
		Order   Order `json:"order"`
	}
	fulfillmentResult struct {
		Success     bool        `json:"success"`
		Fulfillment Fulfillment `json:"fulfillment"`
	}
	returnResult struct {
		Success bool   `json:"success"`
		Return  Return `json:"return"`
	}
	listResult[T any] struct {
		Success bool `json:"success"`
		Count   int  `json:"count"   jsonschema:"how many items there are here"`
		Total   int  `json:"total"   jsonschema:"how many there are on all pages"`
		HasMore bool `json:"hasMore" jsonschema:"there are items behind these"`
		Items   []T  `json:"items"`
	}
)

func addTools(server *mcp.Server, a Adapter) {
	write(server, createSalesOrder, "Creates an order.", checkNewOrder,
		func(ctx context.Context, in createOrderArgs) (orderResult, error) {
			o, err := a.CreateSalesOrder(ctx, in.Order)
			return orderResult{Success: true, Order: o}, err
		})
	write(server, cancelOrder, "Cancels an open order.", checkCancel,
		func(ctx context.Context, in cancelArgs) (orderResult, error) {
			o, err := a.CancelOrder(ctx, in.OrderID, in.Reason)
			return orderResult{Success: true, Order: o}, err
		})
	write(server, updateOrder, "Changes an open order.", checkUpdate,
		func(ctx context.Context, in updateArgs) (orderResult, error) {
			o, err := a.UpdateOrder(ctx, in.ID, in.Updates)
			return orderResult{Success: true, Order: o}, err
		})
	write(server, fulfillOrder, "Ships an order, or a part of it.", checkFulfillment,
		func(ctx context.Context, in NewFulfillment) (fulfillmentResult, error) {
			f, err := a.FulfillOrder(ctx, in)
			return fulfillmentResult{Success: true, Fulfillment: f}, err
		})
	write(server, createReturn, "Announces goods that come back.", checkReturn,
		func(ctx context.Context, in createReturnArgs) (returnResult, error) {
			r, err := a.CreateReturn(ctx, in.Return)
			return returnResult{Success: true, Return: r}, err
		})

	read(server, getOrders, "Finds orders.", a.Orders)
	read(server, getCustomers, "Finds customers.", a.Customers)
	read(server, getProducts, "Finds products.", a.Products)
	read(server, getProductVariants, "Finds variants of products.", a.ProductVariants)
	read(server, getInventory, "Tells what is in stock.", a.Inventory)
	read(server, getFulfillments, "Finds fulfillments of orders.", a.Fulfillments)
	read(server, getReturns, "Finds returns of orders.", a.Returns)
}

// write adds a tool that writes. check checks what a schema cannot express.
func write[In, Out any](
	server *mcp.Server, name, description string, check func(In) error, do func(context.Context, In) (Out, error),
) {
	tool := &mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{}}
	mcp.AddTool(server, tool, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		var nothing Out
		if err := check(in); err != nil {
			return nil, nothing, err
		}
		out, err := do(ctx, in)
		return nil, out, failure(err)
	})
}

// read adds a tool that searches.
func read[Query query, T any](server *mcp.Server, name, description string, find func(context.Context, Query) (Found[T], error)) {
	tool := &mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
	mcp.AddTool(server, tool, func(ctx context.Context, _ *mcp.CallToolRequest, q Query) (*mcp.CallToolResult, listResult[T], error) {
		if err := checkQuery(q); err != nil {
			return nil, listResult[T]{}, err
		}
		found, err := find(ctx, q)
		return nil, listResult[T]{
			Success: true, Count: len(found.Items), Total: found.Total, Items: found.Items,
			HasMore: q.page().Skip+len(found.Items) < found.Total,
		}, failure(err)
	})
}

// failure returns an adapter's error in the form for callers.
func failure(err error) error {
	if refused, ok := errors.AsType[*AdapterError](err); ok {
		return refused.record()
	}
	return err
}
