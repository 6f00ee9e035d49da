package demo

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// API is the name of the demo that is an HTTP API rather than an MCP server.
const API = "api"

// ordersDescription is its OpenAPI description.
//
//go:embed orders.yaml
var ordersDescription []byte

// An order is what the API is about.
type order struct {
	ID    string `json:"id"`
	Item  string `json:"item"`
	Count int    `json:"count,omitempty"`
}

// An ordersAPI is an HTTP API that fails in many ways.
type ordersAPI struct {
	mu       sync.Mutex
	orders   []order
	payments map[string]string // by key
}

// newOrdersAPI returns the API with three orders.
func newOrdersAPI() http.Handler {
	a := &ordersAPI{
		orders:   []order{{"1", "hay", 2}, {"2", "seed", 1}, {"3", "salt", 5}},
		payments: map[string]string{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(ordersDescription) // a client that is gone needs no answer
	})
	mux.HandleFunc("GET /v1/orders", a.list)
	mux.HandleFunc("POST /v1/orders", a.create)
	mux.HandleFunc("GET /v1/orders/{id}", a.get)
	mux.HandleFunc("DELETE /v1/orders/{id}", a.cancel)
	mux.HandleFunc("POST /v1/payments", a.pay)
	mux.HandleFunc("GET /v1/reports", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		problem(w, http.StatusTooManyRequests, "One report an hour", nil)
	})
	return mux
}

// pageSize is how many orders a page has.
const pageSize = 2

func (a *ordersAPI) list(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	page, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil || page < 1 {
		page = 1
	}
	from := min((page-1)*pageSize, len(a.orders))
	to := min(from+pageSize, len(a.orders))
	if to < len(a.orders) {
		w.Header().Set("Link", fmt.Sprintf(`</v1/orders?page=%d>; rel="next"`, page+1))
	}
	answer(w, http.StatusOK, map[string]any{"orders": a.orders[from:to]})
}

func (a *ordersAPI) create(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var o order
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		problem(w, http.StatusBadRequest, "This is not an order", nil)
		return
	}
	if o.Count > 100 {
		problem(w, http.StatusUnprocessableEntity, "The order is not acceptable",
			[]map[string]string{{"pointer": "#/count", "detail": "must be at most 100"}})
		return
	}
	o.ID = strconv.Itoa(len(a.orders) + 1)
	a.orders = append(a.orders, o)
	if o.Item == "rain" {
		problem(w, http.StatusServiceUnavailable, "Try again later", nil)
		return
	}
	answer(w, http.StatusCreated, o)
}

func (a *ordersAPI) get(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range a.orders {
		if o.ID == r.PathValue("id") {
			answer(w, http.StatusOK, o)
			return
		}
	}
	problem(w, http.StatusNotFound, "There is no order with this id", nil)
}

func (*ordersAPI) cancel(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("id") == "1" {
		problem(w, http.StatusConflict, "The order has been delivered", nil)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// pay makes one payment per key, but answers the first request with status 502; a second request returns the payment.
func (a *ordersAPI) pay(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		problem(w, http.StatusBadRequest, "Idempotency-Key is missing", nil)
		return
	}
	if id, paid := a.payments[key]; paid {
		answer(w, http.StatusCreated, map[string]any{"id": id, "payments": len(a.payments)})
		return
	}
	a.payments[key] = "p-" + strconv.Itoa(len(a.payments)+1)
	w.WriteHeader(http.StatusBadGateway)
}

func answer(w http.ResponseWriter, status int, v any) { write(w, "application/json", status, v) }

func write(w http.ResponseWriter, media string, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that is gone needs no answer
}

// problem answers with a problem document (RFC 9457).
func problem(w http.ResponseWriter, status int, detail string, violations []map[string]string) {
	body := map[string]any{"title": http.StatusText(status), "status": status, "detail": detail}
	if violations != nil {
		body["errors"] = violations
	}
	write(w, "application/problem+json", status, body)
}

// API serves the HTTP API until ctx ends.
func (s *Show) API(ctx context.Context) error {
	ln, err := s.listen(ctx)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: newOrdersAPI(), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	printf(s.Out, "An HTTP API is serving at http://%[1]s/v1, and its description at http://%[1]s/openapi.yaml.\n"+
		"Draft a configuration that offers it as tools:\n\n    recourse import openapi http://%[1]s/openapi.yaml\n\nCtrl-C ends it.\n",
		ln.Addr())
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
