// Package demo shows what Recourse is for: a real MCP server that fails in the ways
// that real ones do, the gateway in front of it, and a real client that calls both.
//
//	a call --+-- server                 what an agent sees without Recourse
//	         +-- gateway -- server      and with it
//
// [Show.Gateway] makes each call both ways, [Show.System] provokes the failures of a reference system, and
// [Show.API] serves an HTTP API that fails. All keep serving afterwards, for others to try.
package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/internal/pause"
)

// farm is an MCP server for fields and orders, made with the official Go SDK. The arguments decide what goes wrong: see
// trouble.
type farm struct {
	handler http.Handler
	server  *mcp.Server

	mu     sync.Mutex
	orders map[string]int // by reference: how many times it was created
	calls  map[string]int // by field
}

// The tools.
const (
	getField    = "get_field"
	orderCreate = "order_create"
	orderGet    = "order_get"
)

type fieldArgs struct {
	FieldID string `json:"field_id" jsonschema:"the field's id, such as F-1"`
}

type orderArgs struct {
	Reference string  `json:"reference" jsonschema:"a reference of your own"`
	Amount    float64 `json:"amount"    jsonschema:"liters of fertilizer"`
}

type referenceArgs struct {
	Reference string `json:"reference"`
}

func newFarm() *farm {
	f := &farm{orders: map[string]int{}, calls: map[string]int{}}
	f.server = mcp.NewServer(&mcp.Implementation{Name: "farm", Version: "1.0.0"}, nil)
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(f.server, &mcp.Tool{Name: getField, Description: "Returns a field.", Annotations: reads}, f.getField)
	mcp.AddTool(f.server, &mcp.Tool{Name: orderCreate, Description: "Orders fertilizer."}, f.createOrder)
	mcp.AddTool(f.server, &mcp.Tool{Name: orderGet, Description: "Returns an order.", Annotations: reads}, f.getOrder)
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return f.server },
		&mcp.StreamableHTTPOptions{JSONResponse: true})
	f.handler = f.trouble(inner)
	return f
}

func (f *farm) close() {
	for session := range f.server.Sessions() {
		_ = session.Close() // its connection is gone
	}
}

var errDatabase = errors.New("pq: could not connect to postgres://farm:s3cr3t@10.1.2.3:5432/fields\n" +
	"goroutine 41 [running]:\nfarm/store.(*DB).Field(0xc0001)\n\t/srv/farm/store.go:88 +0x1a4")

func (f *farm) getField(_ context.Context, _ *mcp.CallToolRequest, in fieldArgs) (*mcp.CallToolResult, any, error) {
	if in.FieldID == fieldBroken {
		return nil, nil, errDatabase
	}
	return text("%s: North field, 16.2 ha, winter wheat", in.FieldID), nil, nil
}

func (f *farm) createOrder(_ context.Context, _ *mcp.CallToolRequest, in orderArgs) (*mcp.CallToolResult, any, error) {
	f.keep(in.Reference)
	return text("order %s created: %g l", in.Reference, in.Amount), nil, nil
}

func (f *farm) getOrder(_ context.Context, _ *mcp.CallToolRequest, in referenceArgs) (*mcp.CallToolResult, any, error) {
	if n := f.ordersOf(in.Reference); n > 0 {
		return text("order %s: status confirmed, created %d time(s)", in.Reference, n), nil, nil
	}
	return nil, nil, fmt.Errorf("no order %s", in.Reference)
}

func text(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// Arguments that cause trouble.
const (
	fieldBroken    = "F-broken"    // the tool raises an error full of secrets
	fieldFlaky     = "F-flaky"     // HTTP 503 once, then success
	fieldBusy      = "F-busy"      // HTTP 429 with Retry-After
	fieldHTML      = "F-html"      // the page of a proxy, with HTTP 200
	fieldForgotten = "F-forgotten" // the server has lost every session, once
	orderSilent    = "A-17"        // the order is created, but the answer never comes
	orderBroken    = "A-18"        // the order is created, and the connection breaks
)

// trouble makes calls fail outside of the SDK, as behind a proxy.
func (f *farm) trouble(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const most = 1 << 20
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
		if err != nil {
			http.Error(w, "request too large", http.StatusRequestEntityTooLarge)
			return
		}
		var call struct {
			Params struct {
				Arguments struct {
					FieldID   string `json:"field_id"`
					Reference string `json:"reference"`
				} `json:"arguments"`
				Name string `json:"name"`
			} `json:"params"`
		}
		_ = json.Unmarshal(body, &call) // other messages have no arguments, and cause no trouble
		r.Body = io.NopCloser(bytes.NewReader(body))
		arguments := call.Params.Arguments
		switch {
		case arguments.FieldID == fieldFlaky && f.count(fieldFlaky)%2 == 1:
			http.Error(w, "upstream connect error", http.StatusServiceUnavailable)
		case arguments.FieldID == fieldBusy:
			w.Header().Set("Retry-After", "12")
			http.Error(w, "slow down", http.StatusTooManyRequests)
		case arguments.FieldID == fieldHTML:
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html><body><h1>Sign in to the guest network</h1></body></html>") // the client may have gone
		case arguments.FieldID == fieldForgotten && f.count(fieldForgotten) < 3: // once for each side
			http.Error(w, "session not found", http.StatusNotFound)
		case call.Params.Name == orderCreate && arguments.Reference == orderSilent:
			f.keep(orderSilent)
			pause.For(r.Context(), time.Minute)
		case call.Params.Name == orderCreate && arguments.Reference == orderBroken:
			f.keep(orderBroken)
			panic(http.ErrAbortHandler)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// count counts the calls for a field.
func (f *farm) count(field string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[field]++
	return f.calls[field]
}

func (f *farm) keep(reference string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.orders[reference]++
}

func (f *farm) ordersOf(reference string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.orders[reference]
}

// forgetOrders lets each side begin without orders.
func (f *farm) forgetOrders() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.orders)
}
