// Package commerce is a reference system: an order management server that implements the contract commerce,
// with an Adapter behind its tools.
//
// # Tools
//
// create-sales-order, cancel-order, update-order, fulfill-order and create-return
// write; get-orders, get-customers, get-products, get-product-variants,
// get-inventory, get-fulfillments and get-returns read. Each returns {"success":
// true, ...}, or fails.
//
// # How to make it fail
//
// With any adapter:
//
//	-32602  an argument that does not fit the schema: an order without customer.email,
//	        a number that no int64 holds
//	2001    quantity 0 or more than 1,000,000; no line items, or more than 100; updates
//	        {}; pageSize 0 or more than 100; a text that is too long
//	2002    an order without shippingAddress
//	2003    customer.email without an @; createdAtMin "yesterday"; country "us"
//	3001    more calls than Options.PerMinute
//	5001    a tool that the adapter does not support: every one of Unsupported
//
// With Memory, the default adapter, depending on the state of the shop:
//
//	4001    ORDER_NOT_FOUND: orderId "SO-404"; INVALID_ORDER_STATE: cancel "SO-1002",
//	        which is shipped; SKU_NOT_FOUND: sku "X"; INSUFFICIENT_INVENTORY: more than
//	        is left of a sku; EXTERNAL_ID_REUSED: an externalId of another order;
//	        QUANTITY_EXCEEDS_ORDER: fulfill more than is left of the order, or return
//	        more than was shipped; SHOP_FULL: the 1,001st order
//
// and by a word in free text (externalId, reason, note, trackingNumber) or in the first of the identifiers of
// a query:
//
//	3001    fault-busy: too many requests, with a wait of 12 s
//	3002    fault-timeout: no answer within Options.Timeout. The change is still
//	        made: the error of a call that writes says that this is unknown, and names
//	        the call that finds out
//	4001    fault-adapter, not retryable; fault-locked, retryable
//	4002    fault-down; fault-once, after which the call succeeds
package commerce

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/systems"
)

// Options change a System. The zero value is valid.
type Options struct {
	// Adapter carries out the tools; nil means a new Memory.
	Adapter Adapter
	// Logger gets a line for each failure, with its cause; nil means slog.Default.
	Logger *slog.Logger
	// PerMinute is how many calls are allowed in a minute; 0 means 600.
	PerMinute int64
	// Timeout is how long a call may take; 0 means 10 s.
	Timeout time.Duration
}

// System is the server. Get one with New.
type System struct {
	server  *mcp.Server
	handler http.Handler
}

var _ systems.System = (*System)(nil)

// serverOptions work out the schemas of the tools once: they are the same in every System.
var serverOptions = &mcp.ServerOptions{SchemaCache: mcp.NewSchemaCache()}

// New returns the system.
func New(o Options) (*System, error) {
	if o.Adapter == nil {
		o.Adapter = NewMemory()
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.PerMinute = cmp.Or(o.PerMinute, 600)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	c := contract.MustBuiltin("commerce")
	s := &System{server: mcp.NewServer(&mcp.Implementation{Name: "commerce", Title: "Orders", Version: "1.0.0"}, serverOptions)}
	addTools(s.server, o.Adapter)
	log := mcptool.WithLogger(o.Logger)
	// All callers share one allowance, which Use enforces on every transport.
	limiter := mcptool.NewWindows(nil, mcptool.Policy{Name: "minute", Limit: o.PerMinute, Window: time.Minute})
	mcptool.Use(s.server, c, log, mcptool.WithLimiter(limiter), mcptool.WithTimeout(o.Timeout))
	s.handler = mcptool.Guard(systems.MCPHandler(s.server), c, log)
	return s, nil
}

// MCPServer returns the server for stdio.
func (s *System) MCPServer() *mcp.Server { return s.server }

// Handler serves Streamable HTTP, to clients of both eras.
func (s *System) Handler() http.Handler { return s.handler }

// Entrance returns what a client of Handler must send: nothing.
func (s *System) Entrance() systems.Entrance { return systems.Entrance{Path: "/mcp"} }

// Close does nothing: the adapter's resources belong to its owner.
func (s *System) Close() error { return nil }

// order returns the arguments of an order.
func order(externalID string) string {
	return `{"order":{"externalId":"` + externalID + `","customer":{"email":"ada@example.com"},` +
		`"shippingAddress":{"line1":"1 Mill Lane","city":"Salem","postalCode":"97301","country":"US"},` +
		`"lineItems":[{"sku":"MUG-BLUE","quantity":2}]}}`
}

// Scenes returns calls to try.
func (s *System) Scenes() []systems.Scene {
	return []systems.Scene{
		{Title: "An order that works.", Tool: createSalesOrder, Arguments: order("web-17")},
		{
			Title: "An argument is missing: a JSON-RPC error, and nothing was carried out.", Tool: createSalesOrder,
			Arguments: `{"order":{"externalId":"web-18","customer":{"name":"Ada"},"lineItems":[]}}`,
		},
		{
			Title: "What the tool itself finds: of several mistakes the first is told, and all are listed.", Tool: createSalesOrder,
			Arguments: `{"order":{"externalId":"web-18","customer":{"email":"ada"},"lineItems":[{"sku":"MUG-BLUE","quantity":0}]}}`,
		},
		{Title: "An order that does not exist.", Tool: cancelOrder, Arguments: `{"orderId":"SO-404"}`},
		{Title: "An order that is shipped cannot be cancelled.", Tool: cancelOrder, Arguments: `{"orderId":"SO-1002"}`},
		{Title: "The backend is down.", Tool: getOrders, Arguments: `{"ids":["fault-down"]}`},
		{
			Title: "A write that is not answered in time: was the order created?", Tool: createSalesOrder,
			Arguments: order("fault-timeout-1"),
		},
		{Title: "So the model asks, as it was told to.", Tool: getOrders, Arguments: `{"externalIds":["fault-timeout-1"]}`},
	}
}
